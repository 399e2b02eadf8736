// SPDX-License-Identifier: MIT
// The definitions file holds what was defined before the id was used, whatever is cut from its end. Method: a file with
// several series is cut at each byte and changed at each byte; a process that is killed, or may write no further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "model/key.h"
#include "support/child.h"
#include "support/live_journal.h"
#include "support/temp_folder.h"

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

// Promise P1: A cut or changed definitions file gives no series that was not defined.
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

// Bug: one bad byte in front of them, and no series had a name any more.
TEST(DefinitionsTest, ABadByteInFrontOfThemCostsNoSeriesOnceItIsKnownWhoWrites) {
  Sandbox sandbox;
  std::vector<size_t> ends;
  std::string whole = definitions_file(sandbox, &ends);
  const auto good = parse_definitions(whole);
  for (size_t at = 0; at < ends[0]; ++at) {
    whole[at] = static_cast<char>(whole[at] ^ 0x10);
    const Definitions read = salvage_definitions(whole, good->identity);
    ASSERT_EQ(read.series, good->series) << at;
    ASSERT_TRUE(read.salvaged);
    ASSERT_FALSE(read.torn_tail) << at;
    whole[at] = static_cast<char>(whole[at] ^ 0x10);
  }
  EXPECT_TRUE(salvage_definitions("", good->identity).series.empty());
  EXPECT_TRUE(salvage_definitions(std::string(100, 'x'), good->identity).series.empty());
}

// So that what looks like a record in a long file is not read again and again.
TEST(DefinitionsTest, BehindDamageARecordLongerThanAnyNameIsNoSeries) {
  Sandbox sandbox;
  const WriterIdentity writer = this_process();
  for (const size_t name_bytes : {kKeyBytesMax, kSeriesRecordBytesMax}) {
    const std::string path = join_path(sandbox.folder(), std::to_string(name_bytes));
    auto file = DefinitionsFile::create(path, writer);
    ASSERT_TRUE(file.ok() && file->append({1, ValueType::kFloat32, std::string(name_bytes, 'n')}).ok());
    const Definitions read = salvage_definitions(*read_file(path, 1 << 20), writer);
    EXPECT_EQ(read.series.size(), name_bytes == kKeyBytesMax ? 1u : 0u);
  }
}

// A journal with 100,000 metrics cost each search for a run's journals half a second: a listing searches once a run.
TEST(DefinitionsTest, WhoWritesIsReadFromTheFirstRecordWhateverFollowsAndHoweverLongItIs) {
  Sandbox sandbox;
  TempFolder folder;
  std::vector<size_t> ends;
  const std::string whole = definitions_file(sandbox, &ends);
  ASSERT_TRUE(write_file_atomic(join_path(folder.path(), "defs"), whole + std::string(64 << 20, 'x')).ok());
  auto writer = read_writer_identity(folder.path());
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  EXPECT_EQ(writer->run.id, "r");
  WriterIdentity long_one = *writer;
  long_one.run.id = std::string(2 * kIdentityLookBytes, 'i');
  const std::string path = join_path(folder.path(), "defs");
  remove_file(path);
  ASSERT_TRUE(DefinitionsFile::create(path, long_one).ok());
  EXPECT_EQ(read_writer_identity(folder.path())->run.id, long_one.run.id);
  ASSERT_TRUE(write_file_atomic(path, whole.substr(0, ends[0] - 1)).ok());
  EXPECT_EQ(read_writer_identity(folder.path()).status().code(), Code::kCorrupt);
  remove_file(path);
  EXPECT_EQ(read_writer_identity(folder.path()).status().code(), Code::kNotFound);
}

// It is written once all is said, and again where finish() starts again or the file was removed meanwhile.
TEST(DefinitionsTest, TheLastWholeEndCountsWhereverTheFileIsCut) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const std::string path = join_path(journal.identity().journal_dir, "defs");
  EXPECT_NE(journal->series_id("loss", ValueType::kFloat32), 0u);
  std::vector<size_t> ends{read_file(path, 1 << 20)->size()};
  for (const JournalEnd& end : {JournalEnd{10, 1, "first"}, JournalEnd{20, 2, "second"}}) {
    ASSERT_TRUE(journal->keep_end(end).ok());
    ends.push_back(read_file(path, 1 << 20)->size());
  }
  const std::string whole = *read_file(path, 1 << 20);
  for (size_t size = ends[0]; size <= whole.size(); ++size) {
    const auto read = parse_definitions(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(read.ok() && read->series.size() == 1) << size;
    const std::string expected = size < ends[1] ? "" : size < ends[2] ? "first" : "second";
    ASSERT_EQ(read->end ? read->end->payload : "", expected) << size;
  }
  remove_file(path);
  (void)journal->check_links();
  const auto read = read_definitions(journal.identity().journal_dir);
  ASSERT_TRUE(read.ok() && read->end);
  EXPECT_EQ(read->end->time_us, 20);
  EXPECT_EQ(read->end->texts, 2u);
  EXPECT_EQ(read->end->payload, "second");
}

