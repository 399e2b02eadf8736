// SPDX-License-Identifier: MIT
// Goal: a file that changes while it is read is never stored torn; one that stops changing is stored; an unchanged one
// is not read again. Method: the file is changed between two reads of a snapshot.
#include "artifact/snapshot.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/child.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
constexpr size_t kBytes = 3 * kSnapshotBufferBytes + 100;

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() : blobs_(folder_.path() + "/store"), batch_(blobs_), cache_(folder_.path() + "/store") {
    write(std::string(kBytes, 'a'));
  }
  void write(const std::string& text) { std::ofstream(file_) << text; }
  void change_a_byte() {
    std::fstream file(file_, std::ios::in | std::ios::out);
    file.seekp(10).put('b');
  }
  Result<Digest> take(SnapshotOptions options = {}) {
    Snapshooter snapshots(blobs_, &batch_, &cache_, std::move(options));
    const auto listed = look_at_file(file_);
    auto digest = snapshots.take("", *listed);
    files_read_ = snapshots.files_read();
    return digest;
  }
  size_t blobs() {
    EXPECT_TRUE(batch_.commit().ok());
    size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(blobs_.folder())) out += entry.is_regular_file() ? 1 : 0;
    return out;
  }
  TempFolder folder_;
  const std::string file_ = folder_.path() + "/file";
  BlobStore blobs_;
  BlobBatch batch_;
  DigestCache cache_;
  uint64_t files_read_ = 0;
};

TEST_F(SnapshotTest, ABlobHoldsTheFileAndIsReadOnly) {
  const auto digest = take();
  ASSERT_TRUE(digest.ok()) << digest.status().to_string();
  EXPECT_EQ(*digest, sha256(std::string(kBytes, 'a')));
  EXPECT_EQ(blobs(), 1u);
  const fs::path path = blobs_.path_of(*digest);
  EXPECT_EQ(fs::file_size(path), kBytes);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0444));
}

// Reaches the limit kSnapshotTriesMax.
TEST_F(SnapshotTest, AFileThatGoesOnChangingIsRefusedByName) {
  int tries = 0;
  SnapshotOptions options;
  options.between_reads_for_testing = [&] {
    if (tries++ % 4 == 2) change_a_byte(), sleep_ms(25);
  };
  const auto digest = take(options);
  EXPECT_EQ(digest.status().code(), Code::kBusy);
  EXPECT_THAT(digest.status().message(), HasSubstr(file_));
  EXPECT_EQ(blobs(), 0u) << "nothing of it stays";
}

TEST_F(SnapshotTest, AFileThatGrowsOrShrinksMeanwhileIsRefused) {
  for (const off_t size : {off_t{10}, off_t{5 * kSnapshotBufferBytes}}) {
    write(std::string(kBytes, 'a'));
    bool done = false;
    SnapshotOptions options;
    options.between_reads_for_testing = [&] {
      if (std::exchange(done, true)) return;
      EXPECT_EQ(::truncate(file_.c_str(), size), 0);
    };
    EXPECT_EQ(take(options).status().code(), Code::kBusy) << size;
    EXPECT_EQ(blobs(), 0u);
  }
}

TEST_F(SnapshotTest, AChangeOfContentAloneIsSeenEvenWithinATickOfTheClock) {
  // The time of modification is restored: only the time of change differs.
  const auto before = fs::last_write_time(file_);
  int calls = 0;
  SnapshotOptions options;
  options.between_reads_for_testing = [&] {
    if (calls++ != 1) return;  // after the first read, which has read the old byte
    change_a_byte();
    fs::last_write_time(file_, before);
  };
  const auto digest = take(options);
  ASSERT_TRUE(digest.ok()) << digest.status().to_string();
  std::string expected(kBytes, 'a');
  expected[10] = 'b';
  EXPECT_EQ(*digest, sha256(expected)) << "the second try took it as it was then, as a whole";
}

