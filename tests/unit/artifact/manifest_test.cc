// SPDX-License-Identifier: MIT
// Goal: a manifest has what was put into it, the same content has the same digest, and nothing else is accepted as one.
// Method: round trips, the bytes of docs/formats/artifact.md, every cut and every flipped bit of a small manifest.
#include "artifact/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/crc32c.h"

namespace tracker::internal {
namespace {

ManifestEntry file(const std::string& path, const std::string& content, int64_t mtime_us = 1'700'000'000'000'000) {
  ManifestEntry out;
  out.path = path;
  out.bytes = content.size();
  out.digest = sha256(content);
  out.mtime_us = mtime_us;
  return out;
}

ManifestEntry reference(const std::string& path, const std::string& uri, const std::string& checksum = "") {
  ManifestEntry out;
  out.kind = EntryKind::kReference;
  out.path = path;
  out.uri = uri;
  out.checksum = checksum;
  out.bytes = 7;
  return out;
}

std::string encode(const std::vector<ManifestEntry>& entries, ManifestTotals* totals = nullptr) {
  ManifestWriter writer;
  std::string out;
  for (const ManifestEntry& entry : entries) {
    EXPECT_TRUE(writer.add(entry).ok()) << entry.path;
    out += writer.take();
  }
  const ManifestTotals found = writer.finish();
  if (totals != nullptr) *totals = found;
  return out + writer.take();
}

Result<std::vector<ManifestEntry>> decode(const std::string& bytes) {
  ManifestReader reader(bytes);
  std::vector<ManifestEntry> out;
  ManifestEntry entry;
  for (;;) {
    const auto more = reader.next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) return out;
    out.push_back(entry);
  }
}

const std::vector<ManifestEntry> kEntries = {file("a/b.bin", "one"), file("a/c.bin", "", -5),
                                             reference("data", "s3://bucket/data", "md5:00"), file("z", "two")};

TEST(ManifestTest, WhatIsEncodedIsDecoded) {
  ManifestTotals totals, again;
  const std::string bytes = encode(kEntries, &totals);
  const auto entries = decode(bytes);
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  EXPECT_EQ(*entries, kEntries);
  EXPECT_EQ(totals.files, 3u);
  EXPECT_EQ(totals.references, 1u);
  EXPECT_EQ(totals.bytes, 6u);
  ASSERT_TRUE(check_manifest(bytes, &again).ok());
  EXPECT_EQ(again, totals);
}

TEST(ManifestTest, TheBytesAreThoseOfTheDocument) {
  const std::string bytes = encode({file("a/b", "abc", 1), file("a/c", "abc", 2)});
  std::string hex;
  for (const char c : bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<uint8_t>(c));
    hex += text;
  }
  const std::string digest = sha256("abc").hex();
  EXPECT_EQ(hex.substr(0, hex.size() - 8),
            "54524b4d01000000"
            "0100"
            "03612f62"
            "03" +
                digest +
                "02"
                "0102"
                "0163"
                "03" +
                digest +
                "04"
                "0002");
}

TEST(ManifestTest, TimesAreNoContentAndPathsDigestsAndReferencesAre) {
  const auto content = [](const std::vector<ManifestEntry>& entries) {
    ManifestTotals totals;
    encode(entries, &totals);
    return totals.content;
  };
  const Digest one = content({file("a", "x", 1)});
  EXPECT_EQ(content({file("a", "x", 2)}), one);
  EXPECT_NE(content({file("b", "x", 1)}), one);
  EXPECT_NE(content({file("a", "y", 1)}), one);
  EXPECT_NE(content({reference("a", "u", "1")}), content({reference("a", "u", "2")}));
  EXPECT_NE(content({}), one);
}

TEST(ManifestTest, EveryCutAndEveryFlippedBitIsRefused) {
  const std::string bytes = encode(kEntries);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.substr(0, size)).ok()) << size;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(decode(damaged).ok()) << bit;
  }
  EXPECT_FALSE(decode(bytes + "x").ok());
}

TEST(ManifestTest, PathsThatLeaveTheFolderAreNeitherWrittenNorRead) {
  for (const std::string path : {"", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\\b", "a\nb", "\xff"}) {
    ManifestWriter writer;
    EXPECT_EQ(writer.add(file(path, "x")).code(), Code::kInvalid) << path;
  }
  EXPECT_EQ(check_artifact_path(std::string(4097, 'a')).code(), Code::kLimit);
  EXPECT_EQ(check_artifact_path(std::string(256, 'a')).code(), Code::kInvalid);
  EXPECT_TRUE(check_artifact_path("ä/..a/…").ok());
}

TEST(ManifestTest, EntriesComeInOrderAndOnce) {
  ManifestWriter writer;
  ASSERT_TRUE(writer.add(file("b", "x")).ok());
  EXPECT_EQ(writer.add(file("a", "x")).code(), Code::kInvalid);
  EXPECT_EQ(writer.add(file("b", "x")).code(), Code::kExists);
}

// Bug: such a version was "intact" and could not be downloaded.
TEST(ManifestTest, AFileBelowAFileIsNotWrittenAndFoundWhereAnEarlierVersionWroteIt) {
  const std::vector<std::vector<std::string>> clash = {{"q", "q/r"},
                                                       {"q", "q-x", "q/r"},
                                                       {"a", "q", "q!", "q-x", "q-x/y"},
                                                       {"q", "q!", "q!a", "q/a/b"},
                                                       {"a/q", "a/q/r"}};
  for (const auto& paths : clash) {
    ManifestWriter writer;
    for (const std::string& path : paths)
      EXPECT_EQ(writer.add(file(path, "x")).ok(), path != paths.back()) << paths.back();
  }
  std::string old = encode({file("q", "x"), file("qqr", "x")});
  const size_t at = old.find("qr", 10);  // the suffix after the shared "q"
  old[at] = '/';
  const uint32_t crc = crc32c(std::string_view(old).substr(0, old.size() - 4));
  std::memcpy(old.data() + old.size() - 4, &crc, sizeof crc);
  const auto entries = decode(old);
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  EXPECT_EQ(entries->back().path, "q/r");
  const Status status = check_manifest(old, nullptr);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("\"q\" is a file"), std::string::npos) << status.message();
  EXPECT_TRUE(decode(encode({file("q", "x"), file("q-x", "x"), file("qa/r", "x")})).ok());
}

TEST(ManifestTest, AManifestHasAsManyEntriesAsTheLimitSays) {
  ManifestWriter writer(2);
  ASSERT_TRUE(writer.add(file("a", "one")).ok());
  ASSERT_TRUE(writer.add(file("b", "two")).ok());
  EXPECT_EQ(writer.add(file("c", "three")).code(), Code::kLimit);
  writer.finish();
  const std::string bytes = writer.take();
  ManifestEntry entry;
  ManifestReader enough(bytes, 2), too_few(bytes, 1);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(*enough.next(&entry));
  EXPECT_FALSE(*enough.next(&entry)) << "it ends";
  EXPECT_TRUE(*too_few.next(&entry));
  EXPECT_EQ(too_few.next(&entry).status().code(), Code::kLimit);
  static_assert(kManifestEntriesMax == 10'000'000);  // the defaults of both
}

TEST(ManifestTest, ANewerVersionIsSaidToBeOne) {
  std::string bytes = encode(kEntries);
  bytes[4] = 2;
  EXPECT_EQ(decode(bytes).status().code(), Code::kVersion);
}

}  // namespace
}  // namespace tracker::internal
