// SPDX-License-Identifier: MIT
// Goal: gc removes blobs that nothing refers to and that are a day old, and no others. Method: blobs made older by
// their times, versions deleted and expired, damage.
#include "artifact/blob_collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "base/clock.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class BlobCollectTest : public ::testing::Test {
 protected:
  BlobCollectTest() : store_(*Store::open_or_create(folder_.path() + "/store")), registry_(store_) {}
  ArtifactVersion store(const std::string& content, std::optional<int64_t> ttl_s = {}) {
    const std::string file = folder_.path() + "/file";
    std::ofstream(file) << content;
    ArtifactDraft draft = *ArtifactDraft::make("data", "dataset");
    EXPECT_TRUE(draft.add_file(file).ok());
    StoreArtifactOptions options;
    options.free_bytes_min = 1;
    options.ttl_s = ttl_s;
    auto stored = store_artifact(store_, "p", draft, options);
    EXPECT_TRUE(stored.ok()) << stored.status().to_string();
    return stored->version;
  }
  void age_all(std::chrono::hours age) {
    for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs"))
      if (entry.is_regular_file()) fs::last_write_time(entry, fs::file_time_type::clock::now() - age);
  }
  void remove(int64_t version) {
    ArtifactMark mark;
    mark.of = version;
    mark.deleted = true;
    ASSERT_TRUE(registry_.mark("p", "data", mark).ok());
  }
  BlobCollectReport collect(bool dry_run = false, size_t candidates_max = kCandidatesMax) {
    BlobCollectOptions options;
    options.candidates_max = candidates_max;
    options.dry_run = dry_run;
    options.now_us = realtime_us();
    return collect_blobs(store_, options);
  }
  bool has(const std::string& content) { return fs::exists(BlobStore(store_.path()).path_of(sha256(content))); }
  TempFolder folder_;
  const Store store_;
  const ArtifactRegistry registry_;
};

TEST_F(BlobCollectTest, OnlyOldBlobsThatNothingRefersToGo) {
  store("kept");
  store("gone");
  remove(1);
  EXPECT_TRUE(collect().removed.empty()) << "younger than a day";
  age_all(25h);
  EXPECT_EQ(collect(true).removed.size(), 2u);
  EXPECT_TRUE(has("gone")) << "a dry run removes nothing";
  EXPECT_EQ(collect().removed.size(), 2u) << "the file and its manifest";
  EXPECT_FALSE(has("gone"));
  EXPECT_TRUE(has("kept"));
  EXPECT_TRUE(verify_artifact(store_, registry_.read("p", "data")->versions[0], true)->empty());
}

// As many old blobs as the limit: a manifest and a file, of a version that is kept and of one that is deleted, and one
// of no version.
TEST_F(BlobCollectTest, MoreBlobsThanAPassLooksForTakeAFurtherOneAndEndTheSame) {
  EXPECT_EQ(BlobCollectOptions().candidates_max, kCandidatesMax);
  constexpr size_t kBlobs = 5;
  for (const auto& [candidates_max, passes] :
       {std::pair(kBlobs + 1, 1u), {kBlobs, 1u}, {kBlobs - 1, 2u}, {size_t{2}, 3u}, {size_t{1}, 5u}}) {
    const std::string path = BlobStore(store_.path()).path_of(sha256("nobody's"));
    for (const char* all : {"/artifacts", "/blobs"}) fs::remove_all(store_.path() + all);
    store("kept");
    remove(store("gone").number);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << "nobody's";
    age_all(25h);
    const BlobCollectReport report = collect(false, candidates_max);
    EXPECT_EQ(report.passes, passes) << candidates_max;
    EXPECT_EQ(report.removed.size(), 3u) << candidates_max;
    EXPECT_TRUE(report.problems.empty());
    EXPECT_FALSE(has("gone") || has("nobody's"));
    EXPECT_TRUE(verify_artifact(store_, registry_.read("p", "data")->versions[0], true)->empty());
  }
}

TEST_F(BlobCollectTest, AWriterTouchesABlobBeforeItRefersToIt) {
  store("a");
  remove(0);
  age_all(25h);
  const ArtifactVersion again = store("a");
  EXPECT_FALSE(again.deleted) << "logged again it is there again";
  EXPECT_EQ(again.number, 0);
  remove(0);
  collect();
  EXPECT_TRUE(has("a")) << "it was touched just now";
}

TEST_F(BlobCollectTest, AnArtifactOfWhichGcTookABlobWhileItWasStoredIsRefusedAndComesWholeTheNextTime) {
  store("a");
  remove(0);
  ArtifactDraft draft = *ArtifactDraft::make("data", "dataset");
  for (const char* name : {"a", "b"}) {
    std::ofstream(folder_.path() + "/" + name) << name;
    ASSERT_TRUE(draft.add_file(folder_.path() + "/" + name).ok());
  }
  StoreArtifactOptions options;
  options.free_bytes_min = 1;
  options.look_again_after = 0s;  // as if an hour had passed
  options.progress = [&](uint64_t files, uint64_t) {
    if (files != 1 || !has("a")) return;
    age_all(25h);  // and a day
    collect();
  };
  const auto refused = store_artifact(store_, "p", draft, options);
  EXPECT_EQ(refused.status().code(), Code::kBusy) << refused.status().to_string();
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(registry_.read("p", "data")->versions.size(), 1u);
  const auto stored = store_artifact(store_, "p", draft, options);
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_TRUE(verify_artifact(store_, stored->version, true)->empty());
}

