// SPDX-License-Identifier: MIT
// Goal: files are replaced whole or not at all, only one of many creators wins, and no descriptor leaks to children.
// Method: real files in a temporary folder; races between threads, which the kernel treats as it does processes.
#include "base/fs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "support/child.h"
#include "support/conditions.h"

namespace tracker::internal {
namespace {

class FsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_dirs(dir_).ok()); }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string path(std::string_view name) const { return join_path(dir_, name); }

  const std::string dir_ = join_path(::testing::TempDir(), "tracker-fs-" + Id128::random().hex());
};

TEST_F(FsTest, AtomicWriteCreatesAndReplaces) {
  ASSERT_TRUE(write_file_atomic(path("f"), "one").ok());
  ASSERT_TRUE(write_file_atomic(path("f"), "two").ok());
  EXPECT_EQ(*read_file(path("f"), 100), "two");
  EXPECT_EQ(list_dir(dir_)->size(), 1u) << "a temporary file was left";
}

TEST_F(FsTest, ReadersSeeTheOldOrTheNewFileWhileItIsReplaced) {
  const std::string a(20'000, 'a');
  const std::string b(30'000, 'b');
  ASSERT_TRUE(write_file_atomic(path("f"), a).ok());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) ASSERT_TRUE(write_file_atomic(path("f"), i % 2 == 0 ? b : a).ok());
  });
  for (int i = 0; i < 300; ++i) {
    auto seen = read_file(path("f"), 1 << 20);
    ASSERT_TRUE(seen.ok()) << seen.status().to_string();
    ASSERT_TRUE(*seen == a || *seen == b) << seen->size();
  }
  stop = true;
  writer.join();
}

TEST_F(FsTest, LeftoversOfADeadProcessAreRemovedWhenTheyAreOld) {
  const std::string hex = "0123456789abcdef";
  for (const std::string& name : {"store.json.tmp-" + hex, "x.db.new-" + hex, "x.db.new-" + hex + "-journal",
                                  "mine.tmp-" + hex + "0", std::string("notes.tmp-old"), ".tmp-" + hex})
    ASSERT_TRUE(write_file_atomic(path(name), "x").ok());
  remove_leftovers(dir_, 3600);
  EXPECT_EQ(list_dir(dir_)->size(), 6u) << "somebody may be at work on them";
  remove_leftovers(dir_, 0);
  EXPECT_EQ(*list_dir(dir_), (std::vector<std::string>{".tmp-" + hex, "mine.tmp-" + hex + "0", "notes.tmp-old"}));
}

TEST_F(FsTest, AtomicWriteIntoAMissingFolderFailsWithItsPath) {
  const Status status = write_file_atomic(path("no/f"), "x");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find(path("no/f")), std::string::npos) << status.message();
}

TEST_F(FsTest, AtomicWriteOverAFolderFailsAndLeavesNothing) {
  ASSERT_TRUE(make_dirs(path("folder/inside")).ok());
  EXPECT_FALSE(write_file_atomic(path("folder"), "x").ok());
  EXPECT_EQ(list_dir(dir_)->size(), 1u);
}

TEST_F(FsTest, ExclusiveCreateRefusesWhatIsThere) {
  ASSERT_TRUE(create_file_exclusive(path("f"), "first").ok());
  EXPECT_EQ(create_file_exclusive(path("f"), "second").code(), Code::kExists);
  EXPECT_EQ(*read_file(path("f"), 100), "first");
  EXPECT_EQ(list_dir(dir_)->size(), 1u) << "a temporary file was left";
}

TEST_F(FsTest, OfManyExclusiveCreatorsExactlyOneWins) {
  for (int round = 0; round < 20; ++round) {
    const std::string file = path("race-" + std::to_string(round));
    std::atomic<int> ready = 0;
    std::atomic<int> winner = -1;
    std::atomic<int> wins = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < 8) std::this_thread::yield();
        if (create_file_exclusive(file, std::to_string(i)).ok()) {
          ++wins;
          winner = i;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wins, 1);
    EXPECT_EQ(*read_file(file, 100), std::to_string(winner));
  }
}

