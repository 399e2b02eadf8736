// SPDX-License-Identifier: MIT
// Goal: a descriptor that other code closed is noticed, and the file that has its number now is not touched. Method:
// real descriptors, closed by their number.
#include "base/guarded_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace tracker::internal {
namespace {

class GuardedFdTest : public ::testing::Test {
 protected:
  // Of a file that has a name: the number of an inode that is free may be given away at once.
  Fd make() {
    std::string path = ::testing::TempDir() + "lasting-fd-XXXXXX";
    const int fd = ::mkstemp(path.data());
    EXPECT_GE(fd, 0);
    paths_.push_back(path);
    return Fd(fd);
  }
  ~GuardedFdTest() override {
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }
  static bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
  std::vector<std::string> paths_;
};

TEST_F(GuardedFdTest, ItsOwnFileIsClosed) {
  int number = -1;
  {
    const GuardedFd fd(make());
    number = fd.get();
    EXPECT_TRUE(fd.is_ours());
  }
  EXPECT_FALSE(is_open(number));
}

TEST_F(GuardedFdTest, AFileThatHasItsNumberNowStaysOpen) {
  GuardedFd fd(make());
  const int number = fd.get();
  ::close(number);
  EXPECT_FALSE(fd.is_ours());
  ASSERT_EQ(make().release(), number);  // the lowest number that is free
  EXPECT_FALSE(fd.is_ours());
  GuardedFd moved;
  moved = std::move(fd);
  EXPECT_FALSE(moved.is_ours());
  moved.reset();
  EXPECT_FALSE(static_cast<bool>(moved));
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST_F(GuardedFdTest, AnEmptyOneIsNotOurs) { EXPECT_FALSE(GuardedFd().is_ours()); }

}  // namespace
}  // namespace tracker::internal
