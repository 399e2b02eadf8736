// SPDX-License-Identifier: MIT
// The spill file gives back whole records in order and never a changed one, and says what is damaged. Method: cut and
// changed at each byte, in the place of something else; its limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/ring/place.h"
#include "journal/ring/spill.h"
#include "support/sandbox_folders.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kNonce = 77;

std::vector<FrameRecord> records() {
  return {{1, "one", {{256, 40}}},
          {2, std::string(500, 'x'), {{256, 80}, {512, 8}, {513, 3}}},
          {3, "", {}},
          {4, "four", {{512, 16}}}};
}

struct Spill {
  Sandbox sandbox;
  SpillFile file{sandbox.folder(), kNonce};
  std::string bytes() const { return *read_file(join_path(sandbox.folder(), "spill"), 1 << 20); }
};

bool same(const FrameRecord& a, const FrameRecord& b) {
  return a.seq == b.seq && a.bytes == b.bytes && a.positions == b.positions;
}

// Promise P1: The spill file is replayed in the order of sequence numbers, whole records only.
TEST(SpillTest, ACutFileGivesTheWholeRecordsBeforeTheCut) {
  Spill spill;
  std::vector<size_t> ends{0};
  for (const FrameRecord& record : records()) {
    ASSERT_TRUE(spill.file.append(record, 1 << 20));
    ends.push_back(spill.bytes().size());
  }
  const std::string whole = spill.bytes();
  EXPECT_EQ(spill.file.bytes(), whole.size());
  for (size_t size = 0; size <= whole.size(); ++size) {
    const SpillContents cut = parse_spill(std::string_view(whole).substr(0, size), kNonce);
    const std::vector<FrameRecord>& read = cut.frames;
    ASSERT_EQ(cut.problem, "") << size << ": its process died while it wrote it";
    const auto expected = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    ASSERT_EQ(read.size(), expected) << size;
    for (size_t i = 0; i < expected; ++i) ASSERT_TRUE(same(read[i], records()[i])) << i;
  }
}

// A changed byte once ended the file, and nothing was said.
TEST(SpillTest, BehindAChangedByteTheNextSoundRecordIsReadAndTheDamageIsSaid) {
  Spill spill;
  std::vector<size_t> ends;
  for (const FrameRecord& record : records()) {
    ASSERT_TRUE(spill.file.append(record, 1 << 20));
    ends.push_back(spill.bytes().size());
  }
  std::string whole = spill.bytes();
  for (size_t at = 0; at < ends[2]; ++at) {
    whole[at] = static_cast<char>(whole[at] ^ 4);
    const SpillContents read = parse_spill(whole, kNonce);
    const auto hit = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    const size_t begin = hit == 0 ? 0 : ends[hit - 1];
    std::vector<FrameRecord> expected = records();
    // The fourth word of a record's head is reserved and not read.
    const bool ignored = at - begin >= 12 && at - begin < 16;
    if (!ignored) expected.erase(expected.begin() + static_cast<ptrdiff_t>(hit));
    ASSERT_EQ(read.frames.size(), expected.size()) << at;
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(same(read.frames[i], expected[i])) << at;
    ASSERT_EQ(read.damaged_bytes, ignored ? 0 : ends[hit] - begin) << at;
    ASSERT_EQ(read.problem.empty(), ignored) << at;
    whole[at] = static_cast<char>(whole[at] ^ 4);
  }
  const SpillContents other = parse_spill(whole, kNonce + 1);
  EXPECT_TRUE(other.frames.empty()) << "another writer's nonce";
  EXPECT_EQ(other.damaged_bytes, whole.size());
}

TEST(SpillTest, WhatCannotBeReadIsSaid) {
  const Sandbox sandbox;
  EXPECT_EQ(read_spill(sandbox.folder(), kNonce).problem, "") << "none is there";
  const std::string path = join_path(sandbox.folder(), "spill");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(read_spill(sandbox.folder(), kNonce).problem, ::testing::HasSubstr(path));
  remove_file(path);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  EXPECT_THAT(read_spill(sandbox.folder(), kNonce).problem, ::testing::HasSubstr(path));
}

// Bug: one bit of the version made a newer file of it, of which nothing is read.
TEST(SpillTest, ADigitOfAnotherVersionBeforeARecordThatVerifiesIsDamage) {
  Spill spill;
  for (const FrameRecord& record : records()) ASSERT_TRUE(spill.file.append(record, 1 << 20));
  const std::string whole = spill.bytes(), path = join_path(spill.sandbox.folder(), "spill");
  for (const char digit : {'3', '5', '9'}) {
    std::string bytes = whole;
    bytes[3] = digit;
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    const SpillContents read = read_spill(spill.sandbox.folder(), kNonce);
    EXPECT_EQ(read.version, kSpillVersion) << digit;
    EXPECT_EQ(read.frames.size(), records().size() - 1) << digit;
    EXPECT_GT(read.damaged_bytes, 0u) << digit;
    EXPECT_THAT(read.problem, ::testing::HasSubstr("does not verify from byte 0 on")) << digit;
    bytes[20] = static_cast<char>(bytes[20] ^ 1);  // of a newer version nothing is known but its digit
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    EXPECT_EQ(read_spill(spill.sandbox.folder(), kNonce).version, digit - '0');
  }
}

TEST(SpillTest, TheLimitIsKeptAndClearMakesRoom) {
  Spill spill;
  const FrameRecord large{1, std::string(1000, 'x'), {}};
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_FALSE(spill.file.append(large, 2500));
  EXPECT_EQ(parse_spill(spill.bytes(), kNonce).frames.size(), 2u);
  spill.file.clear();
  EXPECT_EQ(spill.file.bytes(), 0u);
  EXPECT_TRUE(spill.file.append(large, 2500));
  EXPECT_EQ(parse_spill(spill.bytes(), kNonce).frames.size(), 1u);
}

TEST(SpillTest, ItTakesItsLimitToTheLastByteAndNotOneMore) {
  Spill spill;
  ASSERT_TRUE(spill.file.append({1, "", {}}, kSpillBytesMax));
  const uint64_t record = spill.file.bytes();  // beside its frame
  FrameRecord rest{2, std::string(kSpillBytesMax - 2 * record + 1, 'x'), {}};
  EXPECT_FALSE(spill.file.append(rest, kSpillBytesMax));
  EXPECT_EQ(spill.file.bytes(), record);
  rest.bytes.pop_back();
  EXPECT_TRUE(spill.file.append(rest, kSpillBytesMax));
  EXPECT_EQ(spill.file.bytes(), kSpillBytesMax);
  EXPECT_FALSE(spill.file.append({3, "", {}}, kSpillBytesMax));
  const SpillContents read = read_spill(spill.sandbox.folder(), kNonce);
  ASSERT_EQ(read.frames.size(), 2u);
  EXPECT_TRUE(same(read.frames[1], rest));
}

TEST(SpillTest, AJournalInPrivateMemoryHasNone) {
  SpillFile none("", kNonce);
  EXPECT_FALSE(none.append(records()[0], 1 << 20));
}

}  // namespace
}  // namespace tracker::internal
