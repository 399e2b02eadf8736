// SPDX-License-Identifier: MIT
// Goal: what is stored as an artifact is read back unchanged, once for the same content, and never in part. Method:
// folders stored, stored again, changed, downloaded, damaged.
#include "artifact/artifact_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "support/child.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string read(const fs::path& path) {
  std::stringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class ArtifactStoreTest : public ::testing::Test {
 protected:
  ArtifactStoreTest() : store_(*Store::open_or_create(folder_.path() + "/store")), registry_(store_) {
    make("a.txt", "one");
    make("sub/b.txt", "two");
    make("sub/empty", "");
  }
  void make(const std::string& path, const std::string& content) {
    fs::create_directories((data_ / path).parent_path());
    std::ofstream(data_ / path) << content;
  }
  ArtifactDraft draft(const std::string& name = "data") {
    ArtifactDraft out = *ArtifactDraft::make(name, "dataset");
    EXPECT_TRUE(out.add_folder(data_.string()).ok());
    return out;
  }
  Result<StoredArtifact> store(const ArtifactDraft& draft, StoreArtifactOptions options = {}) {
    options.free_bytes_min = 1;
    return store_artifact(store_, "p", draft, options);
  }
  // Replaces the last byte.
  void damage(const Digest& digest) {
    const fs::path blob = BlobStore(store_.path()).path_of(digest);
    std::string bytes = read(blob);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    fs::permissions(blob, fs::perms(0644));
    std::ofstream(blob) << bytes;
  }
  TempFolder folder_;
  const fs::path data_ = fs::path(folder_.path()) / "data";
  const Store store_;
  const ArtifactRegistry registry_;
};

TEST_F(ArtifactStoreTest, WhatWasStoredIsDownloaded) {
  ArtifactDraft art = draft();
  ASSERT_TRUE(art.add_reference("s3://bucket/big", "big").ok());
  const auto stored = store(art);
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_EQ(stored->version.files, 3u);
  EXPECT_EQ(stored->version.references, 1u);
  const fs::path out = fs::path(folder_.path()) / "out";
  const auto report = download_artifact(store_, stored->version, out.string());
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->files, 3u);
  EXPECT_THAT(report->references, ElementsAre("big"));
  EXPECT_EQ(read(out / "a.txt"), "one");
  EXPECT_EQ(read(out / "sub/b.txt"), "two");
  EXPECT_TRUE(fs::exists(out / "sub/empty"));
  const auto again = download_artifact(store_, stored->version, out.string());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->files, 0u);
  EXPECT_EQ(again->kept, 3u);
  std::ofstream(out / "a.txt") << "two";
  ASSERT_TRUE(download_artifact(store_, stored->version, out.string()).ok());
  EXPECT_EQ(read(out / "a.txt"), "one") << "what was changed there is put right";
}

TEST_F(ArtifactStoreTest, HowFarADownloadOrALookIsRisesToAllFilesAndBytes) {
  make("large", std::string(5 << 20, 'x'));
  const auto stored = store(draft());
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  const std::string out = folder_.path() + "/out";
  const std::vector<std::pair<std::string, std::function<bool(const ArtifactProgress&)>>> works{
      {"download", [&](const auto& seen) { return download_artifact(store_, stored->version, out, {}, seen).ok(); }},
      {"again", [&](const auto& seen) { return download_artifact(store_, stored->version, out, {}, seen).ok(); }},
      {"deep", [&](const auto& seen) { return verify_artifact(store_, stored->version, true, seen)->empty(); }}};
  for (const auto& each : works) {
    const auto& name = each.first;
    uint64_t files = 0, bytes = 0, calls = 0;
    EXPECT_TRUE(each.second([&](uint64_t files_now, uint64_t bytes_now) {
      EXPECT_TRUE(files_now >= files && bytes_now >= bytes) << name;
      files = files_now, bytes = bytes_now, ++calls;
    })) << name;
    EXPECT_EQ(files, 4u) << name;
    EXPECT_EQ(bytes, stored->version.bytes) << name;
    if (name != "again") {
      EXPECT_GT(calls, 4u + 3u) << name << ": of a large file within it too";
    }
  }
}

