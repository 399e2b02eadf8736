// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "codec/bitpack.h"
#include "codec/decimal.h"
#include "codec/ordered_key.h"
#include "codec/packed.h"
#include "codec/packed_layout.h"

namespace tracker::internal {
namespace {

Status corrupt(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("packed column: {} at byte {}", what, offset));
}

// Reads a number of `bytes` bytes; the caller has checked that they exist.
uint64_t get(const char* at, size_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, at, bytes);
  return v;
}

struct Entry {
  std::array<uint64_t, kPackedOrderMax> starts{};  // as base, less the lowest of the column
  uint64_t base = 0;
  unsigned width = 0;
  size_t exceptions = 0;
  unsigned exception_width = 0;
};

constexpr size_t kEntryExceptionsMax = 255;  // the count is a byte
constexpr unsigned kExceptionsOfBytes = 1;   // a flag of a layout that was never released

// Head and entries of a column, checked: every mini-block lies within the bytes.
class PackedReader {
 public:
  PackedReader(std::string_view body, uint64_t rows, ValueType type, unsigned order)
      : body_(body), rows_(rows), type_(type), order_(order) {}

  Status parse(bool checked) {
    const size_t key_bytes = value_width(type_);
    // shift, flags, base; for each order below a start.
    const size_t fixed = 3 + (order_ > 0 ? 8 + (order_ - 1) * 9 + 1 + key_bytes : key_bytes);
    if (body_.size() < fixed) return corrupt("cut", body_.size());
    const char* at = body_.data();
    head_.shift = static_cast<uint8_t>(*at++);
    const auto flags = static_cast<uint8_t>(*at++);
    if ((flags & kExceptionsOfBytes) != 0) return corrupt("exceptions as versions before 0.1.0 wrote them", 1);
    if ((flags & ~kPackedHasExceptions) != 0)
      return Status(Code::kVersion, fmt::format("packed column: flags {} are of a newer version", flags));
    head_.exceptions = flags != 0;
    for (unsigned i = 0; i < order_; ++i) {
      const size_t bytes = i == 0 ? key_bytes : 8;
      head_.start_bytes[i] = static_cast<uint8_t>(*at++);
      start_low_[i] = get(at, bytes);
      at += bytes;
      if (head_.start_bytes[i] > 8) return corrupt("a number of more than 8 bytes", 2);
    }
    head_.base_bytes = static_cast<uint8_t>(*at++);
    const size_t low_bytes = order_ > 0 ? 8 : key_bytes;
    low_ = get(at, low_bytes);
    at += low_bytes;
    if (head_.exceptions) {
      if (at == body_.data() + body_.size()) return corrupt("cut", body_.size());
      head_.exception_width = static_cast<uint8_t>(*at++);
    }
    if (head_.shift >= 8 * key_bytes) return corrupt("a shift as wide as the values", 0);
    if (head_.base_bytes > 8) return corrupt("a number of more than 8 bytes", 2);
    entries_ = static_cast<size_t>(at - body_.data());
    entry_bytes_ = size_t{head_.base_bytes} + 1 + (head_.exceptions ? 1 : 0) + (own_exception_widths() ? 1 : 0);
    for (unsigned i = 0; i < order_; ++i) entry_bytes_ += head_.start_bytes[i];
    const uint64_t minis = rows_ / kMiniRows + (rows_ % kMiniRows != 0 ? 1 : 0);
    if (minis > (body_.size() - entries_) / entry_bytes_) return corrupt("fewer mini-blocks than rows", entries_);
    bodies_ = entries_ + minis * entry_bytes_;
    return checked ? Status() : check_entries(minis);
  }

  // Calls each(mini, entry, offset of its bytes) for the mini-blocks of the rows [begin, end), which is not empty.
  template <typename Each>
  void visit(uint64_t begin, uint64_t end, Each&& each) const {
    size_t at = bodies_;
    for (uint64_t mini = 0; mini * kMiniRows < end; ++mini) {
      const Entry entry = entry_of(mini);
      if ((mini + 1) * kMiniRows > begin) each(mini, entry, at);
      at += bytes_of(mini, entry);
    }
  }

  size_t rows_of(uint64_t mini) const { return std::min<uint64_t>(kMiniRows, rows_ - mini * kMiniRows); }
  // How many numbers are packed: n keys have n - 1 differences, and n - 2 differences of these.
  size_t packed_of(uint64_t mini) const { return rows_of(mini) - std::min<size_t>(order_, rows_of(mini)); }
  uint64_t low() const { return low_; }
  uint64_t start_low(unsigned i) const { return start_low_[i]; }
  const PackedHead& head() const { return head_; }
  std::string_view body() const { return body_; }
  ValueType type() const { return type_; }
  unsigned order() const { return order_; }

