// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/columns.h"
#include "codec/frame_layout.h"
#include "codec/segment.h"
#include "codec/segment_layout.h"
#include "codec/segment_parse.h"
#include "codec/shuffled.h"

namespace tracker::internal {

struct SegmentView::Impl {
  // A part that was read and whose CRC was right.
  struct Loaded {
    uint64_t offset;
    std::string_view bytes;
    bool decoded = false;  // at least partly
  };
  SegmentDirectory directory;
  uint64_t size = 0;
  Source source;
  bool check_crc = true;
  std::vector<Loaded> loaded;  // by offset

  Result<std::string_view> bytes_of(const SegmentPart& part) {
    auto found = load(part);
    if (!found.ok()) return found.status();
    return (*found)->bytes;
  }
  // Valid until the next call.
  Result<Loaded*> load(const SegmentPart& part) {
    const auto at = std::lower_bound(loaded.begin(), loaded.end(), part.offset,
                                     [](const Loaded& a, uint64_t offset) { return a.offset < offset; });
    if (at != loaded.end() && at->offset == part.offset) return &*at;
    auto bytes = source(part.offset, part.size);
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() != part.size)
      return Status(Code::kCorrupt, fmt::format("segment: cut at byte {}", part.offset + bytes->size()));
    const uint32_t actual = check_crc ? crc32c(*bytes) : part.crc;
    if (actual != part.crc)
      return Status(Code::kCorrupt, fmt::format("segment: CRC {:08x} instead of {:08x} of the {} bytes at byte {}",
                                                actual, part.crc, part.size, part.offset));
    return &*loaded.insert(at, {part.offset, *bytes});
  }

  static Status located(const Status& status, const SegmentPart& part) {
    if (status.ok()) return status;
    return Status(status.code(), fmt::format("segment: column at byte {}: {}", part.offset, status.message()));
  }
  Result<bool> by_parts(const SegmentPart& part) {
    auto bytes = bytes_of(part);
    if (!bytes.ok()) return bytes.status();
    return tracker::internal::decodes_by_parts(*bytes);
  }
  Status decode(const SegmentPart& part, uint64_t rows, ValueType type, RowRange range, void* out) {
    auto found = load(part);
    if (!found.ok()) return found.status();
    const Status status = decode_rows((*found)->bytes, rows, type, range, out, (*found)->decoded);
    (*found)->decoded = status.ok();
    return located(status, part);
  }
};

namespace {

// How many rows of `rows` are in a range, and its first row.
RowRange cut(RowRange range, uint64_t rows) {
  range.end = std::min(range.end, rows);
  range.begin = std::min(range.begin, range.end);
  return range;
}

// Returns the bytes after the frame and cuts `bytes` to the size of the frame.
std::string_view bytes_after_frame(std::string_view* bytes) {
  ByteReader head(*bytes);
  head.bytes(kFrameSizeAt);
  const uint32_t size = head.u32();
  if (!head.ok() || size > bytes->size()) return {};  // the frame cannot be parsed
  const std::string_view after = bytes->substr(size);
  *bytes = bytes->substr(0, size);
  return after;
}

// The numbers of the frames that the definitions, events and losses of the log came with.
Status read_seqs(std::string_view numbers, const FrameView& log, uint64_t first, uint64_t last, SegmentLog* out) {
  ByteReader in(numbers);
  const std::pair<size_t, std::vector<uint64_t>*> lists[] = {{log.defs().size(), &out->def_seqs},
                                                             {log.events().size(), &out->event_seqs},
                                                             {log.losses().size(), &out->loss_seqs}};
  for (const auto& [count, seqs] : lists) {
    uint64_t seq = first;
    for (size_t i = 0; i < count && in.ok(); ++i) {
      const uint64_t more = in.varint();
      if (more > last - seq) return Status(Code::kCorrupt, "an entry of a frame that the segment does not hold");
      seqs->push_back(seq += more);
    }
  }
  return in.ok() && in.at_end() ? Status() : Status(Code::kCorrupt, "the frames of its entries are cut, or too many");
}

template <typename Word>
void widen(const std::vector<char>& values, uint64_t* out) {
  for (size_t i = 0; i < values.size() / sizeof(Word); ++i) {
    Word word;
    std::memcpy(&word, values.data() + i * sizeof word, sizeof word);
    out[i] = word;
  }
}

}  // namespace

SegmentView::SegmentView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SegmentView::SegmentView(SegmentView&&) noexcept = default;
SegmentView& SegmentView::operator=(SegmentView&&) noexcept = default;
SegmentView::~SegmentView() = default;

Result<SegmentView> SegmentView::parse(std::string_view bytes, bool check_crc) {
  const auto source = [bytes](uint64_t offset, uint64_t size) -> Result<std::string_view> {
    return bytes.substr(offset, size);
  };
  return open(bytes, bytes.size(), source, check_crc);
}

Result<uint64_t> SegmentView::head_bytes(std::string_view first, uint64_t size) {
  return segment_head_bytes(first, size);
}

Result<SegmentView> SegmentView::open(std::string_view head, uint64_t size, Source source, bool check_crc) {
  auto directory = parse_segment(head, size, check_crc);
  if (!directory.ok()) return directory.status();
  auto impl = std::make_unique<Impl>();
  impl->directory = std::move(*directory);
  impl->size = size;
  impl->source = std::move(source);
  impl->check_crc = check_crc;
  return SegmentView(std::move(impl));
}

