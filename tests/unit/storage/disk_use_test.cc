// SPDX-License-Identifier: MIT
// Goal: the space of a folder is counted wherever its name leads, and nothing else is. Method: files of known sizes.
// Bug: nothing was counted for a store that is named by a link, so max_disk never stopped it.
#include "storage/upkeep/disk_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class DiskUseTest : public ::testing::Test {
 protected:
  DiskUseTest() {
    EXPECT_TRUE(make_dirs(store_ + "/runs/a").ok() && make_dirs(store_ + "/runs/b").ok());
    for (const char* run : {"a", "b"})
      EXPECT_TRUE(create_file_exclusive(store_ + "/runs/" + run + "/file", std::string(kBytes, 'x'), 0666).ok());
  }
  static constexpr size_t kBytes = 1 << 20;
  TempFolder folder_;
  const std::string store_ = folder_.path() + "/store", link_ = folder_.path() + "/link";
};

TEST_F(DiskUseTest, AFolderThatIsNamedByALinkCountsAsItself) {
  ASSERT_EQ(::symlink(store_.c_str(), link_.c_str()), 0);
  EXPECT_GE(disk_bytes(store_), 2 * kBytes);
  EXPECT_EQ(disk_bytes(link_), disk_bytes(store_));
  EXPECT_EQ(disk_bytes(link_, link_ + "/runs/a"), disk_bytes(store_, store_ + "/runs/a"));
  EXPECT_LT(disk_bytes(link_, link_ + "/runs/a"), 2 * kBytes);
}

TEST_F(DiskUseTest, ALinkBelowItIsNotFollowed) {
  const uint64_t before = disk_bytes(store_ + "/runs/a");
  ASSERT_EQ(::symlink(store_.c_str(), (store_ + "/runs/a/all").c_str()), 0);
  EXPECT_LT(disk_bytes(store_ + "/runs/a"), before + kBytes);
}

// 64, kDiskDepthMax, below the folder itself.
TEST_F(DiskUseTest, WhatLiesDeeperThanTheLimitDoesNotCount) {
  std::string deep = store_;
  for (int i = 1; i < 64; ++i) deep += "/d";
  ASSERT_TRUE(make_dirs(deep + "/d").ok());
  const uint64_t before = disk_bytes(store_);
  ASSERT_TRUE(create_file_exclusive(deep + "/d/too-deep", std::string(kBytes, 'x'), 0666).ok());
  EXPECT_LT(disk_bytes(store_), before + kBytes);
  ASSERT_TRUE(create_file_exclusive(deep + "/deep", std::string(kBytes, 'x'), 0666).ok());
  EXPECT_GE(disk_bytes(store_), before + kBytes);
}

}  // namespace
}  // namespace tracker::internal
