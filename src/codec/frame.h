// SPDX-License-Identifier: MIT
// A frame: the result of one drain of a writer, in columns. A run is its log of frames; databases are their index. The
// same bytes are stored, spilled and uploaded. Format: docs/formats/frame.md. Pure functions on spans; threads: values,
// no sharing.
//
// Encoded columns start with an encoding byte, so that later versions can add encodings without a new frame version:
//   0 plain little-endian, 1 constant, 2 arithmetic sequence (first, stride), 3 delta of zigzag varints
//   (codec/columns.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "model/number.h"
#include "model/records.h"

namespace tracker::internal {

constexpr uint16_t kFrameVersion = 1;
// Limit: bytes of a frame that a reader takes. Beyond it: refused as damaged.
constexpr size_t kFrameBytesMax = 64 * 1024 * 1024;  // the decoder refuses more; the writer makes much smaller frames

// A series of a writer: ids start at 1 and are never reused within the writer. One metric logged as two types is two
// series.
struct SeriesDef {
  uint32_t id = 0;
  ValueType type = ValueType::kFloat64;
  std::string name;
  bool operator==(const SeriesDef&) const = default;
};

// Rows of the same shape: the same series logged together by single calls, in the order of the calls.
struct Block {
  std::vector<uint32_t> series;
  // [series]; stored in the frame, so that each block can be decoded without the definitions
  std::vector<ValueType> types;
  bool has_steps = true;
  std::vector<int64_t> steps;                 // one a row, empty without steps
  std::vector<int64_t> times_us;              // one a row, since 1970, UTC
  std::vector<std::vector<uint64_t>> values;  // [series][row], raw bits (model/number.h)
  // The row's ordinal among all rows of the frame, in the order of the calls. Empty if no other block has a metric of
  // this block: the rows are in the order of the calls then. Times do not give this order: several calls fit into a
  // microsecond.
  std::vector<int64_t> order;
  size_t rows() const { return times_us.size(); }
  bool operator==(const Block&) const = default;
};

struct Event {
  EventType type = EventType::kNote;
  bool has_step = false;
  int64_t step = 0;
  int64_t time_us = 0;
  std::string payload;  // CBOR map, see model/records.h
  bool operator==(const Event&) const = default;
};

// In a loss, these numbers replace the series for what is not a point: texts, and entries (config, summary, attributes,
// definitions, alerts, notes). On disk and in rings: do not change them.
constexpr uint32_t kTextLosses = 0xffffffff;
constexpr uint32_t kEntryLosses = 0xfffffffe;
constexpr bool is_of_points(uint32_t series_of_loss) { return series_of_loss < kEntryLosses; }

// Points, texts or entries that were dropped since the previous frame.
struct Loss {
  uint32_t series = 0;  // 0: not attributable to one series
  LossReason reason = LossReason::kRingFull;
  uint64_t count = 0;
  bool operator==(const Loss&) const = default;
};

// Counts of what was logged.
struct Logged {
  uint64_t points = 0, texts = 0;
  Logged& operator+=(const Logged& other) {
    points += other.points;
    texts += other.texts;
    return *this;
  }
};
std::string counted_text(const Logged& logged);  // "1 point", "30 points and 1 text"

struct Frame {
  Id128 writer;
  uint64_t seq = 0;             // 1, 2, 3, ... within the writer
  std::vector<SeriesDef> defs;  // series used here for the first time
  std::vector<Block> blocks;
  std::vector<Event> events;
  std::vector<Loss> losses;
  uint64_t points() const;  // values in all blocks
  uint64_t texts() const;   // events that are texts
  Logged logged() const { return {points(), texts()}; }
  bool empty() const { return defs.empty() && blocks.empty() && events.empty() && losses.empty(); }
  bool operator==(const Frame&) const = default;
};

// Never fails for a well-formed Frame: columns of equal length, a type a series (where `types` is empty all are
// stored as 8 bytes), under the limits below. Ends with a CRC-32C of all before it.
std::string encode_frame(const Frame& frame);

// Everything decoded. kCorrupt with the offset for bytes that are not one complete, valid frame; kVersion for a newer
// one. Allocates at most a small multiple of bytes.size() plus 8 bytes for each cell that constant and arithmetic
// columns expand to. A frame whose blocks claim more than kFrameRowsMax rows or kFrameCellsMax cells (rows x (series +
// 3)) is refused.
constexpr uint64_t kFrameRowsMax = 8u << 20;
constexpr uint64_t kFrameCellsMax = 32u << 20;
Result<Frame> decode_frame(std::string_view bytes);

// A frame opened for reading single columns: parse() checks the CRC and the directory, columns are decoded on demand.
// Views into `bytes`, which must outlive it. Cost: no allocation for each block, because a frame may have hundreds of
// blocks with one row.
class FrameView {
 public:
  struct BlockView {  // its spans live as long as the FrameView
    std::span<const uint32_t> series;
    std::span<const ValueType> types;
    uint64_t rows = 0;
    bool has_steps = true;
    bool has_order = false;
    std::string_view steps, times, order;      // encoded columns; empty without has_steps, has_order
    std::span<const std::string_view> values;  // one encoded column a series
  };
  FrameView(FrameView&&) noexcept = default;
  FrameView& operator=(FrameView&&) noexcept = default;
  static Result<FrameView> parse(std::string_view bytes, bool check_crc = true);
  const Id128& writer() const { return writer_; }
  uint64_t seq() const { return seq_; }
  std::string_view bytes() const { return bytes_; }  // the whole frame
  const std::vector<SeriesDef>& defs() const { return defs_; }
  const std::vector<BlockView>& blocks() const { return blocks_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Loss>& losses() const { return losses_; }
  uint64_t points() const;                                             // values in all blocks
  bool has_unknown_sections() const { return has_unknown_sections_; }  // of a newer version, which were skipped

  // Append the column to `out` (int64 columns: steps and times; values: raw bits by the type's width). `rows` and
  // `type` are those of the block. kCorrupt, kVersion. After a failure, the content of `out` after its former end is
  // unspecified.
  static Status read_ints(std::string_view column, uint64_t rows, std::vector<int64_t>* out);
  static Status read_values(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out);

 private:
  friend class FrameParser;
  FrameView() = default;
  std::string_view bytes_;
  Id128 writer_;
  uint64_t seq_ = 0;
  std::vector<SeriesDef> defs_;
  std::vector<BlockView> blocks_;
  // Of all blocks, one after the other.
  std::vector<uint32_t> series_;
  std::vector<ValueType> types_;
  std::vector<std::string_view> values_;
  std::vector<Event> events_;
  std::vector<Loss> losses_;
  bool has_unknown_sections_ = false;
};

}  // namespace tracker::internal
