// SPDX-License-Identifier: MIT
// Levels to bytes and back (docs/formats/level.md).
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/best_column.h"
#include "codec/level.h"
#include "codec/segment.h"

namespace tracker::internal {
namespace {

constexpr uint8_t kFixedStride = 1;
constexpr uint8_t kSomeNotFinite = 2;
constexpr size_t kCrcBytes = 4;

std::span<const int64_t> ints(const std::vector<uint64_t>& values) {
  return {reinterpret_cast<const int64_t*>(values.data()), values.size()};  // the two may alias each other
}

// The smaller of the cheap encodings and bit-packing; zstd is not worth its time here.
void put_column(std::span<const uint64_t> bits, ValueType type, ByteWriter* out) {
  std::string cheap, packed;
  encode_value_column(bits, type, &cheap);
  put_column(ColumnEncoding::kPacked, bits, type, &packed);
  out->sized(packed.size() < cheap.size() ? packed : cheap);
}
void put_ints(std::span<const int64_t> values, ByteWriter* out) {
  std::string cheap, packed;
  encode_int_column(values, &cheap);
  put_column(ColumnEncoding::kPackedDeltas, {reinterpret_cast<const uint64_t*>(values.data()), values.size()},
             ValueType::kInt64, &packed);
  out->sized(packed.size() < cheap.size() ? packed : cheap);
}

Status corrupt(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("level: {} at byte {}", what, offset));
}

Status check_crc(std::string_view bytes) {
  if (bytes.size() < kCrcBytes) return corrupt("cut", bytes.size());
  uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + bytes.size() - kCrcBytes, kCrcBytes);
  const uint32_t actual = crc32c(bytes.substr(0, bytes.size() - kCrcBytes));
  if (stored == actual) return {};
  return Status(Code::kCorrupt, fmt::format("level: CRC {:08x} instead of {:08x}", actual, stored));
}

class LevelDecoder {
 public:
  explicit LevelDecoder(std::string_view bytes) : in_(bytes.substr(0, bytes.size() - kCrcBytes)) {}

  Status run(Level* out) {
    TRACKER_RETURN_IF_ERROR(head(out));
    for (auto* x : {&out->x0, &out->x1}) x->clear();
    for (auto* values :
         {&out->count, &out->first, &out->last, &out->min, &out->max, &out->nan, &out->pos_inf, &out->neg_inf})
      values->clear();
    out->sum.clear();
    if (out->stride > 0) {
      TRACKER_RETURN_IF_ERROR(fixed_stride(out));
    } else {
      TRACKER_RETURN_IF_ERROR(int_column(&out->x0));
      TRACKER_RETURN_IF_ERROR(int_column(&out->x1));
      TRACKER_RETURN_IF_ERROR(column(ValueType::kInt64, &out->count));
    }
    for (auto* values : {&out->first, &out->last, &out->min, &out->max})
      TRACKER_RETURN_IF_ERROR(column(out->type, values));
    std::vector<uint64_t> sums;
    TRACKER_RETURN_IF_ERROR(column(ValueType::kFloat64, &sums));
    out->sum.resize(sums.size());
    std::transform(sums.begin(), sums.end(), out->sum.begin(), [](uint64_t b) { return std::bit_cast<double>(b); });
    if (counts_)
      for (auto* counts : {&out->nan, &out->pos_inf, &out->neg_inf})
        TRACKER_RETURN_IF_ERROR(column(ValueType::kInt64, counts));
    if (!in_.ok() || !in_.at_end()) return corrupt("too few or too many bytes", in_.failed_at());
    return check(*out);
  }

  Status head(LevelHead* out) {
    const uint8_t version = in_.u8();
    if (version > kLevelVersion) return Status(Code::kVersion, fmt::format("level: version {} is newer", version));
    const uint8_t type = in_.u8();
    out->shift = in_.u8();
    const uint8_t flags = in_.u8();
    out->rows = in_.varint();
    out->x_first = in_.zigzag();
    const uint64_t span = in_.varint();
    out->x_last = static_cast<int64_t>(static_cast<uint64_t>(out->x_first) + span);
    const bool fixed = (flags & kFixedStride) != 0;
    out->stride = fixed ? in_.varint() : 0;
    cells_ = in_.varint();
    counts_ = (flags & kSomeNotFinite) != 0;
    if (!in_.ok() || version == 0) return corrupt("cut", in_.failed_at());
    if ((flags & ~(kFixedStride | kSomeNotFinite)) != 0 || !is_value_type(type))
      return Status(Code::kVersion, fmt::format("level: flags {} or type {} are of a newer version", flags, type));
    out->axis = static_cast<LevelAxis>(version);
    out->type = static_cast<ValueType>(type);
    if (out->shift > kLevelShiftMax || out->x_last < out->x_first || out->rows == 0 || out->rows > kSegmentRowsMax ||
        cells_ == 0 || cells_ > out->rows / level_cell_rows(out->axis) + 2)
      return corrupt("counts that cannot be", in_.offset());
    const bool strides = out->stride > 0 && span % out->stride == 0 && span / out->stride == out->rows - 1;
    return fixed && !strides ? corrupt("a stride that does not fit", in_.offset()) : Status();
  }

