// SPDX-License-Identifier: MIT
// A segment: what adjacent frames of one writer held, rearranged for reading. It covers [first_seq, last_seq] and
// replaces exactly those frames: their definitions, events, losses and rows are all in it, and which frame each came
// with, so that a segment can be cut after any frame (cut_segment.h). Rows of one shape are in one block; a directory
// in front holds a summary of each series. Format: docs/formats/segment.md. Pure functions on spans.
//
// Raw order: the order in which "all rows" of a series are read. Frames by sequence; within a frame the rows of its
// blocks by their order columns (frame.h), where an ordinal that is less than one before it in its own block counts as
// that one; without an order column a row's number takes its place. Equal ones by the order of the blocks.
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
constexpr size_t kSegmentHeaderBytes = 52;  // enough to know how long the directory is
// Limit: bytes of a segment that a reader takes. Beyond it: refused as damaged.
constexpr size_t kSegmentBytesMax = 64 * 1024 * 1024;  // the decoder refuses more; the store cuts far below
constexpr uint64_t kSegmentRowsMax = 8u << 20;         // of all blocks
constexpr uint64_t kSegmentCellsMax = 40u << 20;       // rows x (series + 3), of all blocks; any frame fits
constexpr uint64_t kSegmentFramesMax = 1u << 20;
constexpr size_t kSegmentBuildBytesMax = 16 * 1024 * 1024;  // what a builder holds by default
constexpr size_t kSegmentFirstBytesMax = 64 * 1024 * 1024;  // for a single frame or segment it may be more
constexpr size_t kSegmentColumnBytes = 64;                  // counted for a series of a shape beside its values
constexpr size_t kSegmentRepeatBytes = 512;                 // and for each time that a block names a series again
constexpr size_t kSegmentLogBytesMax = kSegmentBytesMax;    // definitions, events and losses, uncompressed

// Steps of a block, the first and the last one.
struct StepSummary {
  int64_t min = 0, max = 0;
  bool operator==(const StepSummary&) const = default;
};

// What the directory says of a block, without touching a column.
struct SegmentBlock {
  uint64_t rows = 0;
  bool has_steps = false;       // then the rows are sorted by step
  bool steps_increase = false;  // each step is greater than the one before: no two rows of one step in this block
  bool has_order = false;       // the segment has other blocks, or the rows were sorted
  StepSummary steps;            // valid with has_steps and rows > 0
  int64_t time_min_us = 0, time_max_us = 0;  // valid when rows > 0
  std::vector<uint32_t> series;              // each id once
  std::vector<ValueType> types;
  std::vector<ValueSummary> summaries;
};

// A frame that the segment replaces.
struct SegmentFrame {
  uint64_t seq = 0;
  uint64_t rows = 0;  // in all blocks; a frame's rows follow those of the frame before in raw order
  bool operator==(const SegmentFrame&) const = default;
};

// Everything but the rows, in the order of the frames; the numbers are those of the frames.
struct SegmentLog {
  std::vector<SeriesDef> defs;
  std::vector<Event> events;
  std::vector<Loss> losses;
  std::vector<uint64_t> def_seqs, event_seqs, loss_seqs;  // of each definition, event and loss
};

// Columns of a segment as they are decoded; the spans live during the call only.
class SegmentVisitor {
 public:
  virtual ~SegmentVisitor() = default;
  // Of a block with rows, in the order of blocks(): `steps` is empty without them, `order` as SegmentView::order().
  virtual void block(size_t block, std::span<const int64_t> steps, std::span<const int64_t> times,
                     std::span<const uint64_t> order) = 0;
  // Behind it each of its series, in their order: raw bits in 8 bytes each.
  virtual void series(size_t block, size_t series, std::span<const uint64_t> bits) = 0;
};

// A segment open for reading. Opening checks header and directory (their CRC); each column is checked against its own
// CRC when it is first used. Failures: kCorrupt with the offset in the segment, kVersion for what is newer, and what
// the source of the bytes answered. Threads: one at a time; views are cheap to open. Memory: the directory, at most a
// small multiple of its bytes; columns decode into the caller's memory.
class SegmentView {
 public:
  // Bytes [offset, offset + size) of the segment; they must live as long as the view. For reads of parts of a segment.
  using Source = std::function<Result<std::string_view>(uint64_t offset, uint64_t size)>;

