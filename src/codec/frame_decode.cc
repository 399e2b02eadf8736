// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/columns.h"
#include "codec/frame.h"
#include "codec/frame_layout.h"

namespace tracker::internal {
namespace {

Status corrupt_at(size_t offset, std::string_view what) {
  return Status(Code::kCorrupt, fmt::format("frame: {} at byte {}", what, offset));
}
Status newer(std::string_view what, uint64_t number) {
  return Status(Code::kVersion, fmt::format("frame: {} {} is of a newer version", what, number));
}

}  // namespace

// Reads the sections between header and CRC. Every count is checked against the remaining bytes before it is used.
class FrameParser {
 public:
  FrameParser(std::string_view body, FrameView* view) : in_(body), view_(view) {}

  Status run() {
    in_.bytes(kFrameHeaderBytes);
    while (in_.ok() && !in_.at_end()) {
      const uint8_t kind = in_.u8();
      const uint32_t length = in_.u32();
      if (!in_.ok() || length > in_.remaining()) return corrupt("a section that is cut");
      end_ = in_.offset() + length;
      TRACKER_RETURN_IF_ERROR(section(kind, length));
      if (!in_.ok()) return corrupt_at(in_.failed_at(), "cut or bad input");
      if (in_.offset() != end_) return corrupt("a section of the wrong length");
    }
    place_spans();
    return in_.ok() ? Status() : corrupt_at(in_.failed_at(), "cut input");
  }

 private:
  Status corrupt(std::string_view what) const { return corrupt_at(in_.failed_at(), what); }

  Status section(uint8_t kind, uint32_t length) {
    switch (static_cast<SectionKind>(kind)) {
      case SectionKind::kDefs: return defs();
      case SectionKind::kBlock: return block();
      case SectionKind::kEvents: return events();
      case SectionKind::kLosses: return losses();
      case SectionKind::kSkippable: break;
    }
    if (kind == 0) return corrupt("section kind 0");
    if (kind < static_cast<uint8_t>(SectionKind::kSkippable)) return newer("section kind", kind);
    in_.bytes(length);
    view_->has_unknown_sections_ = true;
    return {};
  }

  // Bytes left in this section; 0 when the reader has passed its end, which run() then reports.
  size_t left() const { return in_.offset() < end_ ? end_ - in_.offset() : 0; }

  // Reads a count of items of at least `bytes_each`; fails the reader if the remaining bytes cannot hold them.
  uint64_t count(size_t bytes_each) {
    const uint64_t n = in_.varint();
    if (n > left() / bytes_each) in_.fail();
    return in_.ok() ? n : 0;
  }
  uint32_t series_id() {
    const uint64_t id = in_.varint();
    if (id > UINT32_MAX) in_.fail();
    return static_cast<uint32_t>(id);
  }
  std::string_view sized() {
    const uint64_t n = in_.varint();
    if (n > left()) in_.fail();
    return in_.bytes(in_.ok() ? n : 0);
  }
  Status value_type(ValueType* out) {
    const uint8_t type = in_.u8();
    if (!in_.ok()) return {};
    if (type == 0) return corrupt("value type 0");
    if (!is_value_type(type)) return newer("value type", type);
    *out = static_cast<ValueType>(type);
    return {};
  }

  Status defs() {
    const uint64_t n = count(3);
    for (uint64_t i = 0; i < n && in_.ok(); ++i) {
      SeriesDef def;
      def.id = series_id();
      TRACKER_RETURN_IF_ERROR(value_type(&def.type));
      def.name = sized();
      view_->defs_.push_back(std::move(def));
    }
    return {};
  }

  Status block() {
    FrameView::BlockView block;
    block.rows = in_.varint();
    const uint8_t flags = in_.u8();
    if ((flags & ~(kBlockHasSteps | kBlockHasOrder)) != 0) return newer("block flags", flags);
    block.has_steps = (flags & kBlockHasSteps) != 0;
    block.has_order = (flags & kBlockHasOrder) != 0;
    const uint64_t n = count(3);  // an id, a type and a length each
    if (!in_.ok()) return {};
    // Both are bounded before they are multiplied: n by the bytes of the frame, rows by its limit.
    if (block.rows > kFrameRowsMax || (rows_ += block.rows) > kFrameRowsMax) return corrupt("too many rows");
    if ((cells_ += block.rows * (n + 3)) > kFrameCellsMax) return corrupt("too many cells");
    for (uint64_t i = 0; i < n; ++i) {
      view_->series_.push_back(series_id());
      view_->types_.emplace_back();
      TRACKER_RETURN_IF_ERROR(value_type(&view_->types_.back()));
    }
    lengths_.resize(n + 1 + (block.has_steps ? 1 : 0) + (block.has_order ? 1 : 0));
    for (uint64_t& length : lengths_) {
      length = in_.varint();
      if (length > left()) in_.fail();
    }
    if (!in_.ok()) return {};
    size_t next = 0;
    const auto column = [&] {
      const uint64_t length = lengths_[next++];
      if (length > left()) in_.fail();
      return in_.bytes(in_.ok() ? length : 0);
    };
    if (block.has_steps) block.steps = column();
    block.times = column();
    if (block.has_order) block.order = column();
    for (uint64_t i = 0; i < n; ++i) view_->values_.push_back(column());
    view_->blocks_.push_back(block);
    series_in_.push_back(n);
    return {};
  }

