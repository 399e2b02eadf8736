// SPDX-License-Identifier: MIT
// A segment: the content of adjacent frames of one writer, rearranged for reading. It covers [first_seq, last_seq] and
// replaces exactly those frames: it has their definitions, events, losses and rows, and for each the frame that it came
// with, so that a segment can be cut after any frame (cut_segment.h). Rows of one shape are in one block; a directory
// at the start holds a summary of each series. Format: docs/formats/segment.md. Pure functions on spans.
//
// Raw order: the order in which "all rows" of a series are read. Frames by sequence; within a frame, rows by the order
// column of their block (frame.h), where an ordinal that is less than an earlier one of its block counts as that
// earlier one. Without an order column the row's number is its ordinal. Rows with equal ordinals are in the order of
// the blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "codec/frame.h"
#include "codec/packed.h"
#include "codec/value_summary.h"
#include "model/number.h"

namespace tracker::internal {

constexpr uint16_t kSegmentVersion = 1;
constexpr size_t kSegmentHeaderBytes = 52;  // enough to compute the length of the directory
// the decoder refuses more; the store makes much smaller segments
// Limit: bytes of a segment that a reader takes. Beyond it: refused as damaged.
constexpr size_t kSegmentBytesMax = 64 * 1024 * 1024;
constexpr uint64_t kSegmentRowsMax = 8u << 20;    // of all blocks
constexpr uint64_t kSegmentCellsMax = 40u << 20;  // rows x (series + 3), over all blocks; any frame is within it
constexpr uint64_t kSegmentFramesMax = 1u << 20;
constexpr size_t kSegmentBuildBytesMax = 16 * 1024 * 1024;  // the default limit of a builder's memory
constexpr size_t kSegmentFirstBytesMax = 64 * 1024 * 1024;  // the limit for a single frame or segment
constexpr size_t kSegmentColumnBytes = 64;   // counted for each series of a shape, in addition to its values
constexpr size_t kSegmentRepeatBytes = 512;  // and for each repetition of a series in a block
constexpr size_t kSegmentLogBytesMax = kSegmentBytesMax;  // definitions, events and losses, uncompressed

// The steps of the first and the last row of a block.
struct StepSummary {
  int64_t min = 0, max = 0;
  bool operator==(const StepSummary&) const = default;
};

// The directory's summary of a block; no column is read.
struct SegmentBlock {
  uint64_t rows = 0;
  bool has_steps = false;  // then the rows are sorted by step
  // each step is greater than the previous one: no two rows of this block have the same step
  bool steps_increase = false;
  bool has_order = false;                    // the segment has other blocks, or the rows were sorted
  StepSummary steps;                         // valid with has_steps and rows > 0
  int64_t time_min_us = 0, time_max_us = 0;  // valid when rows > 0
  std::vector<uint32_t> series;              // each id once
  std::vector<ValueType> types;
  std::vector<ValueSummary> summaries;
};

// A frame that the segment replaces.
struct SegmentFrame {
  uint64_t seq = 0;
  uint64_t rows = 0;  // in all blocks; in raw order, a frame's rows follow those of the previous frame
  bool operator==(const SegmentFrame&) const = default;
};

// Everything except the rows, in the order of the frames; the numbers are those of the frames.
struct SegmentLog {
  std::vector<SeriesDef> defs;
  std::vector<Event> events;
  std::vector<Loss> losses;
  std::vector<uint64_t> def_seqs, event_seqs, loss_seqs;  // of each definition, event and loss
};

// Receives the columns of a segment as they are decoded; the spans are valid during the call only.
class SegmentVisitor {
 public:
  virtual ~SegmentVisitor() = default;
  // For each block with rows, in the order of blocks(): `steps` is empty without them, `order` as SegmentView::order().
  virtual void block(size_t block, std::span<const int64_t> steps, std::span<const int64_t> times,
                     std::span<const uint64_t> order) = 0;
  // After block(): each of its series, in their order, as raw bits in 8 bytes each.
  virtual void series(size_t block, size_t series, std::span<const uint64_t> bits) = 0;
};

// A segment open for reading. Opening checks header and directory (their CRC); each column is checked against its own
// CRC when it is first used. Failures: kCorrupt with the offset in the segment, kVersion for a newer format, and errors
// of the source of the bytes. Threads: one at a time; views are cheap to open. Memory: the directory, at most a small
// multiple of its bytes; columns are decoded into the caller's memory.
class SegmentView {
 public:
  // Returns bytes [offset, offset + size) of the segment, which must live as long as the view. For reading parts of a
  // segment.
  using Source = std::function<Result<std::string_view>(uint64_t offset, uint64_t size)>;