TEST_F(SnapshotTest, AFileThatChangedSinceItWasNamedIsRefused) {
  const auto listed = look_at_file(file_);
  write(std::string(kBytes + 1, 'c'));
  Snapshooter snapshots(blobs_, &batch_, &cache_, {});
  const auto digest = snapshots.take("", *listed);
  EXPECT_EQ(digest.status().code(), Code::kBusy);
  EXPECT_THAT(digest.status().message(), HasSubstr("since it was added"));
  fs::remove(file_);
  EXPECT_EQ(snapshots.take("", *listed).status().code(), Code::kNotFound);
  fs::create_directory(file_);
  EXPECT_FALSE(snapshots.take("", *listed).ok());
}

TEST_F(SnapshotTest, AnUnchangedFileIsNotReadAgainUnlessItsBlobIsGone) {
  set_fs_type_for_testing(folder_.path(), 0xef53);  // ext4, also where /tmp is a tmpfs, whose pages are never clean
  const auto digest = take();
  EXPECT_EQ(files_read_, 1u);
  EXPECT_EQ(blobs(), 1u);
  ASSERT_TRUE(take().ok());
  EXPECT_EQ(files_read_, 0u);
  fs::remove(blobs_.path_of(*digest));
  ASSERT_TRUE(take().ok());
  EXPECT_EQ(files_read_, 1u);
  EXPECT_EQ(blobs(), 1u);
  set_fs_type_for_testing("", 0);
}

