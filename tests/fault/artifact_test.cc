// SPDX-License-Identifier: MIT
// Goal: an artifact is in the store as a whole or not at all, whatever process is killed or refused by the disk, and a
// collector that is killed removes nothing that is referred to. Method: kills before each system call; a disk that
// fails.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "artifact/blob_collect.h"
#include "base/clock.h"
#include "support/faulty_disk.h"
#include "support/kill_at_call.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class ArtifactFaultTest : public ::testing::Test {
 protected:
  ArtifactFaultTest() : store_(*Store::open_or_create(folder_.path() + "/store")) {
    write("one", "a");
    write("two", "b");
  }
  void write(const std::string& name, const std::string& content) {
    fs::create_directories(data_);
    std::ofstream(data_ + "/" + name) << content;
  }
  Result<StoredArtifact> store(std::vector<std::string> aliases = {"best"}) {
    ArtifactDraft draft = *ArtifactDraft::make("data", "dataset");
    if (const Status status = draft.add_folder(data_); !status.ok()) return status;
    StoreArtifactOptions options;
    options.aliases = std::move(aliases);
    options.free_bytes_min = 1;
    return store_artifact(store_, "p", draft, options);
  }
  // Every version that is listed is whole.
  size_t whole_versions() {
    const auto info = ArtifactRegistry(store_).read("p", "data");
    if (!info.ok()) return 0;
    EXPECT_TRUE(info->problems.empty()) << info->problems.front().to_string();
    for (const ArtifactVersion& version : info->versions) {
      const auto findings = verify_artifact(store_, version, true);
      EXPECT_TRUE(findings.ok() && findings->empty()) << version.name();
    }
    return info->versions.size();
  }
  size_t half_made() {
    size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(store_.path()))
      out += entry.path().string().find(".tmp-") == std::string::npos ? 0 : 1;
    return out;
  }
  TempFolder folder_;
  const std::string data_ = folder_.path() + "/data";
  const Store store_;
};

TEST_F(ArtifactFaultTest, AKillAtAnySystemCallLeavesAWholeVersionOrNone) {
  int kills = 0;
  for (int at = 0;; ++at) {
    fs::remove_all(store_.path() + "/artifacts");
    fs::remove_all(store_.path() + "/blobs");
    if (!killed_at_call(at, [this] { return store().ok() ? 0 : 1; })) break;
    ++kills;
    ASSERT_LE(whole_versions(), 1u);
    const auto again = store();
    ASSERT_TRUE(again.ok()) << again.status().to_string() << ", killed at call " << at;
    ASSERT_EQ(again->version.number, 0) << "killed at call " << at;
    ASSERT_EQ(again->version.aliases, (std::vector<std::string>{"best", "latest"}));
    ASSERT_EQ(whole_versions(), 1u);
  }
  std::printf("%d kills\n", kills);
  EXPECT_GT(kills, 50);
}

TEST_F(ArtifactFaultTest, AKillAmongManyFilesLeavesAWholeVersionOrNone) {
  // So many that one call syncs them all, and most of them are closed by then.
  for (int i = 0; i < 20; ++i) write("more" + std::to_string(i), std::to_string(i));
  int kills = 0;
  for (int at = 40;; at += 41) {
    fs::remove_all(store_.path() + "/artifacts");
    fs::remove_all(store_.path() + "/blobs");
    if (!killed_at_call(at, [this] { return store().ok() ? 0 : 1; })) break;
    ++kills;
    ASSERT_LE(whole_versions(), 1u);
    const auto again = store();
    ASSERT_TRUE(again.ok()) << again.status().to_string() << ", killed at call " << at;
    ASSERT_EQ(again->version.files, 22u);
    ASSERT_EQ(whole_versions(), 1u);
  }
  EXPECT_GT(kills, 10);
}

// Promise P1: No blob has its name before its bytes are on the disk.
TEST_F(ArtifactFaultTest, NoBlobHasItsNameBeforeItIsOnTheDisk) {
  const auto blobs = [this] {
    size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs/sha256"))
      out += entry.is_regular_file() ? 1 : 0;
    return out;
  };
  ASSERT_TRUE(store().ok());
  const size_t before = blobs();
  for (int i = 0; i < 20; ++i) write("more" + std::to_string(i), std::to_string(i));
  set_faulty_folder(store_.path());
  faulty_disk().fsync_errno = EIO;
  EXPECT_EQ(store().status().code(), Code::kIo);
  faulty_disk().fsync_errno = 0;
  EXPECT_EQ(blobs(), before);
  ASSERT_TRUE(store().ok());
  EXPECT_EQ(whole_versions(), 2u);
}

