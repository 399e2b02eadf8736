// SPDX-License-Identifier: MIT
#include "codec/segment_parse.h"

#include <fmt/format.h>

#include <cstring>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/segment_layout.h"

namespace tracker::internal {
namespace {

// For one series in a directory: id, type, flags, first value, column length and CRC.
constexpr size_t kSeriesBytesMin = 9;
constexpr size_t kBlockBytesMin = 10;

Status corrupt_at(size_t offset, std::string_view what) {
  return Status(Code::kCorrupt, fmt::format("segment: {} at byte {}", what, offset));
}
Status newer(std::string_view what, uint64_t number) {
  return Status(Code::kVersion, fmt::format("segment: {} {} is of a newer version", what, number));
}

// `v` is at most the difference of two int64: neither their sum nor the times after it overflow.
bool add_to(int64_t first, uint64_t v, int64_t* out) {
  if (v > static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(first)) return false;
  *out = static_cast<int64_t>(static_cast<uint64_t>(first) + v);
  return true;
}

class DirectoryParser {
 public:
  DirectoryParser(std::string_view head, uint64_t head_bytes, uint64_t size, SegmentDirectory* out)
      : in_(head.substr(0, head_bytes)), size_(size), part_at_(head_bytes), out_(out) {}

  Status run() {
    in_.bytes(kSegmentHeaderBytes);
    out_->frames = in_.varint();
    out_->time_first_us = in_.zigzag();
    if (!add_to(out_->time_first_us, in_.varint(), &out_->time_last_us)) in_.fail();
    if (out_->frames == 0 || out_->frames - 1 > out_->last_seq - out_->first_seq) in_.fail();
    if (out_->frames > kSegmentFramesMax) return corrupt_at(in_.offset(), "too many frames");
    part(&out_->log);
    part(&out_->frame_numbers);
    if ((out_->frame_numbers.size == 0) != (out_->frames - 1 == out_->last_seq - out_->first_seq)) in_.fail();
    column(&out_->frame_rows);
    const uint64_t n = count(kBlockBytesMin);
    for (uint64_t i = 0; i < n && in_.ok(); ++i) TRACKER_RETURN_IF_ERROR(block());
    if (!in_.ok()) return corrupt_at(in_.failed_at(), "cut or bad input");
    if (!in_.at_end()) return corrupt_at(in_.offset(), "bytes after the directory");
    return part_at_ == size_ ? Status() : corrupt_at(part_at_, "bytes after the last column");
  }

 private:
  // Reads a count of items of at least `bytes_each`; fails the reader if the remaining bytes cannot hold them.
  uint64_t count(size_t bytes_each) {
    const uint64_t n = in_.varint();
    if (n > in_.remaining() / bytes_each) in_.fail();
    return in_.ok() ? n : 0;
  }

  void part(SegmentPart* out) {
    out->offset = part_at_;
    out->size = in_.varint();
    if (out->size > size_ - part_at_) in_.fail();
    if (!in_.ok()) return;
    if (out->size > 0) out->crc = in_.u32();
    part_at_ += out->size;
  }
  // A part with a column has at least one byte, its encoding.
  void column(SegmentPart* out) {
    part(out);
    if (out->size == 0) in_.fail();
  }

  Status block() {
    SegmentBlock block;
    SegmentBlockParts parts;
    block.rows = in_.varint();
    const uint8_t flags = in_.u8();
    if (!in_.ok()) return {};
    if ((flags & ~kRowFlags) != 0) return newer("block flags", flags);
    if (block.rows == 0) return corrupt_at(in_.offset(), "a block without rows");
    if (block.rows > kSegmentRowsMax || (out_->rows += block.rows) > kSegmentRowsMax)
      return corrupt_at(in_.offset(), "too many rows");
    if (!add_to(out_->time_first_us, in_.varint(), &block.time_min_us)) in_.fail();
    if (!add_to(block.time_min_us, in_.varint(), &block.time_max_us)) in_.fail();
    if (block.time_max_us > out_->time_last_us) in_.fail();
    block.has_steps = (flags & kRowsHaveSteps) != 0;
    block.steps_increase = (flags & kStepsIncrease) != 0;
    block.has_order = (flags & kRowsHaveOrder) != 0;
    if (block.steps_increase && !block.has_steps) in_.fail();
    if (block.has_steps) {
      block.steps.min = in_.zigzag();
      if (!add_to(block.steps.min, in_.varint(), &block.steps.max)) in_.fail();
      column(&parts.steps);
    }
    column(&parts.times);
    if (block.has_order) column(&parts.order);
    const uint64_t n = count(kSeriesBytesMin);
    if (n == 0) in_.fail();
    if (!in_.ok()) return {};
    // Both are bounded before they are multiplied: n by the bytes of the directory, rows by its limit.
    if ((cells_ += block.rows * (n + 3)) > kSegmentCellsMax) return corrupt_at(in_.offset(), "too many cells");
    for (uint64_t i = 0; i < n && in_.ok(); ++i) TRACKER_RETURN_IF_ERROR(series(&block, &parts));
    if (!in_.ok()) return {};
    out_->points += block.rows * n;
    out_->blocks.push_back(std::move(block));
    out_->parts.push_back(std::move(parts));
    return {};
  }