  // Sets the blocks' spans, after the vectors that they refer to have stopped growing.
  void place_spans() {
    size_t first = 0;
    for (size_t i = 0; i < series_in_.size(); ++i) {
      FrameView::BlockView& block = view_->blocks_[i];
      block.series = std::span(view_->series_).subspan(first, series_in_[i]);
      block.types = std::span(view_->types_).subspan(first, series_in_[i]);
      block.values = std::span(view_->values_).subspan(first, series_in_[i]);
      first += series_in_[i];
    }
  }

  // Events of an unknown type are kept: this version ignores them.
  Status events() {
    const uint64_t n = count(4);
    for (uint64_t i = 0; i < n && in_.ok(); ++i) {
      Event event;
      event.type = static_cast<EventType>(in_.u8());
      const uint8_t flags = in_.u8();
      if ((flags & ~kEventHasStep) != 0) return newer("event flags", flags);
      event.has_step = (flags & kEventHasStep) != 0;
      if (event.has_step) event.step = in_.zigzag();
      event.time_us = in_.zigzag();
      event.payload = sized();
      if (in_.ok() && event.type == EventType{}) return corrupt("event type 0");
      view_->events_.push_back(std::move(event));
    }
    return {};
  }

  Status losses() {
    const uint64_t n = count(3);
    for (uint64_t i = 0; i < n && in_.ok(); ++i) {
      Loss loss;
      loss.series = series_id();
      loss.reason = static_cast<LossReason>(in_.u8());
      loss.count = in_.varint();
      view_->losses_.push_back(loss);
    }
    return {};
  }

  ByteReader in_;
  FrameView* view_;
  size_t end_ = 0;     // of the section
  uint64_t rows_ = 0;  // of all blocks so far
  uint64_t cells_ = 0;
  std::vector<uint64_t> lengths_;  // of the columns of a block
  std::vector<size_t> series_in_;  // of each block
};

Result<FrameView> FrameView::parse(std::string_view bytes, bool check_crc) {
  if (bytes.size() < kFrameHeaderBytes + kFrameCrcBytes) return corrupt_at(bytes.size(), "fewer bytes than a header");
  if (bytes.size() > kFrameBytesMax) return corrupt_at(kFrameBytesMax, "larger than a frame may be");
  if (bytes.substr(0, kFrameMagic.size()) != kFrameMagic) return corrupt_at(0, "no magic");
  ByteReader head(bytes.substr(kFrameMagic.size()));
  const uint16_t version = head.u16();
  const uint16_t flags = head.u16();
  const uint32_t size = head.u32();
  FrameView view;
  view.bytes_ = bytes;
  std::memcpy(view.writer_.bytes.data(), head.bytes(view.writer_.bytes.size()).data(), view.writer_.bytes.size());
  view.seq_ = head.u64();
  // Check the version first: a newer one may have another layout after it.
  if (version == 0) return corrupt_at(kFrameVersionAt, "version 0");
  if (version > kFrameVersion) return newer("version", version);
  if (flags != 0) return newer("flags", flags);
  if (size != bytes.size()) return corrupt_at(kFrameSizeAt, fmt::format("{} bytes of {}", bytes.size(), size));
  const std::string_view body = bytes.substr(0, bytes.size() - kFrameCrcBytes);
  if (check_crc) {
    uint32_t stored;
    std::memcpy(&stored, bytes.data() + body.size(), sizeof stored);
    const uint32_t actual = crc32c(body);
    if (stored != actual) return corrupt_at(body.size(), fmt::format("CRC {:08x} instead of {:08x}", actual, stored));
  }
  TRACKER_RETURN_IF_ERROR(FrameParser(body, &view).run());
  return view;
}

uint64_t FrameView::points() const {
  uint64_t points = 0;
  for (const BlockView& block : blocks_) points += block.rows * block.series.size();
  return points;
}

Status FrameView::read_ints(std::string_view column, uint64_t rows, std::vector<int64_t>* out) {
  return decode_int_column(column, rows, out);
}

Status FrameView::read_values(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out) {
  return decode_value_column(column, rows, type, out);
}

Result<Frame> decode_frame(std::string_view bytes) {
  auto view = FrameView::parse(bytes);
  if (!view.ok()) return view.status();
  Frame frame;
  frame.writer = view->writer();
  frame.seq = view->seq();
  frame.defs = view->defs();
  frame.events = view->events();
  frame.losses = view->losses();
  const auto located = [&bytes](Status status, std::string_view column) {
    if (status.ok()) return status;
    const auto offset = static_cast<size_t>(column.data() - bytes.data());
    return Status(status.code(), fmt::format("frame: column at byte {}: {}", offset, status.message()));
  };
  for (const FrameView::BlockView& from : view->blocks()) {
    Block to;
    to.series.assign(from.series.begin(), from.series.end());
    to.types.assign(from.types.begin(), from.types.end());
    to.has_steps = from.has_steps;
    if (from.has_steps)
      TRACKER_RETURN_IF_ERROR(located(decode_int_column(from.steps, from.rows, &to.steps), from.steps));
    TRACKER_RETURN_IF_ERROR(located(decode_int_column(from.times, from.rows, &to.times_us), from.times));
    if (from.has_order)
      TRACKER_RETURN_IF_ERROR(located(decode_int_column(from.order, from.rows, &to.order), from.order));
    to.values.resize(from.values.size());
    for (size_t i = 0; i < from.values.size(); ++i)
      TRACKER_RETURN_IF_ERROR(
          located(decode_value_column(from.values[i], from.rows, from.types[i], &to.values[i]), from.values[i]));
    frame.blocks.push_back(std::move(to));
  }
  return frame;
}

}  // namespace tracker::internal
