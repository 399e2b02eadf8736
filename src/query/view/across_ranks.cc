// SPDX-License-Identifier: MIT
#include "query/view/across_ranks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tracker::internal {
namespace {

struct Entry {
  int64_t step, rank, attempt;
  uint64_t bits;
};

// The rows with a step of each rank, in one pass.
std::vector<std::vector<size_t>> rows_by_rank(const History& rows, const std::vector<int64_t>& ranks) {
  std::vector<size_t> rank_of_source;
  for (const RowSource& source : rows.sources)
    rank_of_source.push_back(
        static_cast<size_t>(std::lower_bound(ranks.begin(), ranks.end(), source.rank) - ranks.begin()));
  std::vector<std::vector<size_t>> out(ranks.size());
  for (size_t row = 0; row < rows.size(); ++row)
    if (rows.row_has_step(row)) out[rank_of_source[rows.source.empty() ? 0 : rows.source[row]]].push_back(row);
  return out;
}

// A history of its own, of what resolve_rows() reads.
History some_rows(const History& rows, const std::vector<size_t>& chosen) {
  History out;
  out.type = rows.type;
  out.sources = rows.sources;
  for (const size_t row : chosen) {
    out.steps.push_back(rows.steps[row]);
    out.bits.push_back(rows.bits[row]);
    out.source.push_back(rows.source.empty() ? 0 : rows.source[row]);
  }
  return out;
}

// Whole numbers are compared as such: beyond 2^53 doubles would make neighbours equal.
bool less(ValueType type, uint64_t a, uint64_t b) {
  if (type == ValueType::kInt64) return static_cast<int64_t>(a) < static_cast<int64_t>(b);
  return to_double(type, a) < to_double(type, b);
}

uint64_t nan_bits(ValueType type) {
  switch (type) {
    case ValueType::kFloat64: return bits_of(std::numeric_limits<double>::quiet_NaN());
    case ValueType::kFloat32: return bits_of(std::numeric_limits<float>::quiet_NaN());
    case ValueType::kFloat16: return 0x7e00;
    case ValueType::kBFloat16: return 0x7fc0;
    default: return 0;  // ints and bools are never NaN
  }
}

// Appends the row of one step from the values of its ranks, by rank.
void add_step(const Entry* begin, const Entry* end, AcrossRanks* out) {
  const Entry *low = nullptr, *high = nullptr;
  long double sum = 0;
  int64_t count = 0;
  for (const Entry* entry = begin; entry != end; ++entry) {
    const double v = to_double(out->type, entry->bits);
    if (std::isnan(v)) continue;
    ++count;
    sum += out->type == ValueType::kInt64 ? static_cast<long double>(static_cast<int64_t>(entry->bits))
                                          : static_cast<long double>(v);
    if (low == nullptr || less(out->type, entry->bits, low->bits)) low = entry;
    if (high == nullptr || less(out->type, high->bits, entry->bits)) high = entry;
  }
  out->steps.push_back(begin->step);
  out->count.push_back(count);
  out->nan.push_back(end - begin - count);
  out->min_bits.push_back(low != nullptr ? low->bits : nan_bits(out->type));
  out->max_bits.push_back(high != nullptr ? high->bits : nan_bits(out->type));
  out->min_rank.push_back(low != nullptr ? low->rank : -1);
  out->max_rank.push_back(high != nullptr ? high->rank : -1);
  out->mean.push_back(count > 0 ? static_cast<double>(sum / static_cast<long double>(count))
                                : std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

AcrossRanks across_ranks(History rows, const Shadow& shadow, DuplicatePolicy policy) {
  AcrossRanks out;
  out.type = rows.type;
  std::set<int64_t> ranks;
  for (size_t i = 0; i < rows.sources.size() && rows.size() > 0; ++i) ranks.insert(rows.sources[i].rank);
  out.ranks.assign(ranks.begin(), ranks.end());
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  const std::vector<std::vector<size_t>> chosen = rows_by_rank(rows, out.ranks);
  for (size_t i = 0; i < out.ranks.size(); ++i) {
    History own = some_rows(rows, chosen[i]);
    resolve_rows(shadow, policy, &own);
    for (size_t row = 0; row < own.size(); ++row)
      entries.push_back(
          {own.steps[row], out.ranks[i], own.sources[own.source.empty() ? 0 : own.source[row]].attempt, own.bits[row]});
  }
  rows = History();
  // Of each step the newest attempt first: its ranks alone have it, as a restart may have fewer.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step < b.step : a.attempt > b.attempt;
  });
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    size_t newest = begin;
    for (end = begin; end < entries.size() && entries[end].step == entries[begin].step; ++end)
      if (entries[end].attempt == entries[begin].attempt) newest = end;
    add_step(&entries[begin], &entries[newest] + 1, &out);
  }
  return out;
}

}  // namespace tracker::internal
