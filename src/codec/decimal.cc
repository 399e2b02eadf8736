// SPDX-License-Identifier: MIT
#include "codec/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "codec/best_column.h"
#include "codec/columns.h"

namespace tracker::internal {
namespace {

constexpr std::array<double, kDecimalExponentMax + 1> kPowers{1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
// A float64 of this magnitude has no digits after the point: adding it rounds to a whole number, and that number
// is in its low bits. Whole numbers up to 2^51 can be converted this way.
constexpr double kWhole = 0x1.8p52;
constexpr double kWholeMax = 0x1p51;
constexpr uint64_t kWholeBits = std::bit_cast<uint64_t>(kWhole);
constexpr size_t kProbes = 64;
constexpr size_t kScatter = 2'654'435'761;  // a prime: probes at a regular distance might all have fewer digits
constexpr size_t kExceptionBytes = 4 + 8;   // row, bits
constexpr size_t kAtOnce = 8;               // values of a loop that the compiler makes parallel

inline uint64_t value_of(uint64_t whole, double power) {
  return std::bit_cast<uint64_t>((std::bit_cast<double>(whole + kWholeBits) - kWhole) / power);
}

// The whole number d with d / power = the value bit for bit.
inline std::optional<uint64_t> whole_of(uint64_t bits, double power) {
  const double scaled = std::bit_cast<double>(bits) * power;
  if (!(scaled > -kWholeMax && scaled < kWholeMax)) return std::nullopt;  // not of a NaN either
  const uint64_t whole = std::bit_cast<uint64_t>(scaled + kWhole) - kWholeBits;
  if (value_of(whole, power) != bits) return std::nullopt;
  return whole;
}

// The least exponent with which nearly all values are decimals.
std::optional<unsigned> exponent_of(std::span<const uint64_t> bits) {
  std::array<size_t, kDecimalExponentMax + 1> least{};
  const size_t probes = std::min(bits.size(), kProbes);
  const size_t misses_max = probes / 16;
  size_t misses = 0;
  for (size_t i = 0; i < probes && misses <= misses_max; ++i) {
    const uint64_t value = bits[i * kScatter % bits.size()];
    unsigned exponent = 0;
    while (exponent <= kDecimalExponentMax && !whole_of(value, kPowers[exponent])) ++exponent;
    if (exponent > kDecimalExponentMax) ++misses;
    else ++least[exponent];
  }
  if (misses > misses_max) return std::nullopt;
  size_t above = misses;
  for (unsigned exponent = kDecimalExponentMax;; --exponent) {
    above += least[exponent];
    if (above > misses_max || exponent == 0) return exponent;
  }
}

}  // namespace

bool encode_decimal(std::span<const uint64_t> bits, ValueType /*type*/, std::string* out) {
  const auto exponent = exponent_of(bits);
  if (!exponent) return false;
  const double power = kPowers[*exponent];
  std::vector<uint64_t> wholes(bits.size()), rows;
  std::optional<uint64_t> last;
  for (size_t i = 0; i < bits.size(); ++i) {
    const auto whole = whole_of(bits[i], power);
    if (!whole) rows.push_back(i);
    else last = whole;
    wholes[i] = last.value_or(0);  // an exception is as the value before it, which costs nothing
  }
  if (rows.size() > bits.size() / 8) return false;
  ByteWriter head;
  head.u8(static_cast<uint8_t>(*exponent));
  head.u32(static_cast<uint32_t>(rows.size()));
  for (const uint64_t row : rows) head.u32(static_cast<uint32_t>(row));
  for (const uint64_t row : rows) head.u64(bits[row]);
  out->append(head.buffer());
  encode_best_parts(wholes, out);
  return true;
}

namespace {

// Exponent, exceptions and the column of int64, which lie within the body.
struct DecimalParts {
  unsigned exponent = 0;
  size_t exceptions = 0;
  std::string_view rows, values, wholes;
};

Result<DecimalParts> parts_of(std::string_view body) {
  ByteReader in(body);
  DecimalParts out;
  out.exponent = in.u8();
  out.exceptions = in.u32();
  if (!in.ok()) return corrupt_column("a decimal column that is cut", body.size());
  if (out.exponent > kDecimalExponentMax) return corrupt_column("an exponent beyond 15", 1);
  if (out.exceptions > in.remaining() / kExceptionBytes) return corrupt_column("more exceptions than bytes", 2);
  out.rows = in.bytes(out.exceptions * 4);
  out.values = in.bytes(out.exceptions * 8);
  out.wholes = in.bytes(in.remaining());
  return out;
}

template <typename Word>
Word word_at(std::string_view words, size_t i) {
  Word out;
  std::memcpy(&out, words.data() + i * sizeof out, sizeof out);
  return out;
}

Status check_rows(const DecimalParts& parts, uint64_t rows) {
  for (size_t i = 0; i < parts.exceptions; ++i) {
    const uint32_t row = word_at<uint32_t>(parts.rows, i);
    if (row >= rows || (i > 0 && row <= word_at<uint32_t>(parts.rows, i - 1)))
      return corrupt_column("exceptions that do not rise", 6 + i * 4);
  }
  return {};
}

// The first exception at `row` or after it.
size_t first_from(const DecimalParts& parts, uint64_t row) {
  size_t low = 0;
  for (size_t high = parts.exceptions; low < high;) {
    const size_t middle = low + (high - low) / 2;
    if (word_at<uint32_t>(parts.rows, middle) < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The order of the differences, where the column is a packed one.
std::optional<unsigned> packed_order(std::string_view column) {
  switch (static_cast<ColumnEncoding>(column.empty() ? 0 : column[0])) {
    case ColumnEncoding::kPacked: return 0;
    case ColumnEncoding::kPackedDeltas: return 1;
    case ColumnEncoding::kPackedSecond: return 2;
    case ColumnEncoding::kPackedThird: return 3;
    default: return std::nullopt;
  }
}

}  // namespace

void divide(uint64_t* words, uint64_t n, double divisor) {
  uint64_t at = 0;
  for (; at + kAtOnce <= n; at += kAtOnce)
    for (size_t i = 0; i < kAtOnce; ++i) words[at + i] = value_of(words[at + i], divisor);
  for (; at < n; ++at) words[at] = value_of(words[at], divisor);
}

Status check_decimal(std::string_view body, uint64_t rows, ValueType /*type*/) {
  const auto parts = parts_of(body);
  return parts.ok() ? check_length(parts->wholes, rows, ValueType::kInt64) : parts.status();
}

Status decode_decimal(const ColumnRows& c) {
  const auto parts = parts_of(c.body);
  TRACKER_RETURN_IF_ERROR(parts.status());
  if (!c.checked) TRACKER_RETURN_IF_ERROR(check_rows(*parts, c.rows));
  auto* const to = static_cast<uint64_t*>(c.out);
  const double power = kPowers[parts->exponent];
  if (const auto order = packed_order(parts->wholes)) {
    TRACKER_RETURN_IF_ERROR(decode_packed(parts->wholes.substr(1), c.rows, ValueType::kInt64, *order, c.begin, c.end,
                                          to, c.checked, power));
  } else {
    TRACKER_RETURN_IF_ERROR(decode_rows(parts->wholes, c.rows, ValueType::kInt64, {c.begin, c.end}, to, c.checked));
    divide(to, c.end - c.begin, power);
  }
  for (size_t i = first_from(*parts, c.begin); i < parts->exceptions; ++i) {
    const uint32_t row = word_at<uint32_t>(parts->rows, i);
    if (row >= c.end) break;
    to[row - c.begin] = word_at<uint64_t>(parts->values, i);
  }
  return {};
}

}  // namespace tracker::internal