TEST_F(BlobCollectTest, AVersionWhoseContentIsGoneComesBackWhole) {
  store("a");
  remove(0);
  age_all(25h);
  collect();
  ASSERT_FALSE(has("a"));
  const ArtifactVersion again = store("a");
  EXPECT_EQ(again.number, 0);
  EXPECT_TRUE(verify_artifact(store_, again, true)->empty());
}

TEST_F(BlobCollectTest, AVersionLivesUntilItsTimeIsOver) {
  store("a", 1'000'000);
  age_all(48h);
  EXPECT_TRUE(collect().removed.empty());
  store("b", 0);
  ArtifactMark mark;
  mark.of = 0;
  mark.ttl_s = 1;
  mark.time_us = realtime_us() - 2'000'000;
  ASSERT_TRUE(registry_.mark("p", "data", mark).ok());
  age_all(48h);
  EXPECT_EQ(collect().removed.size(), 3u) << "the version, its file, its manifest";
  EXPECT_TRUE(registry_.read("p", "data")->versions[0].deleted);
  EXPECT_FALSE(has("a"));
  EXPECT_TRUE(has("b"));
}

// Bug: the shortest time to live of all runs that logged the content counted, for ever: a debug run removed what others
// had logged to keep.
TEST_F(BlobCollectTest, AVersionThatAnyoneLoggedToStayStays) {
  store("a");
  EXPECT_FALSE(store("a", 1).expires_us) << "somebody wants it for ever";
  EXPECT_TRUE(store("b", 1).expires_us);
  EXPECT_FALSE(store("b").expires_us) << "now somebody does";
  EXPECT_FALSE(store("b", 1).expires_us);
  EXPECT_FALSE(store("b", 0).expires_us);
}

TEST_F(BlobCollectTest, OfSeveralTimesToLiveTheLongestCounts) {
  const int64_t late = realtime_us() + 900'000'000;
  EXPECT_LT(*store("a", 1).expires_us, late);
  EXPECT_GT(*store("a", 1000).expires_us, late);
  EXPECT_GT(*store("a", 1).expires_us, late);
  EXPECT_FALSE(store("a", INT64_MAX).expires_us) << "beyond all times";
  EXPECT_FALSE(store("a", 1000).expires_us);
}

TEST_F(BlobCollectTest, OfAVersionThatWasTakenTheOldTimeToLiveNoLongerCounts) {
  store("a", 1'000'000);
  remove(0);
  const ArtifactVersion back = store("a");
  EXPECT_FALSE(back.deleted);
  EXPECT_FALSE(back.expires_us);
  remove(0);
  EXPECT_TRUE(store("a", 60).expires_us);
  remove(0);
  const ArtifactVersion shorter = store("a", 1);
  EXPECT_LT(*shorter.expires_us, realtime_us() + 30'000'000) << "who wanted it longer, wanted the one that is gone";
}

TEST_F(BlobCollectTest, WhereAVersionCannotBeReadNoBlobGoes) {
  store("a");
  store("b");
  remove(0);
  age_all(25h);
  std::ofstream(registry_.folder("p", "data") + "/v1.json") << "damaged";
  const BlobCollectReport report = collect();
  EXPECT_TRUE(report.gave_up);
  EXPECT_FALSE(report.problems.empty());
  EXPECT_TRUE(has("a"));
  EXPECT_TRUE(has("b"));
}

// gc treated a folder that it could not list as one without versions, and removed all their blobs without a message.
// Promise P3: Where `gc` cannot list or read an artifact, it removes no blob and says so.
TEST_F(BlobCollectTest, WhereAFolderCannotBeListedNoBlobGoes) {
  store("a");
  age_all(25h);
  const std::string away = folder_.path() + "/away";
  for (const std::string& folder : {store_.path() + "/artifacts", store_.path() + "/artifacts/p"}) {
    fs::rename(folder, away);
    fs::create_symlink(folder, folder);  // a loop: no process can list it, not even as root
    const BlobCollectReport report = collect();
    EXPECT_TRUE(report.gave_up) << folder;
    EXPECT_TRUE(report.removed.empty()) << folder;
    EXPECT_THAT(report.problems, testing::Contains(testing::HasSubstr(folder)));
    fs::remove(folder);
    fs::rename(away, folder);
  }
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(collect().gave_up);
}

