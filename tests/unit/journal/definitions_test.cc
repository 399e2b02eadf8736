// SPDX-License-Identifier: MIT
// The definitions file holds what was defined before the id was used, whatever is cut from its end. Method: a file with
// several series is cut at each byte and changed at each byte; a journal on a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/live_journal.h"

namespace tracker::internal {
namespace {

std::string definitions_file(const Sandbox& sandbox, std::vector<size_t>* ends) {
  LiveJournal journal(sandbox, {});
  const std::string dir = journal.identity().journal_dir;
  for (const char* name : {"loss", "val/acc", "größe", "a very long name of a metric that somebody thought of"}) {
    ends->push_back(read_file(join_path(dir, "defs"), 1 << 20)->size());
    EXPECT_NE(journal->series_id(name, ValueType::kFloat32), 0u);
  }
  auto bytes = read_file(join_path(dir, "defs"), 1 << 20);
  ends->push_back(bytes->size());
  return *bytes;
}

TEST(DefinitionsTest, ACutFileKeepsEachWholeSeriesAndSaysThatItsTailIsTorn) {
  Sandbox sandbox;
  std::vector<size_t> ends;
  const std::string whole = definitions_file(sandbox, &ends);
  for (size_t size = 0; size <= whole.size(); ++size) {
    auto read = parse_definitions(std::string_view(whole).substr(0, size));
    if (size < ends[0]) {
      ASSERT_EQ(read.status().code(), Code::kCorrupt) << size;
      continue;
    }
    ASSERT_TRUE(read.ok()) << size;
    const auto series = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    ASSERT_EQ(read->series.size(), series) << size;
    ASSERT_EQ(read->torn_tail, size != ends[series]) << size;
    ASSERT_EQ(read->identity.run.id, "r");
  }
}

TEST(DefinitionsTest, AChangedByteNeverGivesASeriesThatWasNotDefined) {
  Sandbox sandbox;
  std::vector<size_t> ends;
  std::string whole = definitions_file(sandbox, &ends);
  const auto good = parse_definitions(whole);
  for (size_t at = 0; at < whole.size(); ++at) {
    whole[at] = static_cast<char>(whole[at] ^ 0x10);
    const auto read = parse_definitions(whole);
    if (at < ends[0]) ASSERT_FALSE(read.ok()) << at;
    else if (read.ok()) {
      ASSERT_LT(read->series.size(), good->series.size()) << at;
      ASSERT_TRUE(std::equal(read->series.begin(), read->series.end(), good->series.begin())) << at;
    }
    whole[at] = static_cast<char>(whole[at] ^ 0x10);
  }
}

TEST(DefinitionsTest, AFileOfANewerVersionIsNamedAsSuch) {
  Sandbox sandbox;
  std::vector<size_t> ends;
  std::string whole = definitions_file(sandbox, &ends);
  whole[7] = '2';
  EXPECT_EQ(parse_definitions(whole).status().code(), Code::kVersion);
}

TEST(DefinitionsTest, ANameHasOneIdAType) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const uint32_t as_float = journal->series_id("x", ValueType::kFloat64),
                 as_int = journal->series_id("x", ValueType::kInt64);
  EXPECT_NE(as_float, as_int);
  EXPECT_EQ(journal->series_id("x", ValueType::kFloat64), as_float);
  EXPECT_EQ(journal->series_id("x", ValueType::kInt64), as_int);
  EXPECT_EQ(read_definitions(journal.identity().journal_dir)->series.size(), 2u);
}

}  // namespace
}  // namespace tracker::internal