TEST_F(ArtifactStoreTest, AnUnchangedFolderIsTheSameVersionAndIsNotRead) {
  set_fs_type_for_testing(folder_.path(), 0xef53);  // ext4, also where /tmp is a tmpfs
  ASSERT_TRUE(store(draft()).ok());
  const auto again = store(draft());
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->version.number, 0);
  EXPECT_EQ(again->files_read, 0u);
  make("a.txt", "three");
  const auto changed = store(draft());
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->version.number, 1);
  EXPECT_EQ(changed->files_read, 1u);
  EXPECT_THAT(changed->version.aliases, ElementsAre("latest"));
  make("a.txt", "one");
  const auto back = store(draft());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->version.number, 0);
  EXPECT_THAT(back->version.aliases, ElementsAre("latest")) << "it was logged last";
}

// Bug: when the same content was logged again, its new metadata and description were lost.
TEST_F(ArtifactStoreTest, TheDescriptionOfAContentThatIsLoggedAgainIsKept) {
  ArtifactDraft first = draft();
  first.description = "first";
  first.metadata = Value::Map{{"accuracy", 0.5}};
  ASSERT_TRUE(store(first).ok());
  ArtifactDraft second = draft();
  second.description = "second, of user:secret@host";
  second.metadata = Value::Map{{"accuracy", 0.95}};
  const auto again = store(second);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->version.description.find("secret"), std::string::npos) << again->version.description;
  EXPECT_EQ(to_json(again->version.metadata), R"({"accuracy":0.95})");
  ASSERT_TRUE(store(second).ok());
  const auto silent = store(draft());
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->version.description.find("second"), 0u) << "who says nothing changes nothing";
  EXPECT_EQ(to_json(silent->version.metadata), R"({"accuracy":0.95})");
  EXPECT_EQ(registry_.read("p", "data")->marks.size(), 1u) << "the same is not said twice";
}

TEST_F(ArtifactStoreTest, AFileIsStoredOnceHoweverManyArtifactsHoldIt) {
  ASSERT_TRUE(store(draft()).ok());
  make("copy", "one");
  ASSERT_TRUE(store(draft("other")).ok());
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(store_.path() + "/blobs/sha256"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 3u + 2u) << "three contents and two manifests";
}

TEST_F(ArtifactStoreTest, AliasesTagsAndTimeToLiveAreSaid) {
  StoreArtifactOptions options;
  options.aliases = {"best", "latest"};
  options.tags = {"clean"};
  options.ttl_s = 60;
  options.now_us = 1'700'000'000'000'000;
  const auto stored = store(draft(), options);
  ASSERT_TRUE(stored.ok());
  EXPECT_THAT(stored->version.aliases, ElementsAre("best", "latest"));
  EXPECT_THAT(stored->version.tags, ElementsAre("clean"));
  EXPECT_EQ(stored->version.expires_us, options.now_us + 60'000'000);
  options.aliases = {"v3"};
  EXPECT_EQ(store(draft(), options).status().code(), Code::kInvalid);
}

TEST_F(ArtifactStoreTest, SecretsInTheMetadataAreRedacted) {
  ArtifactDraft art = draft();
  art.metadata = Value::Map{{"api_key", "abc"}, {"rows", 3}};
  const auto stored = store(art);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->version.metadata.text_or("api_key", ""), "[redacted]");
  EXPECT_EQ(stored->redacted, 1u);
}

TEST_F(ArtifactStoreTest, AFileThatChangedSinceIsNamedAndNoVersionIsMade) {
  const ArtifactDraft art = draft();
  make("sub/b.txt", "changed");
  const auto stored = store(art);
  EXPECT_EQ(stored.status().code(), Code::kBusy);
  EXPECT_THAT(stored.status().message(), HasSubstr("sub/b.txt"));
  EXPECT_TRUE(registry_.read("p", "data")->versions.empty());
}

