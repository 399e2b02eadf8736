// SPDX-License-Identifier: MIT
#include "codec/value_summary.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/ordered_key.h"
#include "codec/packed.h"

namespace tracker::internal {
namespace {

template <typename Convert>
ValueSummary summarize(std::span<const uint64_t> bits, OrderedKey order, Convert convert) {
  ValueSummary out;
  out.rows = bits.size();
  uint64_t low = UINT64_MAX, high = 0;
  for (const uint64_t raw : bits) {
    const double v = convert(raw);
    if (std::isfinite(v)) {
      out.sum += v;
      const uint64_t key = order.key(raw);
      low = std::min(low, key);
      high = std::max(high, key);
    } else {
      ++(std::isnan(v) ? out.nan : v > 0 ? out.pos_inf : out.neg_inf);
    }
  }
  if (out.finite() == 0) return out;
  out.min_bits = order.raw(low);
  out.max_bits = order.raw(high);
  return out;
}

ValueSummary summarize(std::span<const uint64_t> bits, ValueType type) {
  const OrderedKey order(type);
  switch (type) {
    case ValueType::kFloat64: return summarize(bits, order, [](uint64_t b) { return std::bit_cast<double>(b); });
    case ValueType::kFloat32:
      return summarize(bits, order,
                       [](uint64_t b) -> double { return std::bit_cast<float>(static_cast<uint32_t>(b)); });
    case ValueType::kInt64:
      return summarize(bits, order, [](uint64_t b) { return static_cast<double>(static_cast<int64_t>(b)); });
    default: return summarize(bits, order, [type](uint64_t b) { return to_double(type, b); });
  }
}

uint64_t minis_of(uint64_t rows) { return (rows + kMiniRows - 1) / kMiniRows; }

}  // namespace

std::vector<ValueSummary> summarize_minis(std::span<const uint64_t> bits, ValueType type) {
  std::vector<ValueSummary> minis;
  minis.reserve(minis_of(bits.size()));
  for (size_t at = 0; at < bits.size(); at += kMiniRows)
    minis.push_back(summarize(bits.subspan(at, std::min<size_t>(kMiniRows, bits.size() - at)), type));
  return minis;
}

ValueSummary summarize_block(std::span<const ValueSummary> minis, std::span<const uint64_t> bits, ValueType type) {
  const OrderedKey order(type);
  ValueSummary out;
  for (const ValueSummary& mini : minis) {
    if (mini.finite() > 0) {
      const bool first = out.finite() == 0;
      if (first || order.key(mini.min_bits) < order.key(out.min_bits)) out.min_bits = mini.min_bits;
      if (first || order.key(mini.max_bits) > order.key(out.max_bits)) out.max_bits = mini.max_bits;
      out.sum += mini.sum;
    }
    out.rows += mini.rows;
    out.nan += mini.nan;
    out.pos_inf += mini.pos_inf;
    out.neg_inf += mini.neg_inf;
  }
  if (bits.empty()) return out;
  out.first_bits = bits.front();
  out.last_bits = bits.back();
  return out;
}

}  // namespace tracker::internal
