// SPDX-License-Identifier: MIT
// Goal: a segment opens whatever the length of its directory, and without its columns being read. Method: segments
// whose directories are as long as the first read and a byte longer, in a database; what the process read from files.
#include "storage/database/stored_segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/storage.h"

namespace tracker::internal {
namespace {

// Of one frame: `values` as series of a row each, whose bytes in the directory are those of the number, and columns of
// some 400 KB.
std::string segment_of(const std::vector<uint64_t>& values, Id128 writer) {
  Frame frame;
  frame.writer = writer;
  frame.seq = 1;
  Block few, many;
  few.times_us = few.steps = {1};
  for (const uint64_t value : values) {
    few.series.push_back(static_cast<uint32_t>(few.series.size() + 1));
    few.types.push_back(ValueType::kInt64);
    few.values.push_back({value});
  }
  std::mt19937_64 random(1);
  many.series = {100'000};
  many.types = {ValueType::kInt64};
  many.values.resize(1);
  for (int64_t step = 0; step < 50'000; ++step) {
    many.steps.push_back(step);
    many.times_us.push_back(step);
    many.values[0].push_back(step == 0 ? 1ull << 60 : step == 49'999 ? 2 : random() >> 2);
  }
  frame.blocks = {few, many};
  const std::string bytes = encode_frame(frame);
  SegmentBuilder builder(writer);
  EXPECT_TRUE(builder.add(*FrameView::parse(bytes)).ok());
  return *builder.finish();
}

// One whose header and directory have so many bytes.
std::string segment_with_head(uint64_t wanted) {
  std::vector<uint64_t> values(150, 0);
  for (size_t at = 0;;) {
    std::string bytes = segment_of(values, Id128::hash_of("writer"));
    const uint64_t head = *SegmentView::head_bytes(bytes, bytes.size());
    if (head == wanted) return bytes;
    if (head > wanted || values.size() > 1000) return "";
    const uint64_t missing = wanted - head;
    if (missing > 64) {
      values.resize(values.size() + missing / 64, 0);  // a series takes less
    } else {
      // Seven bits more are a byte more.
      for (uint64_t byte = 0; byte < missing; ++byte, ++at) {
        uint64_t& value = values[at / 4];
        value = value == 0 ? 1 << 6 : value << 7;
      }
    }
  }
}

uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  uint64_t value = 0;
  return io >> name >> value && name == "rchar:" ? value : 0;
}

TEST(StoredSegmentTest, OneWithADirectoryAsLongAsTheFirstReadOrLongerOpensWithoutItsColumns) {
  const TempFolder folder;
  const std::string path = folder.path() + "/x.db";
  uint64_t columns = UINT64_MAX;
  {
    auto db = Sqlite::open(path, SqliteOpen::kCreate, 1000);
    ASSERT_TRUE(db.ok() && db->exec("CREATE TABLE segments(first_seq INTEGER PRIMARY KEY, data BLOB)").ok());
    for (const int64_t more : {0, 1}) {
      const std::string bytes = segment_with_head(kSegmentHeadGuess + static_cast<uint64_t>(more));
      ASSERT_FALSE(bytes.empty());
      columns = std::min(columns, bytes.size());
      auto insert = db->prepare("INSERT INTO segments VALUES(?, ?)");
      ASSERT_TRUE(insert->bind(more).bind_blob(bytes).run().ok());
    }
  }
  ASSERT_GT(columns, 300'000u);
  for (const uint64_t more : {0, 1}) {
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    ASSERT_TRUE(db.ok() && db->query_int("SELECT count(*) FROM sqlite_master").ok());
    const uint64_t before = bytes_read();
    auto segment = StoredSegment::open(&*db, more);
    ASSERT_TRUE(segment.ok()) << segment.status().to_string();
    const uint64_t read = before > 0 ? bytes_read() - before : 0;  // pages of the file, and what was read of the counts
    EXPECT_LT(read, 6 * kSegmentHeadGuess);
    EXPECT_EQ((*segment)->view()->blocks().size(), 2u);
    const Status sound = (*segment)->view()->check();
    EXPECT_TRUE(sound.ok()) << sound.to_string();
  }
}

}  // namespace
}  // namespace tracker::internal