TEST_F(ArtifactStoreTest, DamageIsFoundAndIsNotHandedOut) {
  const auto stored = store(draft());
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(verify_artifact(store_, stored->version, true)->empty());
  const fs::path blob = BlobStore(store_.path()).path_of(sha256("one"));
  fs::permissions(blob, fs::perms(0644));
  std::ofstream(blob) << "0ne";
  EXPECT_TRUE(verify_artifact(store_, stored->version, false)->empty()) << "by size alone";
  const auto deep = verify_artifact(store_, stored->version, true);
  ASSERT_EQ(deep->size(), 1u);
  EXPECT_EQ(deep->listed.front().path, "a.txt");
  const fs::path out = fs::path(folder_.path()) / "out";
  EXPECT_EQ(download_artifact(store_, stored->version, out.string()).status().code(), Code::kCorrupt);
  EXPECT_FALSE(fs::exists(out / "a.txt"));
  fs::remove(blob);
  EXPECT_EQ(download_artifact(store_, stored->version, out.string()).status().code(), Code::kNotFound);
  EXPECT_EQ(verify_artifact(store_, stored->version, false)->size(), 1u);
}

// Bug: only the size of an existing blob was checked: a file that was logged again, or in another artifact, was
// reported as stored and could not be read back, though its bytes had just been read.
TEST_F(ArtifactStoreTest, ADamagedBlobIsMendedByAFileOfThatContent) {
  const auto stored = store(draft());
  ASSERT_TRUE(stored.ok());
  damage(sha256("one"));
  make("a.txt", "one");
  const auto other = store(draft("other"));
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_TRUE(verify_artifact(store_, other->version, true)->empty());
  EXPECT_TRUE(verify_artifact(store_, stored->version, true)->empty()) << "it is the same blob";
}

TEST_F(ArtifactStoreTest, DamageThatWasFoundIsMendedByTheFileThatDidNotChange) {
  set_fs_type_for_testing(folder_.path(), 0xef53);  // ext4, also where /tmp is a tmpfs
  const auto stored = store(draft());
  ASSERT_TRUE(stored.ok());
  const std::string out = folder_.path() + "/out";
  for (const bool by_download : {false, true}) {
    damage(sha256("one"));
    const auto unread = store(draft());
    EXPECT_EQ(unread->files_read, 0u) << "it was not found yet";
    if (by_download) EXPECT_EQ(download_artifact(store_, stored->version, out).status().code(), Code::kCorrupt);
    else EXPECT_EQ(verify_artifact(store_, stored->version, true)->size(), 1u);
    const auto again = store(draft());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->files_read, 1u) << "of that content alone";
    EXPECT_TRUE(verify_artifact(store_, stored->version, true)->empty());
  }
}

TEST_F(ArtifactStoreTest, ADamagedOrMissingManifestIsMendedByTheSameContent) {
  for (const bool other_times : {false, true})
    for (const bool missing : {false, true}) {
      const auto stored = store(draft());
      ASSERT_TRUE(stored.ok());
      if (missing) fs::remove(BlobStore(store_.path()).path_of(stored->version.manifest));
      else damage(stored->version.manifest);
      EXPECT_FALSE(verify_artifact(store_, stored->version, false)->empty());
      if (other_times) fs::last_write_time(data_ / "a.txt", fs::file_time_type::clock::now() - 1h * (missing ? 1 : 2));
      const auto again = store(draft());
      ASSERT_TRUE(again.ok());
      EXPECT_FALSE(again->is_new);
      EXPECT_TRUE(verify_artifact(store_, again->version, true)->empty()) << other_times << missing;
      EXPECT_EQ(registry_.read("p", "data")->versions[0].manifest, again->version.manifest);
    }
}

// Sparse files: a file that is too large is not read.
TEST_F(ArtifactStoreTest, WhatIsLargerThanAManifestMayBeIsNone) {
  const Digest digest = sha256("none");
  const fs::path blob = BlobStore(store_.path()).path_of(digest);
  fs::create_directories(blob.parent_path());
  std::ofstream(blob) << "x";
  fs::resize_file(blob, kManifestBytesMax + 1);
  EXPECT_THAT(StoredManifest::open(store_, digest).status().message(), HasSubstr("is no manifest: 4294967297 bytes"));
  fs::resize_file(blob, kManifestBytesMax);
  const auto largest = StoredManifest::open(store_, digest);
  ASSERT_TRUE(largest.ok()) << largest.status().to_string();
  const Status read = largest->visit([](const ManifestEntry&) { return Status(); });
  EXPECT_THAT(read.message(), HasSubstr("it does not begin as one"));
}