  Status series(SegmentBlock* block, SegmentBlockParts* parts) {
    const uint64_t more = in_.varint();
    const bool first = block->series.empty();
    const uint64_t id = more + (first ? 0 : block->series.back());
    if (more > UINT32_MAX || id > UINT32_MAX || (!first && more == 0)) in_.fail();
    const uint8_t type = in_.u8();
    if (!in_.ok()) return {};
    if (type == 0) return corrupt_at(in_.offset(), "value type 0");
    if (!is_value_type(type)) return newer("value type", type);
    const uint8_t flags = in_.u8();
    if ((flags & ~kSummaryFlags) != 0) return newer("summary flags", flags);
    block->series.push_back(static_cast<uint32_t>(id));
    block->types.push_back(static_cast<ValueType>(type));
    block->summaries.push_back(summary(flags, block->types.back(), block->rows));
    column(&parts->values.emplace_back());
    return {};
  }

  uint64_t number(ValueType type) {
    if (type == ValueType::kInt64) return static_cast<uint64_t>(in_.zigzag());
    uint64_t bits = 0;
    const std::string_view raw = in_.bytes(value_width(type));
    if (!raw.empty()) std::memcpy(&bits, raw.data(), raw.size());
    return bits;
  }
  ValueSummary summary(uint8_t flags, ValueType type, uint64_t rows) {
    ValueSummary out;
    out.rows = rows;
    if ((flags & kSomeNotFinite) != 0) {
      out.nan = in_.varint();
      out.pos_inf = in_.varint();
      out.neg_inf = in_.varint();
      if (out.nan > rows || out.pos_inf > rows - out.nan || out.neg_inf > rows - out.nan - out.pos_inf) in_.fail();
    }
    const bool same = (flags & kAllTheSame) != 0;
    out.first_bits = number(type);
    out.last_bits = same ? out.first_bits : number(type);
    if (!in_.ok() || out.finite() == 0) return out;
    out.min_bits = same ? out.first_bits : number(type);
    out.max_bits = same ? out.first_bits : number(type);
    out.sum = std::bit_cast<double>(in_.u64());
    return out;
  }

  ByteReader in_;
  uint64_t size_;
  uint64_t part_at_;  // offset of the next part
  SegmentDirectory* out_;
  uint64_t cells_ = 0;
};

}  // namespace

Result<uint64_t> segment_head_bytes(std::string_view first, uint64_t size) {
  if (first.size() < kSegmentHeaderBytes) return corrupt_at(first.size(), "fewer bytes than a header");
  if (first.substr(0, kSegmentMagic.size()) != kSegmentMagic) return corrupt_at(0, "no magic");
  ByteReader head(first.substr(kSegmentMagic.size()));
  const uint16_t version = head.u16();
  const uint16_t flags = head.u16();
  const uint32_t stored = head.u32();
  // Check the version first: a newer one may have another layout after it.
  if (version == 0) return corrupt_at(kSegmentVersionAt, "version 0");
  if (version > kSegmentVersion) return newer("version", version);
  if (flags != 0) return newer("flags", flags);
  if (size > kSegmentBytesMax) return corrupt_at(kSegmentSizeAt, "larger than a segment may be");
  if (stored != size) return corrupt_at(kSegmentSizeAt, fmt::format("{} bytes of {}", size, stored));
  uint32_t directory;
  std::memcpy(&directory, first.data() + kSegmentDirectoryBytesAt, sizeof directory);
  if (directory > size - kSegmentHeaderBytes) return corrupt_at(kSegmentDirectoryBytesAt, "a directory that is cut");
  return kSegmentHeaderBytes + directory;
}

Result<SegmentDirectory> parse_segment(std::string_view head, uint64_t size, bool check_crc) {
  auto bytes = segment_head_bytes(head, size);
  if (!bytes.ok()) return bytes.status();
  if (head.size() < *bytes) return corrupt_at(head.size(), "a directory that is cut");
  uint32_t stored;
  std::memcpy(&stored, head.data() + kSegmentCrcAt, sizeof stored);
  const uint32_t actual =
      crc32c(head.substr(kSegmentHeaderBytes, *bytes - kSegmentHeaderBytes), crc32c(head.substr(0, kSegmentCrcAt)));
  if (check_crc && stored != actual)
    return corrupt_at(kSegmentCrcAt, fmt::format("CRC {:08x} instead of {:08x}", actual, stored));
  SegmentDirectory out;
  ByteReader in(head.substr(kSegmentSizeAt + 4));
  std::memcpy(out.writer.bytes.data(), in.bytes(out.writer.bytes.size()).data(), out.writer.bytes.size());
  out.first_seq = in.u64();
  out.last_seq = in.u64();
  if (out.last_seq < out.first_seq) return corrupt_at(kSegmentHeaderBytes, "a last frame before the first one");
  TRACKER_RETURN_IF_ERROR(DirectoryParser(head, *bytes, size, &out).run());
  return out;
}

}  // namespace tracker::internal
