// SPDX-License-Identifier: MIT
// Goal: the cache never gives a digest that was not put for that stamp, keeps many, and survives damage. Method: more
// digests than the first table holds; each bit of a slot flipped.
#include "artifact/digest_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

SourceStamp stamp(uint64_t n) { return {1, n, n * 3, static_cast<int64_t>(n) * 5, static_cast<int64_t>(n) * 7}; }
Digest digest(uint64_t n) { return sha256(std::to_string(n)); }

TEST(DigestCacheTest, ADigestIsFoundByTheWholeStampAlone) {
  const TempFolder folder;
  DigestCache cache(folder.path());
  EXPECT_FALSE(cache.find(stamp(1)));
  cache.put(stamp(1), digest(1));
  EXPECT_EQ(cache.find(stamp(1)), digest(1));
  for (int field = 0; field < 5; ++field) {
    SourceStamp other = stamp(1);
    (field == 0 ? other.device : field == 1 ? other.inode : other.bytes) += field < 3 ? 1 : 0;
    (field == 3 ? other.mtime_ns : other.ctime_ns) += field < 3 ? 0 : 1;
    EXPECT_FALSE(cache.find(other)) << field;
  }
  EXPECT_EQ(DigestCache(folder.path()).find(stamp(1)), digest(1)) << "another process finds it too";
}

TEST(DigestCacheTest, ItGrowsAndForgetsFew) {
  const TempFolder folder;
  constexpr uint64_t kCount = 20'000;
  DigestCache cache(folder.path());
  for (uint64_t n = 0; n < kCount; ++n) cache.put(stamp(n), digest(n));
  uint64_t found = 0;
  for (uint64_t n = 0; n < kCount; ++n) {
    const auto known = cache.find(stamp(n));
    if (!known) continue;
    ++found;
    ASSERT_EQ(*known, digest(n));
  }
  EXPECT_GT(found, kCount * 99 / 100);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path() + "/blobs"), {}), 1) << "one table is left";
}

TEST(DigestCacheTest, ATableOfTheLargestSizeGrowsNoMoreAndForgetsOlderDigests) {
  const TempFolder folder;
  constexpr int kShiftMax = kDigestCacheShiftMin + 2;
  constexpr uint64_t kSlots = 4 << kShiftMax, kCount = 2 * kSlots;
  DigestCache cache(folder.path(), kShiftMax);
  for (uint64_t n = 0; n < kCount; ++n) {
    cache.put(stamp(n), digest(n));
    ASSERT_EQ(cache.find(stamp(n)), digest(n)) << "the newest one is there";
  }
  uint64_t found = 0;
  for (uint64_t n = 0; n < kCount; ++n) {
    const auto known = cache.find(stamp(n));
    if (!known) continue;
    ++found;
    ASSERT_EQ(*known, digest(n));
  }
  EXPECT_LE(found, kSlots);
  EXPECT_GT(found, kSlots * 9 / 10);
  const std::filesystem::directory_iterator tables(folder.path() + "/blobs");
  EXPECT_EQ(tables->path().filename(), "digests-" + std::to_string(kShiftMax));
  EXPECT_EQ(tables->file_size(), kSlots * 64);
  EXPECT_EQ(std::distance(tables, {}), 1);
}

// Sparse tables: of 1 GiB a page or two are used.
TEST(DigestCacheTest, TheLargestTableByDefaultIsOneOfAGigabyte) {
  const TempFolder folder("/dev/shm/");
  std::filesystem::create_directory(folder.path() + "/blobs");
  const auto table = [&](int shift) { return folder.path() + "/blobs/digests-" + std::to_string(shift); };
  for (const int shift : {kDigestCacheShiftMax, kDigestCacheShiftMax + 2}) {
    std::ofstream(table(shift)).flush();
    std::filesystem::resize_file(table(shift), uint64_t{256} << shift);
  }
  EXPECT_EQ(std::filesystem::file_size(table(kDigestCacheShiftMax)), uint64_t{1} << 30);
  DigestCache(folder.path()).put(stamp(1), digest(1));
  std::filesystem::remove(table(kDigestCacheShiftMax + 2));
  EXPECT_EQ(DigestCache(folder.path()).find(stamp(1)), digest(1)) << "it went into a larger one";
}

TEST(DigestCacheTest, AForgottenDigestIsOfNoFileAndAllOthersStay) {
  const TempFolder folder;
  DigestCache cache(folder.path());
  cache.forget(digest(1));
  for (uint64_t i = 0; i < 3000; ++i) cache.put(stamp(i), digest(i % 1000));
  DigestCache(folder.path()).forget(digest(7));
  for (uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(cache.find(stamp(i)).has_value(), i % 1000 != 7) << i;
}

TEST(DigestCacheTest, ADamagedSlotIsNoDigest) {
  const TempFolder folder;
  DigestCache(folder.path()).put(stamp(1), digest(1));
  const std::string path = folder.path() + "/blobs/digests-10";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string all(std::filesystem::file_size(path), '\0');
  file.read(all.data(), static_cast<std::streamsize>(all.size()));
  const size_t at = all.find_first_not_of('\0') / 64 * 64;
  for (size_t bit = 0; bit < 64 * 8; ++bit) {
    const char changed = static_cast<char>(all[at + bit / 8] ^ 1 << bit % 8);
    file.seekp(static_cast<std::streamoff>(at + bit / 8)).put(changed).flush();
    EXPECT_FALSE(DigestCache(folder.path()).find(stamp(1))) << bit;
    file.seekp(static_cast<std::streamoff>(at + bit / 8)).put(all[at + bit / 8]).flush();
  }
  EXPECT_TRUE(DigestCache(folder.path()).find(stamp(1)));
}

}  // namespace
}  // namespace tracker::internal