 private:
  Status fixed_stride(Level* out) const {
    const auto mask = static_cast<int64_t>((uint64_t{1} << out->shift) - 1);
    for (int64_t x = out->x_first;;) {
      if (out->x0.size() == cells_) return corrupt("more cells than it says", in_.offset());
      const int64_t end = std::min(x | mask, out->x_last);
      const uint64_t more = (static_cast<uint64_t>(end) - static_cast<uint64_t>(x)) / out->stride;
      const auto last = static_cast<int64_t>(static_cast<uint64_t>(x) + more * out->stride);
      out->x0.push_back(x);
      out->x1.push_back(last);
      out->count.push_back(more + 1);
      if (last == out->x_last) break;
      x = static_cast<int64_t>(static_cast<uint64_t>(last) + out->stride);
    }
    return out->x0.size() == cells_ ? Status() : corrupt("fewer cells than it says", in_.offset());
  }

  Status located(const Status& status, size_t offset) const {
    if (status.ok()) return status;
    return Status(status.code(), fmt::format("level: column at byte {}: {}", offset, status.message()));
  }
  Status column(ValueType type, std::vector<uint64_t>* out) {
    const size_t offset = in_.offset();
    const std::string_view bytes = in_.sized();
    if (!in_.ok()) return corrupt("cut", offset);
    return located(decode_value_column(bytes, cells_, type, out), offset);
  }
  Status int_column(std::vector<int64_t>* out) {
    const size_t offset = in_.offset();
    const std::string_view bytes = in_.sized();
    if (!in_.ok()) return corrupt("cut", offset);
    return located(decode_int_column(bytes, cells_, out), offset);
  }

  Status check(const Level& level) const {
    uint64_t rows = 0;
    const size_t end = in_.offset();
    for (size_t i = 0; i < level.cells(); ++i) {
      const int64_t cell = level.x0[i] >> level.shift;
      if (level.x1[i] < level.x0[i] || (level.x1[i] >> level.shift) != cell ||
          (i > 0 && (level.x0[i - 1] >> level.shift) >= cell))
        return corrupt("cells out of order", end);
      if (level.count[i] == 0 || level.count[i] > level.rows - rows) return corrupt("wrong counts of rows", end);
      rows += level.count[i];
      if (!counts_) continue;
      uint64_t left = level.count[i];
      for (const uint64_t n : {level.nan[i], level.pos_inf[i], level.neg_inf[i]}) {
        if (n > left) return corrupt("more values than rows", end);
        left -= n;
      }
    }
    if (rows != level.rows || level.x0.front() != level.x_first || level.x1.back() != level.x_last)
      return corrupt("cells that are not all of the rows", end);
    return {};
  }

  ByteReader in_;
  uint64_t cells_ = 0;
  bool counts_ = false;
};

}  // namespace

std::string encode_level(const Level& level) {
  ByteWriter out;
  out.u8(static_cast<uint8_t>(level.axis));
  out.u8(static_cast<uint8_t>(level.type));
  out.u8(static_cast<uint8_t>(level.shift));
  out.u8(static_cast<uint8_t>((level.stride > 0 ? kFixedStride : 0) | (level.nan.empty() ? 0 : kSomeNotFinite)));
  out.varint(level.rows);
  out.zigzag(level.x_first);
  out.varint(static_cast<uint64_t>(level.x_last) - static_cast<uint64_t>(level.x_first));
  if (level.stride > 0) out.varint(level.stride);
  out.varint(level.cells());
  if (level.stride == 0) {
    put_ints(level.x0, &out);
    put_ints(level.x1, &out);
    put_ints(ints(level.count), &out);
  }
  for (const auto* values : {&level.first, &level.last, &level.min, &level.max}) put_column(*values, level.type, &out);
  std::vector<uint64_t> sums(level.cells());
  std::transform(level.sum.begin(), level.sum.end(), sums.begin(), [](double v) { return bits_of(v); });
  put_column(sums, ValueType::kFloat64, &out);
  for (const auto* counts : {&level.nan, &level.pos_inf, &level.neg_inf})
    if (!counts->empty()) put_ints(ints(*counts), &out);
  out.u32(crc32c(out.buffer()));
  return out.take();
}

Status decode_level(std::string_view bytes, Level* out) {
  TRACKER_RETURN_IF_ERROR(check_crc(bytes));
  return LevelDecoder(bytes).run(out);
}

Result<Level> decode_level(std::string_view bytes) {
  Level out;
  TRACKER_RETURN_IF_ERROR(decode_level(bytes, &out));
  return out;
}

Result<LevelHead> decode_level_head(std::string_view bytes) {
  TRACKER_RETURN_IF_ERROR(check_crc(bytes));
  LevelHead out;
  TRACKER_RETURN_IF_ERROR(LevelDecoder(bytes).head(&out));
  return out;
}

}  // namespace tracker::internal