 private:
  bool own_exception_widths() const { return head_.exceptions && head_.exception_width == 0; }
  Entry entry_of(uint64_t mini) const {
    const char* at = body_.data() + entries_ + mini * entry_bytes_;
    Entry entry;
    for (unsigned i = 0; i < order_; ++i) {
      entry.starts[i] = get(at, head_.start_bytes[i]);
      at += head_.start_bytes[i];
    }
    entry.base = get(at, head_.base_bytes);
    at += head_.base_bytes;
    entry.width = static_cast<uint8_t>(*at++);
    if (head_.exceptions) {
      entry.exceptions = static_cast<uint8_t>(*at++);
      entry.exception_width = own_exception_widths() ? static_cast<uint8_t>(*at) : head_.exception_width;
    }
    return entry;
  }
  size_t bytes_of(uint64_t mini, const Entry& entry) const {
    return packed_bytes(packed_of(mini), entry.width) + packed_bytes(entry.exceptions, entry.exception_width);
  }

  Status check_entries(uint64_t minis) const {
    // Differences of narrow values are modulo 2^32.
    const unsigned width_max = value_width(type_) == 8 ? 64 : 32;
    size_t at = bodies_;
    for (uint64_t mini = 0; mini < minis; ++mini) {
      const Entry entry = entry_of(mini);
      const size_t where = entries_ + mini * entry_bytes_;
      if (entry.width > width_max) return corrupt("a width beyond that of the values", where);
      if (entry.exceptions > packed_of(mini)) return corrupt("more exceptions than rows", where);
      if (entry.exception_width > 64) return corrupt("an exception beyond the values", where);
      const size_t bytes = bytes_of(mini, entry);
      if (bytes > body_.size() - at) return corrupt("a mini-block that is cut", where);
      if (const size_t n = packed_of(mini); n < kMiniRows) {  // else 9 bits cannot name a later one
        uint64_t exceptions[kEntryExceptionsMax];
        read_exceptions(entry, at + packed_bytes(n, entry.width), exceptions);
        for (size_t i = 0; i < entry.exceptions; ++i)
          if (position_of(exceptions[i]) >= n) return corrupt("an exception after its mini-block", at);
      }
      at += bytes;
    }
    return at == body_.size() ? Status() : corrupt("bytes after the last mini-block", at);
  }

 public:
  static size_t position_of(uint64_t exception) { return exception % kMiniRows; }
  void read_exceptions(const Entry& entry, size_t at, uint64_t* out) const {
    unpack_bits(body_.data() + at, body_.size() - at, entry.exceptions, entry.exception_width, out);
  }

 private:
  std::string_view body_;
  uint64_t rows_;
  ValueType type_;
  unsigned order_;
  PackedHead head_;
  uint64_t low_ = 0;
  std::array<uint64_t, kPackedOrderMax> start_low_{};
  size_t entry_bytes_ = 0;
  size_t entries_ = 0;  // offset
  size_t bodies_ = 0;
};

enum class Sign : uint8_t { kFloat, kInteger, kNone };

// Compilers vectorise loops of a constant length; a column of a level has few rows.
constexpr size_t kAtOnce = 32;
static_assert(kMiniRows % kAtOnce == 0);
constexpr size_t rounded_up(size_t rows) { return (rows + kAtOnce - 1) / kAtOnce * kAtOnce; }

// Converts keys to raw bits, like OrderedKey::raw. Reads and writes rounded_up(rows) elements of both. Bits above the
// value's width are dropped when it is stored.
template <Sign kSign, typename Word, typename Out>
void to_raw(const Word* keys, size_t rows, Word base, unsigned value_bits, unsigned shift, Out* out) {
  const unsigned top_at = value_bits - 1;
  const Word top = kSign == Sign::kNone ? Word{0} : Word{1} << top_at;
  for (size_t at = 0; at < rows; at += kAtOnce, keys += kAtOnce, out += kAtOnce) {
    for (size_t i = 0; i < kAtOnce; ++i) {
      const Word key = keys[i] + base;
      Word flip = top;
      if constexpr (kSign == Sign::kFloat) flip |= (key >> top_at) - 1;
      out[i] = static_cast<Out>((key ^ flip) << shift);
    }
  }
}

// Decodes mini-blocks to words of 4 or 8 bytes, then to the values.
template <Sign kSign, typename Word, typename Out>
class PackedDecoder {
 public:
  PackedDecoder(const PackedReader& reader, DecimalScale scale)
      : reader_(reader),
        scale_(scale),
        shift_(reader.head().shift),
        value_bits_(static_cast<unsigned>(8 * value_width(reader.type())) - shift_) {}

  // False: a whole number of a decimal column is out of its range.
  bool run(uint64_t begin, uint64_t end, Out* out) {
    bool in_range = true;
    reader_.visit(begin, end, [&](uint64_t mini, const Entry& entry, size_t at) {
      const uint64_t from = mini * kMiniRows;
      const size_t rows = reader_.rows_of(mini);
      const bool whole = rows == kMiniRows && from >= begin && from + rows <= end;
      Out aside[kMiniRows];
      Out* const values = whole ? out + (from - begin) : aside;
      decode(mini, entry, at, values);
      if constexpr (kSign == Sign::kInteger)
        if (scale_.divisor != 0) in_range &= to_decimals(values, rows, scale_);  // while they are in the nearest cache
      if (whole) return;
      const uint64_t first = std::max(from, begin);
      const uint64_t last = std::min(from + rows, end);
      std::copy(values + (first - from), values + (last - from), out + (first - begin));
    });
    return in_range;
  }

