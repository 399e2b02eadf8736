// SPDX-License-Identifier: MIT
#include "codec/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
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
constexpr uint64_t kRangeHalf = uint64_t{1} << 51;
constexpr uint64_t kWholeBits = std::bit_cast<uint64_t>(kWhole);
constexpr size_t kProbes = 64;
constexpr size_t kMissesAhead = 8;          // of the hits, after which probing stops
constexpr size_t kExceptionShare = 4;       // at most a quarter; the choice by size often allows fewer
constexpr size_t kScatter = 2'654'435'761;  // a prime: probes at a regular distance might all have fewer digits
constexpr size_t kExceptionBytes = 4 + 8;   // row, bits
constexpr size_t kAtOnce = 8;               // values of a loop that the compiler makes parallel

// The powers of ten by which a whole number is divided and then multiplied.
struct Powers {
  unsigned exponent = 0, factor = 0;
  DecimalScale scale() const { return {kPowers[exponent], kPowers[factor]}; }
};

inline uint64_t value_of(uint64_t whole, DecimalScale scale) {
  return std::bit_cast<uint64_t>((std::bit_cast<double>(whole + kWholeBits) - kWhole) / scale.divisor * scale.factor);
}

// The whole number that means the value, bit for bit. `power`: that of scale.divisor / scale.factor.
inline std::optional<uint64_t> whole_of(uint64_t bits, double power, DecimalScale scale) {
  const double scaled = std::bit_cast<double>(bits) * power;
  if (!(scaled > -kWholeMax && scaled < kWholeMax)) return std::nullopt;  // not of a NaN either
  const uint64_t whole = std::bit_cast<uint64_t>(scaled + kWhole) - kWholeBits;
  const bool in_range = (whole + kRangeHalf) >> 52 == 0;  // a product just below 2^51 is rounded to it
  if (!in_range || value_of(whole, scale) != bits) return std::nullopt;
  return whole;
}

// A value is decoded as it was encoded only if both round to nearest.
class NearestRounding {
 public:
  NearestRounding() : was_other_(!is_nearest()) {
    if (!was_other_) return;
    std::fegetenv(&former_);
    std::fesetround(FE_TONEAREST);
  }
  ~NearestRounding() {
    if (was_other_) std::fesetenv(&former_);
  }
  NearestRounding(const NearestRounding&) = delete;
  NearestRounding& operator=(const NearestRounding&) = delete;

 private:
  // By what additions give: fegetround() does not see a mode that was set for SSE alone.
  static bool is_nearest() {
    const volatile double one = 1, quarter = 0x1p-54, three_quarters = 0x1.8p-53;  // of the distance of float64s at 1
    return one + quarter == 1 && -one - quarter == -1 && one + three_quarters > 1;
  }
  bool was_other_;
  std::fenv_t former_{};
};

// Of some values the least exponent with which nearly all that are decimals are whole.
class Probe {
 public:
  Probe(std::span<const uint64_t> bits, unsigned factor) : factor_(factor) {
    const size_t probes = std::min(bits.size(), kProbes);
    for (size_t i = 0; i < probes && !failed(); ++i) add(bits[i * kScatter % bits.size()]);
  }
  // Soon for noise; by chance in one of 20,000 columns of which a quarter are no decimals.
  bool failed() const { return misses_ > hits_ + kMissesAhead; }
  size_t misses() const { return misses_; }
  Powers powers() const {
    size_t above = 0;
    for (unsigned exponent = kDecimalExponentMax;; --exponent) {
      above += least_[exponent];
      if (above > hits_ / 16 || exponent == factor_) return {exponent, factor_};
    }
  }

 private:
  void add(uint64_t value) {
    for (unsigned exponent = factor_; exponent <= kDecimalExponentMax; ++exponent) {
      if (!whole_of(value, kPowers[exponent - factor_], Powers{exponent, factor_}.scale())) continue;
      ++least_[exponent], ++hits_;
      return;
    }
    ++misses_;
  }

  unsigned factor_;
  size_t hits_ = 0, misses_ = 0;
  std::array<size_t, kDecimalExponentMax + 1> least_{};
};

// Percentages and thousandths, many of which are the float64 nearest to a decimal, are tried where some are not.
std::optional<Powers> powers_of(std::span<const uint64_t> bits) {
  Probe best(bits, 0);
  if (best.failed()) return std::nullopt;
  for (unsigned factor = 2; factor <= kDecimalFactorMax && best.misses() > 0; ++factor)
    if (const Probe probe(bits, factor); !probe.failed() && probe.misses() < best.misses()) best = probe;
  return best.powers();
}

}  // namespace