  // The whole segment in memory; the bytes must outlive the view. check_crc false checks no CRC: for tests.
  static Result<SegmentView> parse(std::string_view bytes, bool check_crc = true);
  // In parts: head_bytes() computes from the first kSegmentHeaderBytes how many bytes `head` must have; `size` is that
  // of the segment as stored. `head` is needed during the call only.
  static Result<uint64_t> head_bytes(std::string_view first, uint64_t size);
  static Result<SegmentView> open(std::string_view head, uint64_t size, Source source, bool check_crc = true);
  SegmentView(SegmentView&&) noexcept;
  SegmentView& operator=(SegmentView&&) noexcept;
  ~SegmentView();

  // The whole segment as stored; only the CRC of header and directory is checked.
  Result<std::string_view> bytes() const;
  const Id128& writer() const;
  uint64_t first_seq() const;
  uint64_t last_seq() const;
  uint64_t frames() const;  // how many frames it replaces; sequence numbers may have gaps
  // The frames that it replaces, in order. kCorrupt: damaged, or the table contradicts the range or the rows.
  Status frame_table(std::vector<SegmentFrame>* out);
  uint64_t points() const;
  // Over rows and events, as in a frame; both 0 if there are none.
  int64_t time_first_us() const;
  int64_t time_last_us() const;
  // In no particular order. A series may be in several of them.
  const std::vector<SegmentBlock>& blocks() const;

  // Columns of a block, row by row into the caller's memory (as many elements as the range has within the block).
  // Packed columns are decoded by mini-blocks: the cost is that of the range's mini-blocks, plus reading the lengths of
  // those before. Columns under zstd and varint deltas are decoded from their start each time: read them whole.
  Status steps(size_t block, RowRange rows, int64_t* out);
  Status times(size_t block, RowRange rows, int64_t* out);
  // Ordinals in the raw order of the segment: over all blocks, each number below its rows occurs once. Without
  // has_order: row numbers, because the rows are in raw order and there is no other block.
  Status order(size_t block, RowRange rows, uint64_t* out);
  // Whether the steps are a packed column. Reads the column; the next function does too, for the values of a series.
  Result<bool> steps_decode_by_parts(size_t block);
  Result<bool> decodes_by_parts(size_t block, size_t series);
  // `series` is a position in SegmentBlock::series. values(): in the type's own width (float, double, int64_t, ...);
  // value_bits(): raw bits in 8 bytes each.
  Status values(size_t block, size_t series, RowRange rows, void* out);
  Status value_bits(size_t block, size_t series, RowRange rows, uint64_t* out);

  Status log(SegmentLog* out);
  // Decodes every column once and compares it with its summary, and the log with the table of frames; `verify` calls
  // it.
  Status check(SegmentVisitor* visitor = nullptr);

 private:
  friend class SegmentParser;
  struct Impl;
  explicit SegmentView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// As in SegmentView.
struct SegmentTimes {
  int64_t first_us = 0, last_us = 0;
};

// Gathers frames, or older segments, in sequence and writes them as one segment. Threads: one at a time. Memory: the
// rows at their own width and kSegmentColumnBytes for each column, at most `bytes_max` except for the first frame or
// segment; and the segment while finish() runs.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(const Id128& writer, size_t bytes_max = kSegmentBuildBytesMax);
  ~SegmentBuilder();
  SegmentBuilder(const SegmentBuilder&) = delete;
  SegmentBuilder& operator=(const SegmentBuilder&) = delete;

  // kInvalid: of another writer, or its numbers do not follow those added before. kLimit: no room; call finish() and
  // add it to the next segment. If an empty builder has no room either, keep it as it is. kVersion: this version cannot
  // represent its content in a segment; keep the frame. kCorrupt as decode_frame. After a failure the builder is
  // unchanged.
  Status add(const FrameView& frame);
  Status add(SegmentView* segment);

  bool empty() const;  // nothing was added
  uint64_t first_seq() const;
  uint64_t last_seq() const;
  uint64_t points() const;
  uint64_t rows() const;  // no series has more of them
  size_t bytes() const;   // held now
  // The segment; the builder is empty afterwards. kLimit when it would be larger than kSegmentBytesMax.
  Result<std::string> finish(SegmentTimes* times = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
