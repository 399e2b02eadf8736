// SPDX-License-Identifier: MIT
// What a live writer takes for its own: a log that was removed, replaced or cut while a commit ran is not adopted
// behind it. Method: plain files in a temporary folder.
#include "storage/database/own_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class OwnFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write(db_, 8192);
    write(log_, 5000);
    files_.begin(db_);
  }
  static void write(const std::string& path, uint64_t bytes) {
    std::ofstream(path, std::ios::app) << 'x';
    std::filesystem::resize_file(path, bytes);
  }

  TempFolder folder_;
  std::string db_ = folder_.path() + "/w.db", log_ = db_ + "-wal";
  OwnFiles files_;
};

TEST_F(OwnFilesTest, ALogThatGrowsIsOurs) {
  write(log_, 9000);
  files_.committed(db_);
  EXPECT_TRUE(files_.has_own_wal(db_));
  EXPECT_TRUE(files_.is_whole(db_));
}

TEST_F(OwnFilesTest, ALogThatWentInACommitIsMissedAfterIt) {
  std::filesystem::remove(log_);
  files_.committed(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
  files_.checkpointed(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
}

TEST_F(OwnFilesTest, ALogThatWasReplacedInACommitIsNotTakenForOurs) {
  write(log_ + ".other", 9000);
  std::filesystem::rename(log_ + ".other", log_);
  files_.committed(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
}

TEST_F(OwnFilesTest, ALogThatWasCutInACommitIsNotWhole) {
  std::filesystem::resize_file(log_, 4000);
  files_.committed(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
}

TEST_F(OwnFilesTest, ALongLogThatSqliteHasCutIsOurs) {
  write(log_, kWalKeepBytes + 9000);
  files_.committed(db_);
  write(log_, kWalKeepBytes);
  files_.committed(db_);
  EXPECT_TRUE(files_.has_own_wal(db_));
}

// Bug: one that was not there any more when its connection had been opened was unknown, and never missed.
TEST_F(OwnFilesTest, ALogThatWentWhileItWasOpenedIsMissed) {
  std::filesystem::remove(log_);
  files_.begin(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
  write(log_, 100);  // somebody else's
  files_.committed(db_);
  EXPECT_FALSE(files_.has_own_wal(db_));
  files_.begin(db_);
  EXPECT_TRUE(files_.has_own_wal(db_));
}

TEST_F(OwnFilesTest, ADatabaseMayBeHalfWrittenFromACheckpointThatFailsToOneThatIsWhole) {
  EXPECT_FALSE(files_.may_be_half());
  files_.checkpointed(db_, Status(Code::kBusy, ""));
  EXPECT_FALSE(files_.may_be_half());
  files_.checkpointed(db_, Status(Code::kIo, ""));
  EXPECT_TRUE(files_.may_be_half());
  files_.checkpointed(db_, {}, false);
  EXPECT_TRUE(files_.may_be_half()) << "a reader may have kept it from writing all";
  files_.checkpointed(db_, {}, true);
  EXPECT_FALSE(files_.may_be_half());
}

TEST_F(OwnFilesTest, ACheckpointMayCutBothFiles) {
  std::filesystem::resize_file(db_, 4096);
  std::filesystem::resize_file(log_, 0);
  files_.checkpointed(db_);
  EXPECT_TRUE(files_.has_own_wal(db_));
  EXPECT_TRUE(files_.is_whole(db_));
}

// Bug: what was copied over it while a checkpoint ran was taken for what the checkpoint had left.
TEST_F(OwnFilesTest, ADatabaseThatWasCutInACheckpointIsNotWhole) {
  files_.checkpointed(db_, {}, false, 12'288);
  EXPECT_FALSE(files_.is_whole(db_));
  write(db_, 12'288);
  EXPECT_TRUE(files_.is_whole(db_));
  write(db_, 4096);
  files_.checkpointed(db_, {}, false, 4096);  // free pages were given back
  EXPECT_TRUE(files_.is_whole(db_));
}

TEST_F(OwnFilesTest, ADatabaseThatWasCutInACommitIsNotWhole) {
  std::filesystem::resize_file(db_, 4096);
  files_.committed(db_);
  EXPECT_FALSE(files_.is_whole(db_));
}

}  // namespace
}  // namespace tracker::internal
