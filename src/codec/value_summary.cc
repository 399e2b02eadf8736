// SPDX-License-Identifier: MIT
#include "codec/value_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "codec/ordered_key.h"
#include "codec/packed.h"

namespace tracker::internal {
namespace {

constexpr uint8_t kHasCounts = 1;
constexpr size_t kHeadBytes = 3;

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

size_t bytes_for(uint64_t range) { return (static_cast<size_t>(std::bit_width(range)) + 7) / 8; }

void put(uint64_t v, size_t bytes, std::string* out) { out->append(reinterpret_cast<const char*>(&v), bytes); }

uint64_t get(const char** at, size_t bytes) {
  uint64_t v = 0;
  std::memcpy(&v, *at, bytes);
  *at += bytes;
  return v;
}

Status corrupt(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("mini summaries: {} at byte {}", what, offset));
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

std::vector<ValueSummary> summarize_constant(const ValueSummary& block, ValueType type) {
  const auto rows = std::min<uint64_t>(block.rows, kMiniRows);
  const std::vector<uint64_t> bits(rows, block.first_bits);
  std::vector<ValueSummary> minis(block.rows / kMiniRows, summarize(bits, type));
  const size_t rest = block.rows % kMiniRows;
  if (rest > 0) minis.push_back(summarize(std::span(bits).first(rest), type));
  return minis;
}

void encode_mini_summaries(const ValueSummary& block, std::span<const ValueSummary> minis, ValueType type,
                           std::string* out) {
  const OrderedKey order(type);
  const uint64_t low = order.key(block.min_bits);
  const auto min_of = [&](const ValueSummary& mini) { return order.key(mini.min_bits) - low; };
  const auto range_of = [&](const ValueSummary& mini) { return order.key(mini.max_bits) - order.key(mini.min_bits); };
  size_t min_bytes = 0, range_bytes = 0;
  for (const ValueSummary& mini : minis) {
    if (mini.finite() == 0) continue;
    min_bytes = std::max(min_bytes, bytes_for(min_of(mini)));
    range_bytes = std::max(range_bytes, bytes_for(range_of(mini)));
  }
  const bool counts = block.finite() < block.rows;
  out->push_back(static_cast<char>(counts ? kHasCounts : 0));
  out->push_back(static_cast<char>(min_bytes));
  out->push_back(static_cast<char>(range_bytes));
  for (const ValueSummary& mini : minis) {
    const bool finite = mini.finite() > 0;
    put(finite ? min_of(mini) : 0, min_bytes, out);
    put(finite ? range_of(mini) : 0, range_bytes, out);
    put(finite ? bits_of(mini.sum) : 0, 8, out);
    if (!counts) continue;
    for (const uint64_t count : {mini.nan, mini.pos_inf, mini.neg_inf}) put(count, 2, out);
  }
}

Status decode_mini_summaries(std::string_view bytes, const ValueSummary& block, ValueType type,
                             std::vector<ValueSummary>* out) {
  if (bytes.size() < kHeadBytes) return corrupt("cut", bytes.size());
  const char* at = bytes.data();
  const uint64_t flags = get(&at, 1), min_bytes = get(&at, 1), range_bytes = get(&at, 1);
  if ((flags & ~uint64_t{kHasCounts}) != 0)
    return Status(Code::kVersion, fmt::format("mini summaries: flags {} are of a newer version", flags));
  const bool counts = flags != 0;
  if (min_bytes > value_width(type) || range_bytes > value_width(type)) return corrupt("a key that is too wide", 1);
  const size_t entry = min_bytes + range_bytes + 8 + (counts ? 6 : 0);
  const uint64_t minis = minis_of(block.rows);
  if (bytes.size() - kHeadBytes != minis * entry) return corrupt("wrong length", bytes.size());
  const OrderedKey order(type);
  const uint64_t low = order.key(block.min_bits), high = order.key(block.max_bits);
  for (uint64_t i = 0; i < minis; ++i) {
    ValueSummary mini;
    mini.rows = std::min<uint64_t>(kMiniRows, block.rows - i * kMiniRows);
    const uint64_t min = low + get(&at, min_bytes);
    const uint64_t max = min + get(&at, range_bytes);
    mini.sum = std::bit_cast<double>(get(&at, 8));
    if (counts) {
      mini.nan = get(&at, 2);
      mini.pos_inf = get(&at, 2);
      mini.neg_inf = get(&at, 2);
    }
    const auto offset = static_cast<size_t>(at - bytes.data());
    if (mini.nan + mini.pos_inf + mini.neg_inf > mini.rows) return corrupt("more values than rows", offset);
    if (mini.finite() > 0) {
      if (min < low || max < min || max > high) return corrupt("a range beyond that of the block", offset);
      mini.min_bits = order.raw(min);
      mini.max_bits = order.raw(max);
    }
    out->push_back(mini);
  }
  return {};
}

}  // namespace tracker::internal