 private:
  // Touches rounded_up(rows) of `out`.
  void decode(uint64_t mini, const Entry& entry, size_t at, Out* out) {
    const Word base = static_cast<Word>(reader_.low() + entry.base);
    const size_t n = reader_.packed_of(mini);
    Word starts[kPackedOrderMax];
    for (unsigned i = 0; i < reader_.order(); ++i)
      starts[i] = static_cast<Word>(reader_.start_low(i) + entry.starts[i]);
    if constexpr (kSign == Sign::kInteger) {
      if (reader_.order() == 1) return add_up(unpack(entry, at, n, out + 1), n, starts[0], base, out);
    }
    const size_t rows = reader_.rows_of(mini);
    std::fill(words_ + rows, words_ + rounded_up(rows), Word{0});
    unpack(entry, at, n, words_ + (rows - n));
    if (reader_.order() == 0) return to_raw<kSign>(words_, rows, base, value_bits_, shift_, out);
    integrate(starts, rows - n, rows, base);
    to_raw<kSign>(words_, rows, Word{0}, value_bits_, shift_, out);
  }

  // Differences to keys, in words_. Of fewer rows than the order only as many keys come from the starts.
  void integrate(const Word* starts, size_t from, size_t rows, Word base) {
    Word key = starts[0], first = reader_.order() > 1 ? starts[1] : Word{0};
    words_[0] = key;
    if (reader_.order() == 1) {
      for (size_t i = 1; i < rows; ++i) words_[i] = key += base + words_[i];
      return;
    }
    if (from > 1) words_[1] = key += first;
    if (reader_.order() == 2) {
      for (size_t i = 2; i < rows; ++i) words_[i] = key += first += base + words_[i];
      return;
    }
    Word second = starts[2];
    if (from > 2) words_[2] = key += first += second;
    for (size_t i = 3; i < rows; ++i) words_[i] = key += first += second += base + words_[i];
  }

  // The key of an integer differs from the integer in the top bit only. With that bit in the first value, sums of the
  // differences are keys.
  void add_up(const Word* differences, size_t n, Word first, Word base, Word* out) const {
    const Word unit = Word{1} << shift_, all_base = base * unit;
    Word value = out[0] = (first * unit) ^ (Word{1} << 63);
    for (size_t i = 0; i < n; ++i) out[i + 1] = value += all_base + differences[i] * unit;
  }

  const Word* unpack(const Entry& entry, size_t at, size_t n, Word* to) const {
    const std::string_view body = reader_.body();
    unpack_bits(body.data() + at, body.size() - at, n, entry.width, to);
    if (entry.exceptions > 0) patch(entry, at + packed_bytes(n, entry.width), to);
    return to;
  }

  // An exception stores only its bits above the width.
  void patch(const Entry& entry, size_t at, Word* to) const {
    if (entry.width >= 64) return;
    uint64_t exceptions[kEntryExceptionsMax];
    reader_.read_exceptions(entry, at, exceptions);
    for (size_t i = 0; i < entry.exceptions; ++i) {
      const uint64_t code = exceptions[i] >> kExceptionPositionBits;
      to[PackedReader::position_of(exceptions[i])] +=
          static_cast<Word>(((code >> 1) ^ (0 - (code & 1))) << entry.width);
    }
  }

  const PackedReader& reader_;
  DecimalScale scale_;
  unsigned shift_, value_bits_;
  alignas(64) Word words_[kMiniRows];
};

template <Sign kSign, typename Word, typename Out>
bool decode_as(const PackedReader& reader, uint64_t begin, uint64_t end, void* out, DecimalScale scale = {}) {
  return PackedDecoder<kSign, Word, Out>(reader, scale).run(begin, end, static_cast<Out*>(out));
}

}  // namespace

Status decode_packed(std::string_view body, uint64_t rows, ValueType type, unsigned order, uint64_t begin, uint64_t end,
                     void* out, bool checked, DecimalScale scale) {
  PackedReader reader(body, rows, type, order);
  TRACKER_RETURN_IF_ERROR(reader.parse(checked));
  switch (type) {
    case ValueType::kFloat64: decode_as<Sign::kFloat, uint64_t, uint64_t>(reader, begin, end, out); break;
    case ValueType::kFloat32: decode_as<Sign::kFloat, uint32_t, uint32_t>(reader, begin, end, out); break;
    case ValueType::kFloat16:
    case ValueType::kBFloat16: decode_as<Sign::kFloat, uint32_t, uint16_t>(reader, begin, end, out); break;
    case ValueType::kInt64:
      if (!decode_as<Sign::kInteger, uint64_t, uint64_t>(reader, begin, end, out, scale)) return not_a_whole_number();
      break;
    case ValueType::kBool: decode_as<Sign::kNone, uint32_t, uint8_t>(reader, begin, end, out); break;
  }
  return {};
}

}  // namespace tracker::internal