bool encode_decimal(std::span<const uint64_t> bits, ValueType /*type*/, std::string* out) {
  const NearestRounding nearest;
  const auto powers = powers_of(bits);
  if (!powers) return false;
  const DecimalScale scale = powers->scale();
  const double power = kPowers[powers->exponent - powers->factor];
  std::vector<uint64_t> wholes(bits.size()), rows;
  std::optional<uint64_t> last;
  for (size_t i = 0; i < bits.size(); ++i) {
    const auto whole = whole_of(bits[i], power, scale);
    if (!whole) rows.push_back(i);
    else last = whole;
    wholes[i] = last.value_or(0);  // an exception is as the value before it, which costs nothing
  }
  if (rows.size() > bits.size() / kExceptionShare) return false;
  ByteWriter head;
  head.u8(static_cast<uint8_t>(powers->exponent));
  head.u8(static_cast<uint8_t>(powers->factor));
  head.u32(static_cast<uint32_t>(rows.size()));
  for (const uint64_t row : rows) head.u32(static_cast<uint32_t>(row));
  for (const uint64_t row : rows) head.u64(bits[row]);
  out->append(head.buffer());
  encode_best_parts(wholes, out);
  return true;
}

namespace {

// Powers, exceptions and the column of int64, which lie within the body.
struct DecimalParts {
  Powers powers;
  size_t exceptions = 0;
  std::string_view rows, values, wholes;
};

Result<DecimalParts> parts_of(std::string_view body) {
  ByteReader in(body);
  DecimalParts out;
  out.powers = {in.u8(), in.u8()};
  out.exceptions = in.u32();
  if (!in.ok()) return corrupt_column("a decimal column that is cut", body.size());
  if (out.powers.exponent > kDecimalExponentMax) return corrupt_column("an exponent beyond 15", 1);
  if (out.powers.factor > kDecimalFactorMax) return corrupt_column("a factor beyond 10^3", 2);
  if (out.exceptions > in.remaining() / kExceptionBytes) return corrupt_column("more exceptions than bytes", 3);
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
      return corrupt_column("exceptions that do not rise", 7 + i * 4);
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

bool to_decimals(uint64_t* words, uint64_t n, DecimalScale scale) {
  uint64_t beyond = 0;  // a bit above the 52nd of d + 2^51
  const auto convert = [&](uint64_t* word, auto&& meant) {
    beyond |= (*word + kRangeHalf) >> 52;
    *word = meant(*word);
  };
  const auto convert_all = [&](auto&& meant) {
    uint64_t at = 0;
    for (; at + kAtOnce <= n; at += kAtOnce)
      for (size_t i = 0; i < kAtOnce; ++i) convert(words + at + i, meant);
    for (; at < n; ++at) convert(words + at, meant);
  };
  if (scale.factor == 1) convert_all([scale](uint64_t whole) { return value_of(whole, {scale.divisor, 1}); });
  else convert_all([scale](uint64_t whole) { return value_of(whole, scale); });
  return beyond == 0;
}

Status not_a_whole_number() { return corrupt_column("a whole number of 2^51 or more", 0); }

Status check_decimal(std::string_view body, uint64_t rows, ValueType /*type*/) {
  const auto parts = parts_of(body);
  return parts.ok() ? check_length(parts->wholes, rows, ValueType::kInt64) : parts.status();
}

Status decode_decimal(const ColumnRows& c) {
  const NearestRounding nearest;
  const auto parts = parts_of(c.body);
  TRACKER_RETURN_IF_ERROR(parts.status());
  if (!c.checked) TRACKER_RETURN_IF_ERROR(check_rows(*parts, c.rows));
  auto* const to = static_cast<uint64_t*>(c.out);
  const DecimalScale scale = parts->powers.scale();
  if (const auto order = packed_order(parts->wholes)) {
    TRACKER_RETURN_IF_ERROR(decode_packed(parts->wholes.substr(1), c.rows, ValueType::kInt64, *order, c.begin, c.end,
                                          to, c.checked, scale));
  } else {
    TRACKER_RETURN_IF_ERROR(decode_rows(parts->wholes, c.rows, ValueType::kInt64, {c.begin, c.end}, to, c.checked));
    if (!to_decimals(to, c.end - c.begin, scale)) return not_a_whole_number();
  }
  for (size_t i = first_from(*parts, c.begin); i < parts->exceptions; ++i) {
    const uint32_t row = word_at<uint32_t>(parts->rows, i);
    if (row >= c.end) break;
    to[row - c.begin] = word_at<uint64_t>(parts->values, i);
  }
  return {};
}

}  // namespace tracker::internal