Result<std::string_view> SegmentView::bytes() const { return impl_->source(0, impl_->size); }
const Id128& SegmentView::writer() const { return impl_->directory.writer; }
uint64_t SegmentView::first_seq() const { return impl_->directory.first_seq; }
uint64_t SegmentView::last_seq() const { return impl_->directory.last_seq; }
uint64_t SegmentView::frames() const { return impl_->directory.frames; }
uint64_t SegmentView::points() const { return impl_->directory.points; }
int64_t SegmentView::time_first_us() const { return impl_->directory.time_first_us; }
int64_t SegmentView::time_last_us() const { return impl_->directory.time_last_us; }
const std::vector<SegmentBlock>& SegmentView::blocks() const { return impl_->directory.blocks; }

Status SegmentView::frame_table(std::vector<SegmentFrame>* out) {
  const SegmentDirectory& of = impl_->directory;
  const auto wrong = [&of](std::string_view what) {
    return Status(Code::kCorrupt, fmt::format("segment: table of frames at byte {}: {}", of.frame_rows.offset, what));
  };
  std::vector<uint64_t> numbers(of.frames), rows(of.frames);
  if (of.frame_numbers.size == 0) std::iota(numbers.begin(), numbers.end(), of.first_seq);
  else TRACKER_RETURN_IF_ERROR(impl_->decode(of.frame_numbers, of.frames, ValueType::kInt64, {}, numbers.data()));
  TRACKER_RETURN_IF_ERROR(impl_->decode(of.frame_rows, of.frames, ValueType::kInt64, {}, rows.data()));
  if (numbers.front() != of.first_seq || numbers.back() != of.last_seq ||
      std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) != numbers.end())
    return wrong(fmt::format("the numbers do not rise from {} to {}", of.first_seq, of.last_seq));
  uint64_t left = of.rows;
  for (uint64_t i = 0; i < of.frames; ++i) {
    if (rows[i] > left) return wrong("more rows than the blocks have");
    left -= rows[i];
    out->push_back({numbers[i], rows[i]});
  }
  return left == 0 ? Status() : wrong(fmt::format("{} rows of the blocks are in no frame", left));
}

Status SegmentView::steps(size_t block, RowRange rows, int64_t* out) {
  const SegmentBlock& of = blocks()[block];
  if (!of.has_steps) return Status(Code::kInvalid, "segment: these rows have no steps");
  return impl_->decode(impl_->directory.parts[block].steps, of.rows, ValueType::kInt64, rows, out);
}

Status SegmentView::times(size_t block, RowRange rows, int64_t* out) {
  return impl_->decode(impl_->directory.parts[block].times, blocks()[block].rows, ValueType::kInt64, rows, out);
}

Status SegmentView::order(size_t block, RowRange rows, uint64_t* out) {
  const SegmentBlock& of = blocks()[block];
  if (of.has_order) return impl_->decode(impl_->directory.parts[block].order, of.rows, ValueType::kInt64, rows, out);
  const RowRange range = cut(rows, of.rows);
  std::iota(out, out + (range.end - range.begin), range.begin);
  return {};
}

Result<bool> SegmentView::steps_decode_by_parts(size_t block) {
  if (!blocks()[block].has_steps) return true;
  return impl_->by_parts(impl_->directory.parts[block].steps);
}

Result<bool> SegmentView::decodes_by_parts(size_t block, size_t series) {
  const Result<bool> steps = steps_decode_by_parts(block);
  return steps.ok() && *steps ? impl_->by_parts(impl_->directory.parts[block].values[series]) : steps;
}

Status SegmentView::values(size_t block, size_t series, RowRange rows, void* out) {
  const SegmentBlock& of = blocks()[block];
  return impl_->decode(impl_->directory.parts[block].values[series], of.rows, of.types[series], rows, out);
}

Status SegmentView::value_bits(size_t block, size_t series, RowRange rows, uint64_t* out) {
  const size_t width = value_width(blocks()[block].types[series]);
  if (width == 8) return values(block, series, rows, out);
  const RowRange range = cut(rows, blocks()[block].rows);
  std::vector<char> narrow((range.end - range.begin) * width);
  TRACKER_RETURN_IF_ERROR(values(block, series, range, narrow.data()));
  if (width == 4) widen<uint32_t>(narrow, out);
  if (width == 2) widen<uint16_t>(narrow, out);
  if (width == 1) widen<uint8_t>(narrow, out);
  return {};
}

Status SegmentView::log(SegmentLog* out) {
  const SegmentPart& part = impl_->directory.log;
  if (part.size == 0) return {};
  auto bytes = impl_->bytes_of(part);
  if (!bytes.ok()) return bytes.status();
  std::string plain;
  std::string_view frame_bytes = bytes->substr(1);
  if ((*bytes)[0] == kLogCompressed) {
    ByteReader in(frame_bytes);
    const uint64_t size = in.varint();
    if (!in.ok() || size > kSegmentLogBytesMax)
      return Status(Code::kCorrupt, fmt::format("segment: log of a wrong size at byte {}", part.offset + 1));
    TRACKER_RETURN_IF_ERROR(Impl::located(decompress(frame_bytes.substr(in.offset()), size, &plain), part));
    frame_bytes = plain;
  } else if ((*bytes)[0] != kLogPlain) {
    return Status(Code::kVersion, fmt::format("segment: log encoding {} is of a newer version", (*bytes)[0]));
  }
  const std::string_view numbers = bytes_after_frame(&frame_bytes);
  auto frame = FrameView::parse(frame_bytes, impl_->check_crc);
  if (!frame.ok()) return Impl::located(frame.status(), part);
  TRACKER_RETURN_IF_ERROR(Impl::located(read_seqs(numbers, *frame, first_seq(), last_seq(), out), part));
  out->defs = frame->defs();
  out->events = frame->events();
  out->losses = frame->losses();
  return {};
}

}  // namespace tracker::internal