  // The whole segment in memory; the bytes must outlive the view. Without check_crc no CRC is looked at: for tests.
  static Result<SegmentView> parse(std::string_view bytes, bool check_crc = true);
  // Part by part: head_bytes() says from the first kSegmentHeaderBytes how many bytes `head` must have; `size` is that
  // of the segment as stored. `head` is needed only during the call.
  static Result<uint64_t> head_bytes(std::string_view first, uint64_t size);
  static Result<SegmentView> open(std::string_view head, uint64_t size, Source source, bool check_crc = true);
  SegmentView(SegmentView&&) noexcept;
  SegmentView& operator=(SegmentView&&) noexcept;
  ~SegmentView();

  // The whole segment as stored; only the CRC of header and directory has been checked.
  Result<std::string_view> bytes() const;
  const Id128& writer() const;
  uint64_t first_seq() const;
  uint64_t last_seq() const;
  uint64_t frames() const;  // how many it replaces; sequence numbers may have gaps
  // The frames that it replaces, in order. kCorrupt: damaged, or not the frames of this range and these rows.
  Status frame_table(std::vector<SegmentFrame>* out);
  uint64_t points() const;
  // Over rows and events, as of a frame; both 0 when there are none.
  int64_t time_first_us() const;
  int64_t time_last_us() const;
  // In no particular order. A series may be in several of them.
  const std::vector<SegmentBlock>& blocks() const;

  // Columns of a block, row by row into the caller's memory (as many elements as the range has after it was cut).
  // Packed columns are decoded by mini-blocks: a range costs what its mini-blocks cost, and a look at the lengths of
  // those before. Columns under zstd and varint deltas are decoded from their start each time: ask for the whole.
  Status steps(size_t block, RowRange rows, int64_t* out);
  Status times(size_t block, RowRange rows, int64_t* out);
  // Ordinals in the raw order of the segment: over all blocks each number below its rows once. Without has_order: row
  // numbers, for the rows are in raw order and there is no other block.
  Status order(size_t block, RowRange rows, uint64_t* out);
  // Whether the steps are a column of the first sort. Fetches them; so does the next one, with the values of a series.
  Result<bool> steps_decode_by_parts(size_t block);
  Result<bool> decodes_by_parts(size_t block, size_t series);
  // `series` is a position in SegmentBlock::series. values(): in the type's own width (float, double, int64_t, ...);
  // value_bits(): raw bits in 8 bytes each.
  Status values(size_t block, size_t series, RowRange rows, void* out);
  Status value_bits(size_t block, size_t series, RowRange rows, uint64_t* out);

  Status log(SegmentLog* out);
  // Every column decoded, once, and compared with its summary, the log with the table of frames: what `verify` runs.
  Status check(SegmentVisitor* visitor = nullptr);

 private:
  friend class SegmentParser;
  struct Impl;
  explicit SegmentView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// As SegmentView has them.
struct SegmentTimes {
  int64_t first_us = 0, last_us = 0;
};

// Gathers frames, or older segments, in sequence and writes them as one segment. Threads: one at a time. Memory: the
// rows at their own width and kSegmentColumnBytes a column, at most `bytes_max` but for what is added first; and the
// segment while finish() runs.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(const Id128& writer, size_t bytes_max = kSegmentBuildBytesMax);
  ~SegmentBuilder();
  SegmentBuilder(const SegmentBuilder&) = delete;
  SegmentBuilder& operator=(const SegmentBuilder&) = delete;

  // kInvalid: of another writer, or not behind what was added before. kLimit: would not fit; finish() and add it to the
  // next one; where it does not fit into an empty one either, it stays what it is. kVersion: holds what this version
  // cannot keep; it stays a frame. kCorrupt as decode_frame. After a failure the builder is as before.
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