// A manifest of about so many bytes: with `more` it has so many more.
std::string manifest_of(size_t bytes, size_t more, ManifestTotals* totals) {
  ManifestWriter writer;
  ManifestEntry entry;
  entry.kind = EntryKind::kReference;
  for (int n = 10'000; writer.pending() < bytes; ++n) {
    const size_t left = bytes - writer.pending();
    entry.path = std::to_string(n);
    entry.uri = std::string(left > kReferenceBytesMax ? kReferenceBytesMax / 2 : left + more, 'u');
    EXPECT_TRUE(writer.add(entry).ok());
  }
  *totals = writer.finish();
  return writer.take();
}

TEST_F(ArtifactStoreTest, ALargeManifestIsMappedOnALocalDiskAndHoldsTheSameElsewhere) {
  const Digest digest = sha256("a manifest");
  const fs::path blob = BlobStore(store_.path()).path_of(digest);
  fs::create_directories(blob.parent_path());
  for (const size_t bytes : {kManifestMappedBytes - 1, kManifestMappedBytes}) {
    ManifestTotals totals;
    const size_t about = bytes - 100, got = manifest_of(about, 0, &totals).size();
    ASSERT_LE(got, bytes);
    std::ofstream(blob, std::ios::binary) << manifest_of(about, bytes - got, &totals);
    ASSERT_EQ(fs::file_size(blob), bytes);
    for (const uint32_t file_system : {0xef53u, 0x6969u}) {  // ext4, NFS
      set_fs_type_for_testing(folder_.path(), file_system);
      const auto manifest = StoredManifest::open(store_, digest);
      ASSERT_TRUE(manifest.ok()) << manifest.status().to_string();
      const bool is_mapped = read("/proc/self/maps").find(blob.string()) != std::string::npos;
      EXPECT_EQ(is_mapped, file_system == 0xef53 && bytes >= kManifestMappedBytes) << bytes;
      ASSERT_TRUE(manifest->visit([](const ManifestEntry&) { return Status(); }).ok());
      EXPECT_EQ(manifest->totals(), totals);
    }
    EXPECT_EQ(read("/proc/self/maps").find(blob.string()), std::string::npos) << "it is let go";
  }
  set_fs_type_for_testing("", 0);
}

TEST_F(ArtifactStoreTest, ALargeFileThatIsComparedWithItsBlobCanBeGivenUp) {
  make("large", std::string(1 << 20, 'x'));
  ASSERT_TRUE(store(draft()).ok());
  std::atomic<bool> cancel{false};
  const BlobStore blobs(store_.path());
  BlobBatch batch(blobs);
  auto file = batch.begin();
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_all(file->fd.get(), std::string(1 << 20, 'x')).ok());
  const std::string path = file->path;
  cancel = true;
  EXPECT_EQ(batch.add(std::move(*file), sha256(std::string(1 << 20, 'x')), 1 << 20, &cancel).code(), Code::kClosed);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ArtifactStoreTest, ADownloadWritesThroughNoLink) {
  const auto stored = store(draft());
  ASSERT_TRUE(stored.ok());
  const fs::path out = fs::path(folder_.path()) / "out", outside = fs::path(folder_.path()) / "outside";
  fs::create_directory(outside);
  fs::create_directory(out);
  fs::create_directory_symlink(outside, out / "sub");
  fs::create_symlink(outside / "target", out / "a.txt");
  EXPECT_EQ(download_artifact(store_, stored->version, out.string()).status().code(), Code::kInvalid);
  EXPECT_TRUE(fs::is_empty(outside));
  EXPECT_EQ(read(out / "a.txt"), "one") << "the link was replaced, not followed";
}

TEST_F(ArtifactStoreTest, ProcessesThatLogTheSameAtOnceMakeOneVersion) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i)
    children.push_back(start_child([&] {
      StoreArtifactOptions options;
      options.free_bytes_min = 1;
      for (int turn = 0; turn < 3; ++turn) CHILD_CHECK(store_artifact(store_, "p", draft(), options).ok());
      return 0;
    }));
  for (const pid_t child : children) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  const auto info = registry_.read("p", "data");
  ASSERT_EQ(info->versions.size(), 1u);
  EXPECT_TRUE(verify_artifact(store_, info->versions[0], true)->empty());
}

}  // namespace
}  // namespace tracker::internal
