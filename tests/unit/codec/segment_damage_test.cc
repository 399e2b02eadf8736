// SPDX-License-Identifier: MIT
// A segment of arbitrary bytes: it is refused with an error that names an offset, or returns what its encoder was
// given; never a crash, never memory that the bytes do not justify. Method: every truncation, every byte changed,
// random bytes with repaired CRCs, hostile counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/columns.h"
#include "codec/segment_layout.h"
#include "codec/segment_parse.h"
#include "support/child.h"
#include "support/segment_model.h"

namespace tracker::internal {
namespace {

std::string small_segment(std::mt19937_64& random) {
  RandomLog log(&random);
  return segment_of(log.frames(3, 30));
}

// Reads everything.
Status read_all(std::string_view bytes, ModelRows* rows) {
  auto view = SegmentView::parse(bytes);
  if (!view.ok()) return view.status();
  TRACKER_RETURN_IF_ERROR(view->check());
  if (rows != nullptr) *rows = rows_of(&*view);
  return {};
}

void repair_directory(std::string* bytes) {
  uint32_t size;
  std::memcpy(&size, bytes->data() + kSegmentDirectoryBytesAt, 4);
  if (kSegmentHeaderBytes + size > bytes->size()) return;
  const std::string_view all = *bytes;
  const uint32_t crc = crc32c(all.substr(kSegmentHeaderBytes, size), crc32c(all.substr(0, kSegmentCrcAt)));
  std::memcpy(bytes->data() + kSegmentCrcAt, &crc, 4);
}

// The table of a single frame with so many rows: its entry in the directory, and its part.
std::string put_table(uint64_t rows, ByteWriter* directory) {
  ByteWriter column;
  column.u8(static_cast<uint8_t>(ColumnEncoding::kConstant));
  column.u64(rows);
  directory->varint(0);  // no number is missing
  directory->varint(column.size());
  directory->u32(crc32c(column.buffer()));
  return column.take();
}

// A segment with this directory and these parts, valid except for their content.
std::string segment_with(const std::string& directory, const std::string& parts = "") {
  ByteWriter out;
  out.bytes(kSegmentMagic);
  out.u16(1);
  out.u16(0);
  out.u32(static_cast<uint32_t>(kSegmentHeaderBytes + directory.size() + parts.size()));
  out.bytes(std::string(16, 'w'));
  out.u64(1);
  out.u64(1);
  out.u32(static_cast<uint32_t>(directory.size()));
  out.u32(0);
  out.bytes(directory);
  out.bytes(parts);
  std::string bytes = out.take();
  repair_directory(&bytes);
  return bytes;
}

TEST(SegmentDamageTest, AHeaderOfMoreThanTheLimitIsRefusedBeforeAnythingIsRead) {
  const auto message = [](uint64_t bytes) {
    ByteWriter head;
    head.bytes(kSegmentMagic);
    head.u16(1);
    head.u16(0);
    head.u32(static_cast<uint32_t>(bytes));
    head.bytes(std::string(kSegmentHeaderBytes - head.size(), '\0'));
    const auto found = segment_head_bytes(head.take(), bytes);
    return found.ok() ? "" : found.status().message();
  };
  EXPECT_EQ(message(kSegmentBytesMax), "");
  EXPECT_NE(message(kSegmentBytesMax + 1).find("larger than a segment may be"), std::string::npos);
}

TEST(SegmentDamageTest, EveryTruncationIsRefused) {
  auto random = seeded_random();
  const std::string whole = small_segment(random);
  for (size_t size = 0; size < whole.size(); ++size) {
    const Status status = read_all(std::string_view(whole).substr(0, size), nullptr);
    ASSERT_EQ(status.code(), Code::kCorrupt) << size;
    ASSERT_NE(status.message().find("at byte"), std::string::npos) << status.message();
  }
}

TEST(SegmentDamageTest, EveryChangedByteIsNoticed) {
  auto random = seeded_random();
  const std::string whole = small_segment(random);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
    ASSERT_FALSE(read_all(bytes, nullptr).ok()) << "byte " << at;
  }
}

TEST(SegmentDamageTest, AChangedDirectoryWithARepairedCrcNeverCrashes) {
  auto random = seeded_random();
  std::string whole = small_segment(random);
  for (int round = 0; round < 30'000 / kSlowDown; ++round) {
    if (round % 100 == 0) whole = small_segment(random);
    std::string bytes = whole;
    uint32_t directory;
    std::memcpy(&directory, bytes.data() + kSegmentDirectoryBytesAt, 4);
    for (size_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[kSegmentHeaderBytes + random() % directory] = static_cast<char>(random());
    repair_directory(&bytes);
    auto view = SegmentView::parse(bytes);
    if (!view.ok()) continue;
    uint64_t rows = 0;
    for (const SegmentBlock& block : view->blocks()) rows += block.rows * (block.series.size() + 3);
    if (rows < 100'000) (void)view->check();
  }
}

// A view does not check again what it has decoded once; what failed must fail again.
TEST(SegmentDamageTest, ADamagedColumnIsRefusedEachTimeItIsRead) {
  auto random = seeded_random();
  constexpr size_t kHeadMax = 24;  // of a packed column; its entries follow
  std::string bytes;
  std::vector<std::pair<size_t, size_t>> damaged;
  for (int round = 0; round < 100 && damaged.empty(); ++round) {
    RandomLog log(&random);
    bytes = segment_of(log.frames(3, 1500));
    const auto directory = parse_segment(bytes, bytes.size());
    ASSERT_TRUE(directory.ok());
    for (size_t b = 0; b < directory->parts.size(); ++b) {
      for (size_t i = 0; i < directory->parts[b].values.size(); ++i) {
        const SegmentPart& part = directory->parts[b].values[i];
        const auto encoding = static_cast<ColumnEncoding>(bytes[part.offset]);
        const bool packed = encoding == ColumnEncoding::kPacked || encoding == ColumnEncoding::kPackedDeltas;
        if (!packed || part.size <= kHeadMax) continue;
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(part.offset + kHeadMax),
                  bytes.begin() + static_cast<std::ptrdiff_t>(part.offset + part.size), '\xff');
        // In a short column all entries may be within its head: then numbers are overwritten, and any number is valid.
        const SegmentBlock& block = directory->blocks[b];
        const std::string_view column = std::string_view(bytes).substr(part.offset, part.size);
        uint64_t value = 0;
        if (!decode_rows(column, block.rows, block.types[i], {0, 1}, &value).ok()) damaged.emplace_back(b, i);
      }
    }
  }
  ASSERT_FALSE(damaged.empty());
  auto view = SegmentView::parse(bytes, /*check_crc=*/false);
  ASSERT_TRUE(view.ok());
  for (const auto& [block, series] : damaged) {
    uint64_t value = 0;
    for (int time = 1; time <= 3; ++time)
      ASSERT_EQ(view->values(block, series, {0, 1}, &value).code(), Code::kCorrupt) << "time " << time;
  }
}

TEST(SegmentDamageTest, HostileCountsTakeNoMemory) {
  ByteWriter directory;
  directory.varint(1);  // frames
  directory.zigzag(0);
  directory.varint(0);
  directory.varint(0);  // no log
  const std::string table = put_table(0, &directory);
  directory.varint(~0ull);  // blocks
  EXPECT_EQ(read_all(segment_with(directory.take(), table), nullptr).code(), Code::kCorrupt);
}

// A block of so many rows whose series are constants: two bytes a series for any number of rows.
std::string constant_block(uint64_t rows, uint64_t series) {
  const std::string column("\x01\x00", 2);
  const std::string times("\x01\0\0\0\0\0\0\0\0", 9);
  ByteWriter directory;
  directory.varint(1);
  directory.zigzag(0);
  directory.varint(0);
  directory.varint(0);
  const std::string table = put_table(rows, &directory);
  directory.varint(1);
  directory.varint(rows);
  directory.u8(0);
  directory.varint(0);
  directory.varint(0);
  directory.varint(times.size());
  directory.u32(crc32c(times));
  directory.varint(series);
  std::string parts = table + times;
  for (uint64_t i = 0; i < series; ++i) {
    directory.varint(1);
    directory.u8(static_cast<uint8_t>(ValueType::kBool));
    directory.u8(kAllTheSame);
    directory.u8(0);
    directory.u64(0);
    directory.varint(column.size());
    directory.u32(crc32c(column));
    parts += column;
  }
  return segment_with(directory.take(), parts);
}

TEST(SegmentDamageTest, BytesThatNoPartNamesAreRefused) {
  std::string bytes = constant_block(10, 1) + "x";
  const auto size = static_cast<uint32_t>(bytes.size());
  std::memcpy(bytes.data() + kSegmentSizeAt, &size, 4);
  repair_directory(&bytes);
  EXPECT_EQ(read_all(bytes, nullptr).code(), Code::kCorrupt);
}

TEST(SegmentDamageTest, TooManyRowsOrCellsAreRefused) {
  EXPECT_TRUE(read_all(constant_block(5'000, 3), nullptr).ok());
  EXPECT_NE(read_all(constant_block(kSegmentRowsMax + 1, 1), nullptr).message().find("too many rows"),
            std::string::npos);
  EXPECT_NE(read_all(constant_block(kSegmentRowsMax, 10), nullptr).message().find("too many cells"), std::string::npos);
}

TEST(SegmentDamageTest, AsManyCellsAsTheLimitSaysAreTakenAndOneRowMoreIsNot) {
  constexpr uint64_t kSeries = 5, kRows = kSegmentCellsMax / (kSeries + 3);
  static_assert(kRows * (kSeries + 3) == kSegmentCellsMax && kRows < kSegmentRowsMax);
  const std::string most = constant_block(kRows, kSeries);
  EXPECT_TRUE(SegmentView::parse(most).ok());
  EXPECT_NE(read_all(constant_block(kRows + 1, kSeries), nullptr).message().find("too many cells"), std::string::npos);
}

// So that every segment that it writes can be read.
TEST(SegmentDamageTest, ABuilderTakesAsManyCellsAsADecoder) {
  constexpr uint64_t kSeries = 1000, kRows = kSegmentCellsMax / (kSeries + 3);
  constexpr uint64_t kRowsMore = kSegmentCellsMax % (kSeries + 3) / (1 + 3);
  const std::string wide = constant_block(kRows, kSeries);
  auto view = SegmentView::parse(wide);
  ASSERT_TRUE(view.ok());
  SegmentBuilder builder(view->writer(), kSegmentFirstBytesMax);
  ASSERT_TRUE(builder.add(&*view).ok());
  const auto add = [&](uint64_t rows) {
    Frame frame;
    frame.writer = view->writer();
    frame.seq = 2;
    Block block;
    block.series = {1};
    block.types = {ValueType::kBool};
    block.has_steps = false;
    block.times_us.assign(rows, 0);
    block.values.emplace_back(rows);
    frame.blocks.push_back(std::move(block));
    const std::string bytes = encode_frame(frame);
    return builder.add(*FrameView::parse(bytes)).code();
  };
  ASSERT_LT(builder.bytes(), kSegmentFirstBytesMax * 3 / 4) << "it is not full of bytes";
  EXPECT_EQ(add(kRowsMore + 1), Code::kLimit);
  EXPECT_EQ(add(kRowsMore), Code::kOk);
}

TEST(SegmentDamageTest, ALogThatWouldExpandBeyondTheLimitIsRefusedBeforeItTakesMemory) {
  const auto message = [](uint64_t bytes) {
    ByteWriter log;
    log.u8(kLogCompressed);
    log.varint(bytes);
    log.bytes("no frame of zstd");
    const std::string part = log.take();
    ByteWriter directory;
    directory.varint(1);  // frames
    directory.zigzag(0);
    directory.varint(0);
    directory.varint(part.size());
    directory.u32(crc32c(part));
    const std::string table = put_table(0, &directory);
    directory.varint(0);  // blocks
    const std::string segment = segment_with(directory.take(), part + table);
    SegmentLog out;
    auto view = SegmentView::parse(segment);
    return view.ok() ? view->log(&out).message() : "";
  };
  EXPECT_NE(message(kSegmentLogBytesMax).find("zstd frame of another size"), std::string::npos);
  EXPECT_NE(message(kSegmentLogBytesMax + 1).find("log of a wrong size"), std::string::npos);
}

TEST(SegmentDamageTest, ANewerVersionIsNamedAsSuch) {
  std::string bytes = constant_block(10, 1);
  bytes[4] = 2;
  repair_directory(&bytes);
  EXPECT_EQ(read_all(bytes, nullptr).code(), Code::kVersion);
  bytes[4] = 1;
  bytes[6] = 1;
  repair_directory(&bytes);
  EXPECT_EQ(read_all(bytes, nullptr).code(), Code::kVersion);
}

}  // namespace
}  // namespace tracker::internal
