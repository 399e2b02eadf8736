// SPDX-License-Identifier: MIT
// Goal: each entry of a manifest is found through the index, nothing else is, in little memory, and a changed manifest
// never gives a wrong entry. Method: manifests of references, up to those whose index is thinned out; the file cut,
// emptied, its bytes flipped.
#include "artifact/manifest_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"
#include "support/conditions.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

class ManifestIndexTest : public testing::Test {
 protected:
  Digest store_manifest(size_t entries, size_t path_bytes = 12) {
    ManifestWriter writer;
    std::string bytes;
    for (size_t i = 0; i < entries; ++i) {
      EXPECT_TRUE(writer.add(entry(i, path_bytes)).ok());
      bytes += writer.take();
    }
    (void)writer.finish();
    bytes += writer.take();
    const Digest digest = sha256(bytes);
    const std::string path = BlobStore(builder_.path()).path_of(digest);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file_atomic(path, bytes).ok());
    return digest;
  }
  static ManifestEntry entry(size_t i, size_t path_bytes = 12) {
    ManifestEntry out;
    out.kind = i % 3 == 0 ? EntryKind::kFile : EntryKind::kReference;
    out.path = fmt::format("{:0{}}", 2 * i, path_bytes);
    for (size_t at = 200; at < out.path.size(); at += 200) out.path[at] = '/';
    out.bytes = i;
    if (i % 3 == 0) out.mtime_us = static_cast<int64_t>(i) - 5;
    else out.uri = fmt::format("s3://bucket/{}", i);
    return out;
  }
  StoreBuilder builder_;
};

TEST_F(ManifestIndexTest, EachEntryIsFoundAndWhatLiesBetweenThemIsNot) {
  for (const size_t entries : {0u, 1u, 63u, 64u, 65u, 1'000u}) {
    const auto index = ManifestIndex::build(builder_.store(), store_manifest(entries));
    ASSERT_TRUE(index.ok()) << index.status().to_string();
    for (size_t i = 0; i < entries; ++i) {
      const auto found = index->find(builder_.store(), entry(i).path);
      ASSERT_TRUE(found.ok()) << found.status().to_string();
      ASSERT_TRUE(*found) << i << " of " << entries;
      EXPECT_EQ(**found, entry(i));
      EXPECT_FALSE(*index->find(builder_.store(), fmt::format("{:012}", 2 * i + 1)));
      EXPECT_FALSE(*index->find(builder_.store(), entry(i).path + "0"));
    }
    EXPECT_FALSE(*index->find(builder_.store(), ""));
    EXPECT_FALSE(*index->find(builder_.store(), "z"));
  }
}

TEST_F(ManifestIndexTest, OfLongPathsItKeepsFewer) {
  NEEDS(kNoThreadSanitizer);  // 280 MB
  constexpr size_t kEntries = 70'000, kPathBytes = 4'000;
  const auto index = ManifestIndex::build(builder_.store(), store_manifest(kEntries, kPathBytes));
  ASSERT_TRUE(index.ok()) << index.status().to_string();
  EXPECT_LE(index->places() * kPathBytes, kIndexBytesMax);
  EXPECT_GE(index->places() * kPathBytes, kIndexBytesMax / 3);
  for (size_t i = 0; i < kEntries; i += 997) {
    const auto found = index->find(builder_.store(), entry(i, kPathBytes).path);
    ASSERT_TRUE(found.ok() && *found) << i;
    EXPECT_EQ(**found, entry(i, kPathBytes));
  }
}

TEST_F(ManifestIndexTest, AManifestThatIsNotWhatItWasIsDamagedOrHasTheEntry) {
  const Digest digest = store_manifest(300);
  const std::string path = BlobStore(builder_.path()).path_of(digest);
  const auto index = ManifestIndex::build(builder_.store(), digest);
  ASSERT_TRUE(index.ok());
  const std::string sound = *read_file(path, 1 << 20);
  const std::string wanted = entry(200).path;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (size_t i = 0; i < sound.size(); ++i) {
    file.seekp(static_cast<std::streamoff>(i)).put(static_cast<char>(sound[i] ^ 0x41)).flush();
    const auto found = index->find(builder_.store(), wanted);
    EXPECT_TRUE(found.ok() || found.status().code() == Code::kCorrupt) << found.status().to_string();
    if (found.ok() && *found) {
      EXPECT_EQ((*found)->path, wanted);
    }
    file.seekp(static_cast<std::streamoff>(i)).put(sound[i]).flush();
  }
  ASSERT_TRUE(write_file_atomic(path, sound.substr(0, 100)).ok());
  EXPECT_EQ(index->find(builder_.store(), wanted).status().code(), Code::kCorrupt);
  std::filesystem::remove(path);
  EXPECT_EQ(index->find(builder_.store(), wanted).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tracker::internal