TEST_F(ArtifactFaultTest, HundredsOfFilesTakeFewSyncsAndFewOpenFiles) {
  for (int i = 0; i < 400; ++i) write(std::to_string(i), std::to_string(i));
  set_faulty_folder(store_.path());
  faulty_disk().fsyncs = 0;
  ArtifactDraft draft = *ArtifactDraft::make("data", "dataset");
  ASSERT_TRUE(draft.add_folder(data_).ok());
  StoreArtifactOptions options;
  options.free_bytes_min = 1;
  std::ptrdiff_t open_files = 0;
  options.progress = [&](uint64_t files, uint64_t) {
    if (files % 100 == 99)
      open_files = std::max(open_files, std::distance(fs::directory_iterator("/proc/self/fd"), {}));
  };
  ASSERT_TRUE(store_artifact(store_, "p", draft, options).ok());
  EXPECT_LT(open_files, 40);
  // Beside them one for each of the 256 folders of blobs, and those of documents.
  EXPECT_LT(faulty_disk().fsyncs, 256 + 20);
}

// readdir(3) answered the end of a folder and an error by the same null: all blobs of what it hid went.
TEST_F(ArtifactFaultTest, AFolderWhoseListingBreaksOffTakesNoBlobAwayAndIsNotStored) {
  ASSERT_TRUE(store().ok());
  for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs"))
    if (entry.is_regular_file()) fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(30));
  BlobCollectOptions options;
  options.now_us = realtime_us();
  set_faulty_folder(store_.path() + "/artifacts");
  faulty_disk().readdir_errno = EIO;
  const BlobCollectReport report = collect_blobs(store_, options);
  EXPECT_TRUE(report.gave_up);
  EXPECT_TRUE(report.removed.empty());
  set_faulty_folder(folder_.path());
  EXPECT_EQ(store().status().code(), Code::kIo) << "a version of the files that were seen";
  faulty_disk().readdir_errno = 0;
  EXPECT_EQ(whole_versions(), 1u);
  EXPECT_FALSE(collect_blobs(store_, options).gave_up);
}

TEST_F(ArtifactFaultTest, ACollectorThatIsKilledTakesNothingThatIsReferredTo) {
  ASSERT_TRUE(store().ok());
  const auto age = [this] {
    for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs"))
      if (entry.is_regular_file())
        fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(30));
  };
  BlobCollectOptions options;
  options.now_us = realtime_us();
  int kills = 0;
  for (int at = 0;; ++at) {
    BlobStore blobs(store_.path());
    const std::string garbage = blobs.path_of(sha256("garbage"));
    fs::create_directories(fs::path(garbage).parent_path());
    std::ofstream(garbage) << "garbage";
    age();
    if (!killed_at_call(at, [&] { return collect_blobs(store_, options).problems.empty() ? 0 : 1; })) break;
    ++kills;
    ASSERT_EQ(whole_versions(), 1u) << "killed at call " << at;
  }
  EXPECT_GT(kills, 20);
  collect_blobs(store_, options);
  age();
  collect_blobs(store_, options);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs/sha256"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 3u) << "two files and a manifest";
}

TEST_F(ArtifactFaultTest, ADiskThatFailsMakesNoVersionAndTheNextAttemptIsWhole) {
  set_faulty_folder(store_.path());
  for (const int error : {ENOSPC, EDQUOT, EIO}) {
    faulty_disk().write_errno = error;
    const auto stored = store();
    EXPECT_EQ(stored.status().code(), Code::kIo) << error;
    faulty_disk().write_errno = 0;
    EXPECT_EQ(whole_versions(), 0u);
  }
  // One fault further on each time: in blobs, manifest, version, mark.
  int faults = 0;
  for (int left = 0; left < 200; ++left) {
    fs::remove_all(store_.path() + "/artifacts");
    fs::remove_all(store_.path() + "/blobs");
    faulty_disk().errno_then = ENOSPC;
    faulty_disk().writes_left = left;
    const auto stored = store();
    faulty_disk().writes_left = -1;
    faulty_disk().errno_then = 0;
    faulty_disk().write_errno = faulty_disk().fsync_errno = 0;
    if (stored.ok()) break;
    ++faults;
    whole_versions();
    EXPECT_EQ(half_made(), 0u) << "fault " << left;
    const auto again = store();
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    ASSERT_EQ(whole_versions(), 1u);
  }
  EXPECT_GT(faults, 5);
}

}  // namespace
}  // namespace tracker::internal
