// SPDX-License-Identifier: MIT
// A live writer notices a log that was removed, replaced or cut while a commit ran. Method: plain files in a temporary
// folder.
#include "storage/database/part_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class PartFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write(db_, 8192);
    write(log_, 5000);
    files_.opened(db_);
  }
  static void write(const std::string& path, uint64_t bytes) {
    std::ofstream(path, std::ios::app) << 'x';
    std::filesystem::resize_file(path, bytes);
  }
  PartChange change() const { return files_.change(db_); }

  TempFolder folder_;
  std::string db_ = folder_.path() + "/w.db", log_ = db_ + "-wal";
  PartFiles files_;
};

TEST_F(PartFilesTest, ALogThatGrowsAndALongOneThatSqliteCutsAreOurs) {
  write(log_, kWalKeepBytes + 9000);
  files_.committed(db_);
  EXPECT_EQ(change(), PartChange::kNone);
  write(log_, kWalKeepBytes);
  files_.committed(db_);
  EXPECT_EQ(change(), PartChange::kNone);
}

TEST_F(PartFilesTest, ALogThatWasRemovedReplacedOrCutInACommitIsNotOurs) {
  const auto harms = {+[](const std::string& log) { std::filesystem::remove(log); },
                      +[](const std::string& log) { std::filesystem::resize_file(log, 4000); },
                      +[](const std::string& log) {
                        write(log + ".other", 9000);
                        std::filesystem::rename(log + ".other", log);
                      }};
  for (const auto harm : harms) {
    write(log_, 5000);
    files_.opened(db_);
    harm(log_);
    files_.committed(db_);
    EXPECT_EQ(change(), PartChange::kWalGone);
  }
}

TEST_F(PartFilesTest, ALogThatWentWhileTheDatabaseWasOpenedIsMissed) {
  std::filesystem::remove(log_);
  files_.opened(db_);
  write(log_, 100);  // another program's
  files_.committed(db_);
  EXPECT_EQ(change(), PartChange::kWalGone);
}

TEST_F(PartFilesTest, ACheckpointMayCutBothFilesAndNothingElseTheDatabase) {
  std::filesystem::resize_file(db_, 4096);
  EXPECT_EQ(change(), PartChange::kCut);
  std::filesystem::resize_file(log_, 0);
  files_.checkpointed(db_);
  EXPECT_EQ(change(), PartChange::kNone);
  files_.checkpointed(db_, 12'288);  // space is reserved for so many pages, and another program has cut it meanwhile
  EXPECT_EQ(change(), PartChange::kCut);
}

}  // namespace
}  // namespace tracker::internal