TEST_F(BlobCollectTest, WhereAnArtifactHasLostItsDocumentNoBlobGoes) {
  store("a");
  age_all(25h);
  const std::string document = registry_.folder("p", "data") + "/artifact.json";
  fs::rename(document, folder_.path() + "/away");
  const BlobCollectReport report = collect();
  EXPECT_TRUE(report.gave_up);
  EXPECT_THAT(report.problems, testing::Contains(testing::HasSubstr(document)));
  EXPECT_TRUE(has("a"));
  fs::rename(folder_.path() + "/away", document);
  // A folder that is being made, and a user's file, keep no blob.
  fs::create_directories(store_.path() + "/artifacts/p/made");
  std::ofstream(store_.path() + "/artifacts/note") << "by hand";
  std::ofstream(store_.path() + "/artifacts/p/note") << "by hand";
  EXPECT_FALSE(collect().gave_up);
  EXPECT_TRUE(has("a"));
}

TEST_F(BlobCollectTest, ABlobThatADeadCollectorRenamedIsRestored) {
  store("a");
  const std::string path = BlobStore(store_.path()).path_of(sha256("a"));
  fs::rename(path, path + ".gc-0123456789abcdef");
  collect();
  EXPECT_TRUE(has("a"));
  EXPECT_FALSE(fs::exists(path + ".gc-0123456789abcdef"));
}

TEST_F(BlobCollectTest, TemporaryBlobsOfDeadProcessesAreRemoved) {
  store("a");
  const std::string path = store_.path() + "/blobs/sha256/blob.tmp-0123456789abcdef";
  std::ofstream(path) << "half";
  collect();
  EXPECT_TRUE(fs::exists(path)) << "its process may live";
  fs::last_write_time(path, fs::file_time_type::clock::now() - kBlobLeftoverAge);
  collect();
  EXPECT_FALSE(fs::exists(path));
}

// Bug: a job that was killed during its checkpoint and requeued, again and again, filled the disk until a user ran gc.
TEST_F(BlobCollectTest, MakingABlobRemovesTemporaryOnesOfDeadProcesses) {
  store("a");
  const std::string old = store_.path() + "/blobs/sha256/blob.tmp-0123456789abcdef";
  const std::string young = store_.path() + "/blobs/sha256/blob.tmp-fedcba9876543210";
  for (const std::string& path : {old, young}) std::ofstream(path) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - kBlobLeftoverAge);
  const BlobStore blobs(store_.path());
  BlobBatch living(blobs);
  auto file = living.begin();
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  fs::last_write_time(file->path, fs::file_time_type::clock::now() - 1000h);
  store("b");
  EXPECT_TRUE(fs::exists(file->path)) << "its process lives";
}

// A small file waits as long as a large one is copied: gc removed it after an hour.
TEST_F(BlobCollectTest, BlobsInTheMakingOfALivingProcessStayHoweverOldTheyAre) {
  store("a");
  const BlobStore blobs(store_.path());
  auto batch = std::make_optional<BlobBatch>(blobs);
  auto file = batch->begin();
  ASSERT_TRUE(file.ok());
  const std::string path = file->path;
  ASSERT_TRUE(batch->add(std::move(*file), sha256(""), 0).ok());
  fs::last_write_time(path, fs::file_time_type::clock::now() - 1000h);
  collect();
  EXPECT_TRUE(fs::exists(path));
  ASSERT_TRUE(batch->commit().ok());
  EXPECT_TRUE(has(""));
  batch.reset();
  std::ofstream(path) << "half";
  fs::last_write_time(path, fs::file_time_type::clock::now() - 2h);
  collect();
  EXPECT_FALSE(fs::exists(path)) << "its batch is over";
}

TEST_F(BlobCollectTest, WhatALivingProcessHasStagedStaysHoweverOldItIs) {
  const std::string above = store_.path() + "/staging", folder = above + "/artifact-12345678";
  fs::create_directories(folder);
  std::ofstream(folder + "/file-1") << "of 30 hours ago";
  for (const std::string& path : {folder + "/file-1", folder})
    fs::last_write_time(path, fs::file_time_type::clock::now() - 30h);
  auto held = std::make_optional<NameLease>(above, "artifact-12345678");
  EXPECT_TRUE(collect().removed.empty());
  EXPECT_TRUE(fs::exists(folder + "/file-1"));
  const NameLease other(above, "artifact-other");
  held.reset();
  EXPECT_EQ(collect().removed.size(), 1u);
  EXPECT_FALSE(fs::exists(folder));
}

// On a network file system a lock may show processes of one machine only: the age decides there.
TEST_F(BlobCollectTest, WhereLocksTellOfOneMachineAloneWhatIsHalfMadeStaysAWeek) {
  store("a");
  const std::string blob = store_.path() + "/blobs/sha256/blob.tmp-0123456789abcdef";
  const std::string folder = store_.path() + "/staging/artifact-12345678";
  fs::create_directories(folder);
  const NameLease other(store_.path() + "/staging", "artifact-other");
  std::ofstream(blob) << "half";
  set_fs_type_for_testing(folder_.path(), 0x6969);  // NFS
  for (const auto age : {24h * 6, 24h * 8}) {
    for (const std::string& path : {blob, folder}) fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    collect();
    EXPECT_EQ(fs::exists(blob), age < kAgeWithoutLocks);
    EXPECT_EQ(fs::exists(folder), age < kAgeWithoutLocks);
  }
  set_fs_type_for_testing("", 0);
}

}  // namespace
}  // namespace tracker::internal