TEST(DefinitionsTest, RoomForTheEndIsKeptBehindEachDefinition) {
  Sandbox sandbox;
  const std::string path = join_path(sandbox.shm(), "defs");
  auto file = DefinitionsFile::create(path, this_process());
  ASSERT_TRUE(file.ok());
  for (uint32_t id = 1; id <= 40; ++id) {
    ASSERT_TRUE(file->append({id, ValueType::kFloat32, std::string(kKeyBytesMax, 'n')}).ok());
    struct stat st{};
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    ASSERT_GE(static_cast<uint64_t>(st.st_blocks) * 512, static_cast<uint64_t>(st.st_size) + kEndReserve) << id;
  }
}

TEST(DefinitionsTest, AFileOfANewerVersionIsNamedAsSuch) {
  Sandbox sandbox;
  std::vector<size_t> ends;
  std::string whole = definitions_file(sandbox, &ends);
  for (const char version : {'2', static_cast<char>('1' + kDefinitionsVersionsAhead)}) {
    whole[7] = version;
    EXPECT_EQ(parse_definitions(whole).status().code(), Code::kVersion);
  }
  whole[7] = static_cast<char>('2' + kDefinitionsVersionsAhead);  // no version that will ever be
  EXPECT_EQ(parse_definitions(whole).status().code(), Code::kCorrupt);
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

// A process that dies with the first id in its hand leaves a ring that can be read with nothing else.
// Promise P1: A series is in the definitions file before its id is used.
TEST(DefinitionsTest, ASeriesIsInTheFileBeforeItsIdIsKnown) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              LiveJournal journal(sandbox, {});
              CHILD_CHECK(journal->series_id("loss", ValueType::kFloat32) == 1);
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  const auto read = read_definitions(sandbox.journal_folders().at(0));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->series.size(), 1u);
  EXPECT_EQ(read->series[0], (SeriesDef{1, ValueType::kFloat32, "loss"}));
  EXPECT_FALSE(read->torn_tail);
  EXPECT_EQ(read->identity.run.id, "r");
}

TEST(DefinitionsTest, WhereTheFileTakesNoMoreTheSeriesIsRefusedAndWhatIsThereStaysWhole) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              LiveJournal journal(sandbox, {});
              const std::string dir = journal.identity().journal_dir;
              CHILD_CHECK(journal->series_id("first", ValueType::kFloat64) == 1);
              rlimit limit{};
              CHILD_CHECK(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
              const rlim_t before = limit.rlim_cur;
              limit.rlim_cur = read_file(join_path(dir, "defs"), 1 << 20)->size() + 5;
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              for (int i = 0; i < 3; ++i) CHILD_CHECK(journal->series_id("second", ValueType::kFloat64) == 0);
              auto read = read_definitions(dir);
              CHILD_CHECK(read.ok() && read->series.size() == 1 && !read->torn_tail);
              limit.rlim_cur = before;
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              CHILD_CHECK(journal->series_id("second", ValueType::kFloat64) == 2);
              read = read_definitions(dir);
              CHILD_CHECK(read.ok() && read->series.size() == 2 && !read->torn_tail);
              return 0;
            })),
            0);
}

// Bug: what a write that failed had cut off took the room for the end with it.
TEST(DefinitionsTest, ADefinitionThatIsRefusedLeavesTheRoomForTheEnd) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              const std::string path = join_path(sandbox.shm(), "defs");
              auto file = DefinitionsFile::create(path, this_process());
              CHILD_CHECK(file.ok());
              const auto reserve = [&] {
                struct stat st{};
                CHILD_CHECK(::stat(path.c_str(), &st) == 0);
                return static_cast<int64_t>(st.st_blocks * 512 - st.st_size);
              };
              CHILD_CHECK(reserve() >= int64_t{kEndReserve});
              rlimit limit{};
              CHILD_CHECK(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
              const rlim_t before = limit.rlim_cur;
              limit.rlim_cur = read_file(path, 1 << 20)->size() + 5;
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              const Status refused = file->append({1, ValueType::kFloat32, std::string(kKeyBytesMax, 'n')});
              CHILD_CHECK(!refused.ok() && refused.code() != Code::kLimit);
              CHILD_CHECK(reserve() >= int64_t{kEndReserve});
              limit.rlim_cur = before;
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              for (uint32_t id = 1; id <= 20; ++id) {
                CHILD_CHECK(file->append({id, ValueType::kFloat32, std::string(kKeyBytesMax, 'n')}).ok());
                CHILD_CHECK(reserve() >= int64_t{kEndReserve});
              }
              return 0;
            })),
            0);
}

// Bug: the first record of a file was written without the guard against SIGXFSZ.
TEST(DefinitionsTest, AFileThatMayNotBeWrittenIsAnErrorAndKillsNobody) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([&] {
              ::signal(SIGXFSZ, SIG_DFL);
              LiveJournal journal(sandbox, {});
              remove_file(join_path(journal.identity().journal_dir, "defs"));
              rlimit limit{};
              CHILD_CHECK(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
              const rlim_t before = std::exchange(limit.rlim_cur, 10);
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              CHILD_CHECK(!DefinitionsFile::create(join_path(sandbox.shm(), "defs"), this_process()).ok());
              CHILD_CHECK(!journal->keep_end({10, 1, "end"}).ok());
              limit.rlim_cur = before;
              CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
              (void)journal->check_links();
              const auto read = read_definitions(journal.identity().journal_dir);
              CHILD_CHECK(read.ok() && read->end && read->end->payload == "end");
              return 0;
            })),
            0);
}

}  // namespace
}  // namespace tracker::internal