TEST_F(FsTest, ReadRefusesMoreThanItsLimit) {
  ASSERT_TRUE(write_file_atomic(path("f"), std::string(1001, 'x')).ok());
  EXPECT_EQ(read_file(path("f"), 1000).status().code(), Code::kLimit);
  EXPECT_EQ(read_file(path("f"), 1001)->size(), 1001u);
  EXPECT_EQ(read_file(path("missing"), 1000).status().code(), Code::kNotFound);
}

TEST_F(FsTest, FilesArePrivateByDefault) {
  ASSERT_TRUE(write_file_atomic(path("private"), "x").ok());
  struct stat st;
  ASSERT_EQ(::stat(path("private").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777u, 0600u);
}

TEST_F(FsTest, DescriptorsAreNotInheritedByPrograms) {
  auto fd = open_file(path("f"), O_RDWR | O_CREAT);
  ASSERT_TRUE(fd.ok());
  EXPECT_TRUE((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_F(FsTest, AnFdClosesOnceAndMovesItsOwnership) {
  auto opened = open_file(path("f"), O_RDWR | O_CREAT);
  ASSERT_TRUE(opened.ok());
  Fd first = std::move(*opened);
  const int number = first.get();
  Fd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  second.reset();
  EXPECT_FALSE(static_cast<bool>(second));
  EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST_F(FsTest, FoldersAreMadeToAnyDepthAndTwice) {
  EXPECT_TRUE(make_dirs(path("a/b/c/d")).ok());
  EXPECT_TRUE(make_dirs(path("a/b/c/d")).ok());
  EXPECT_TRUE(is_directory(path("a/b/c/d")));
  ASSERT_TRUE(write_file_atomic(path("file"), "x").ok());
  EXPECT_FALSE(make_dirs(path("file/below")).ok());
  EXPECT_FALSE(make_dirs(path("file")).ok());
}

TEST_F(FsTest, WhatIsMadeInASharedFolderIsItsGroupsWhateverTheUmask) {
  const auto mode = [this](const char* name) {
    struct stat st{};
    EXPECT_EQ(::stat(path(name).c_str(), &st), 0) << name;
    return st.st_mode & 07777;
  };
  const mode_t before = ::umask(077);
  for (const auto& [above, is_shared] : {std::pair<mode_t, bool>{02770, true}, {02777, false}, {0770, false}}) {
    const std::string top = fmt::format("top-{:o}", above);
    ASSERT_EQ(::mkdir(path(top).c_str(), 0700), 0);
    ASSERT_EQ(::chmod(path(top).c_str(), above), 0);
    EXPECT_EQ(is_shared_folder(path(top)), is_shared);
    ASSERT_TRUE(make_dirs(path(top + "/a/b")).ok());
    ASSERT_TRUE(make_dirs(path(top + "/private"), 0700).ok());
    ASSERT_TRUE(write_file_atomic(path(top + "/a/file"), "x", 0666).ok());
    ASSERT_TRUE(create_file_exclusive(path(top + "/a/b/once"), "x", 0666).ok());
    ASSERT_TRUE(write_file_atomic(path(top + "/own"), "x").ok());
    EXPECT_EQ(mode((top + "/a/b").c_str()) & 070, is_shared ? 070 : 0) << top;
    EXPECT_EQ(mode((top + "/a/file").c_str()), is_shared ? 0660u : 0600u) << top;
    EXPECT_EQ(mode((top + "/a/b/once").c_str()), is_shared ? 0660u : 0600u) << top;
    EXPECT_EQ(mode((top + "/private").c_str()) & 077, 0u);
    EXPECT_EQ(mode((top + "/own").c_str()), 0600u);
  }
  // Others get the rights that the parent folder and the umask allow; a mode that was set explicitly is kept.
  ::umask(022);
  ASSERT_EQ(::mkdir(path("open").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(path("open").c_str(), 02775), 0);
  ASSERT_TRUE(write_file_atomic(path("open/file"), "x", 0666).ok());
  EXPECT_EQ(mode("open/file"), 0664u);
  ASSERT_EQ(::chmod(path("open/file").c_str(), 0640), 0);
  ASSERT_TRUE(open_file(path("open/file"), O_RDWR | O_CREAT, 0666).ok());
  EXPECT_EQ(mode("open/file"), 0640u);
  ::umask(before);
}

TEST_F(FsTest, AListedFolderIsSortedAndHasNoDots) {
  for (const char* name : {"b", "a", ".hidden"}) ASSERT_TRUE(write_file_atomic(path(name), "").ok());
  EXPECT_EQ(*list_dir(dir_), (std::vector<std::string>{".hidden", "a", "b"}));
  EXPECT_EQ(list_dir(path("missing")).status().code(), Code::kNotFound);
}

TEST(PathTest, JoinsAndParentsWithoutTouchingTheDisk) {
  EXPECT_EQ(join_path("/a", "b"), "/a/b");
  EXPECT_EQ(join_path("/a/", "b"), "/a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(parent_path("/a/b"), "/a");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(absolute_path("/x"), "/x");
  EXPECT_EQ(absolute_path("x").front(), '/');
}

TEST(PathTest, KnowsTmpfsAndTheFileSystemOfPathsThatDoNotExistYet) {
  if (is_directory("/dev/shm")) {
    EXPECT_EQ(fs_kind("/dev/shm"), FsKind::kTmpfs);
    EXPECT_EQ(fs_kind("/dev/shm/no/such/folder"), FsKind::kTmpfs);
  }
  EXPECT_NE(fs_kind("/"), FsKind::kUnknown);
  EXPECT_GT(free_bytes(::testing::TempDir()).value_or(0), 0u);
  EXPECT_FALSE(free_bytes("/no/such/folder"));
  EXPECT_FALSE(free_bytes("/proc")) << "it has no blocks";
  EXPECT_GT(cgroup_memory_limit(), 0u);
}

TEST(PathTest, FileSystemsOfANetworkAreKnownByName) {
  const std::pair<uint32_t, const char*> named[] = {
      {0x6969, "NFS"},      {0xff534d42, "CIFS"},   {0x0bd00bd0, "Lustre"},
      {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}, {0x00c36400, "CephFS"},
      {0x01021997, "9p"},   {0x5346414f, "AFS"},    {0xfe534d42, "SMB2"}};
  for (const auto& [magic, name] : named) {
    EXPECT_EQ(fs_type_of_magic(magic).kind, FsKind::kNetwork) << name;
    EXPECT_STREQ(fs_type_of_magic(magic).name, name);
  }
  EXPECT_EQ(fs_type_of_magic(0x65735546).kind, FsKind::kFuse);
  for (const uint32_t local : {0xef53u, 0x58465342u, 0x9123683eu, 0x794c7630u})  // ext4, xfs, btrfs, overlay
    EXPECT_EQ(fs_type_of_magic(local).kind, FsKind::kLocal) << local;
}

TEST(WriteTest, AFullDeviceIsReportedByName) {
  auto full = open_file("/dev/full", O_WRONLY);
  SKIP_WHERE(!full.ok(), kDevFull);
  const Status status = write_all(full->get(), "x");
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.system_errno(), ENOSPC);
}

// It was treated as "/".
TEST_F(FsTest, APathFromADeletedWorkingDirectoryIsNotOneFromTheRoot) {
  EXPECT_EQ(exit_code_of(run_child([this] {
              const std::string folder = path("deleted");
              CHILD_CHECK(::mkdir(folder.c_str(), 0700) == 0 && ::chdir(folder.c_str()) == 0);
              CHILD_CHECK(absolute_path("x") == folder + "/x");
              CHILD_CHECK(::rmdir(folder.c_str()) == 0);
              CHILD_CHECK(absolute_path("x").empty() && absolute_path("").empty() && absolute_path("/x") == "/x");
              CHILD_CHECK(fs_type("x").kind == FsKind::kUnknown);
              return 0;
            })),
            0);
}

}  // namespace
}  // namespace tracker::internal
