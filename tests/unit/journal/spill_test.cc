// SPDX-License-Identifier: MIT
// The spill file gives back whole records in order and never a changed one. Method: cut and changed at each byte; its
// limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/spill.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kNonce = 77;

std::vector<FrameRecord> records() {
  return {{1, "one", {{256, 40}}},
          {2, std::string(500, 'x'), {{256, 80}, {512, 8}, {513, 3}}},
          {3, "", {}},
          {4, "four", {{512, 16}}}};
}

struct Spill {
  Sandbox sandbox;
  SpillFile file{sandbox.folder(), kNonce};
  std::string bytes() const { return *read_file(join_path(sandbox.folder(), "spill"), 1 << 20); }
};

bool same(const FrameRecord& a, const FrameRecord& b) {
  return a.seq == b.seq && a.bytes == b.bytes && a.positions == b.positions;
}

TEST(SpillTest, ACutFileGivesTheWholeRecordsBeforeTheCut) {
  Spill spill;
  std::vector<size_t> ends{0};
  for (const FrameRecord& record : records()) {
    ASSERT_TRUE(spill.file.append(record, 1 << 20));
    ends.push_back(spill.bytes().size());
  }
  const std::string whole = spill.bytes();
  EXPECT_EQ(spill.file.bytes(), whole.size());
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto read = parse_spill(std::string_view(whole).substr(0, size), kNonce);
    const auto expected = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    ASSERT_EQ(read.size(), expected) << size;
    for (size_t i = 0; i < expected; ++i) ASSERT_TRUE(same(read[i], records()[i])) << i;
  }
}

TEST(SpillTest, AChangedByteEndsTheFileBeforeItsRecord) {
  Spill spill;
  for (const FrameRecord& record : records()) ASSERT_TRUE(spill.file.append(record, 1 << 20));
  std::string whole = spill.bytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    whole[at] = static_cast<char>(whole[at] ^ 4);
    const auto read = parse_spill(whole, kNonce);
    // The fourth word of a record's head is reserved and not looked at.
    for (size_t i = 0; i < read.size(); ++i) ASSERT_TRUE(same(read[i], records()[i])) << at;
    whole[at] = static_cast<char>(whole[at] ^ 4);
  }
  EXPECT_TRUE(parse_spill(whole, kNonce + 1).empty()) << "another writer's nonce";
}

TEST(SpillTest, TheLimitIsKeptAndClearMakesRoom) {
  Spill spill;
  const FrameRecord large{1, std::string(1000, 'x'), {}};
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_FALSE(spill.file.append(large, 2500));
  EXPECT_EQ(parse_spill(spill.bytes(), kNonce).size(), 2u);
  spill.file.clear();
  EXPECT_EQ(spill.file.bytes(), 0u);
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_EQ(parse_spill(spill.bytes(), kNonce).size(), 1u);
}

TEST(SpillTest, AJournalInPrivateMemoryHasNone) {
  SpillFile none("", kNonce);
  EXPECT_FALSE(none.append(records()[0], 1 << 20));
}

}  // namespace
}  // namespace tracker::internal