// A write through a mapping to a dirty page changes no time: the second version was equal to the first.
TEST_F(SnapshotTest, WhatIsWrittenThroughAMappingIsSeen) {
  write(std::string(kSyncedSourceBytesMin, 'a'));
  const Fd fd(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
  void* at = ::mmap(nullptr, kSyncedSourceBytesMin, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  for (const char c : {'b', 'c', 'd'}) {
    std::memset(at, c, kSyncedSourceBytesMin);
    const auto digest = take();
    ASSERT_TRUE(digest.ok()) << digest.status().to_string();
    EXPECT_EQ(*digest, sha256(std::string(kSyncedSourceBytesMin, c)));
    EXPECT_TRUE(batch_.commit().ok());
  }
  ::munmap(at, kSyncedSourceBytesMin);
}

TEST_F(SnapshotTest, WhereNobodyKnowsWhetherAFileWasWrittenToItIsReadEachTime) {
  const auto is_read_again = [this](std::chrono::seconds dirty_age) {
    SnapshotOptions options;
    options.dirty_age = dirty_age;
    EXPECT_TRUE(take(options).ok() && batch_.commit().ok());
    EXPECT_TRUE(take(options).ok());
    return files_read_ == 1;
  };
  set_fs_type_for_testing(folder_.path(), 0x794c7630);  // overlayfs: the flush of a disk for each small file
  EXPECT_TRUE(is_read_again(kDirtyAge));
  set_fs_type_for_testing(folder_.path(), 0x01021994);  // tmpfs
  EXPECT_TRUE(is_read_again({}));
  set_fs_type_for_testing(folder_.path(), 0x794c7630);
  EXPECT_FALSE(is_read_again({})) << "the kernel has written it out";
  set_fs_type_for_testing("", 0);
}

TEST_F(SnapshotTest, AFileOfAFileServerIsRememberedFromTwoSecondsOn) {
  set_fs_type_for_testing(folder_.path(), 0x6969);  // NFS
  SnapshotOptions options;
  options.dirty_age = {};  // the kernel has written it out
  auto age = std::chrono::nanoseconds(kNetworkTimestampTick);
  // A machine that is too slow to read it in its second half may need several.
  for (int i = 0; i < 20 && age >= kNetworkTimestampTick; ++i) {
    write(std::string(kBytes, 'b') + std::to_string(i));
    std::this_thread::sleep_until(fs::last_write_time(file_) + kNetworkTimestampTick / 2);
    ASSERT_TRUE(take(options).ok() && batch_.commit().ok());
    EXPECT_EQ(files_read_, 1u);
    age = fs::file_time_type::clock::now() - fs::last_write_time(file_);
  }
  ASSERT_LT(age, kNetworkTimestampTick);
  std::this_thread::sleep_until(fs::last_write_time(file_) + kNetworkTimestampTick + std::chrono::milliseconds(20));
  ASSERT_TRUE(take(options).ok());
  EXPECT_EQ(files_read_, 1u) << "it was too young to be remembered";
  ASSERT_TRUE(take(options).ok());
  EXPECT_EQ(files_read_, 0u);
  set_fs_type_for_testing("", 0);
}

// Bug: a change by a write that had started before, after the reader had passed, was missed, because only its start
// changes the times. A mapping on a tmpfs simulates it: writes there change no time.
// Promise P5: A file that changes or vanishes refuses the artifact, counted and named; the run goes on.
TEST_F(SnapshotTest, AFileThatIsOpenForWritingIsReadTwiceAndNotStoredTorn) {
  const std::string path = "/dev/shm/tracker-snapshot-" + std::to_string(::getpid());
  std::ofstream(path) << std::string(kBytes, 'a');
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(fd);
  char* const at = static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  ASSERT_NE(at, MAP_FAILED);
  fd = Fd();  // the mapping alone keeps it open
  at[0] = 'b';
  const auto taken = [&](int changes) {  // each after the first piece that was read
    int reads = 0;
    SnapshotOptions options;
    options.between_reads_for_testing = [&, changes]() mutable {
      if (++reads % 5 == 2 && changes-- > 0) ++at[0];
    };
    Snapshooter snapshots(blobs_, &batch_, &cache_, std::move(options));
    return snapshots.take("", *look_at_file(path));
  };
  const Digest before = sha256({at, kBytes});
  const auto quiet = taken(0);
  ASSERT_TRUE(quiet.ok()) << quiet.status().to_string();
  EXPECT_EQ(*quiet, before);
  const auto once = taken(1);
  ASSERT_TRUE(once.ok()) << once.status().to_string();
  EXPECT_EQ(*once, sha256({at, kBytes})) << "it is torn";
  const auto always = taken(1000);
  EXPECT_EQ(always.status().code(), Code::kBusy);
  EXPECT_EQ(kWriterPause.count(), 20);
  ::munmap(at, kBytes);
  fs::remove(path);
}

// Guards against: the signal of a broken lease ends the process.
TEST_F(SnapshotTest, AFileThatIsOpenedForWritingDuringTheCheckHarmsNothing) {
  set_fs_type_for_testing(folder_.path(), 0x01021994);  // a tmpfs: the file is read each time
  std::atomic<bool> done{false};
  int opened = 0;
  std::thread writer([&] {
    while (!done) {
      const Fd fd(::open(file_.c_str(), O_WRONLY | O_CLOEXEC));
      opened += fd ? 1 : 0;
    }
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(take().ok());
  done = true;
  writer.join();
  set_fs_type_for_testing("", 0);
  EXPECT_GT(opened, 0);
}

// Reaches the limit kArtifactFreeBytesMin.
TEST_F(SnapshotTest, ItStopsWhenAskedToAndWhereThereIsNoRoom) {
  const std::atomic<bool> cancel{true};
  SnapshotOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(take(options).status().code(), Code::kClosed);
  options = {};
  options.free_bytes_min = uint64_t{1} << 60;
  EXPECT_EQ(take(options).status().code(), Code::kLimit);
  EXPECT_EQ(fs::exists(blobs_.folder()) ? blobs() : 0u, 0u);
}

// Bug: a killed job's copy of a large file left no room for the next copy, which alone would have removed it.
TEST_F(SnapshotTest, WhereThereIsNoRoomWhatDeadProcessesLeftGoesFirst) {
  fs::create_directories(blobs_.folder());
  const std::string left = blobs_.folder() + "/blob.tmp-0000000100000001";
  std::ofstream(left) << "what a killed process had copied";
  fs::last_write_time(left, fs::file_time_type::clock::now() - kAgeWithoutLocks - std::chrono::hours(1));
  SnapshotOptions options;
  options.free_bytes_min = uint64_t{1} << 60;
  EXPECT_EQ(take(options).status().code(), Code::kLimit);
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace tracker::internal
