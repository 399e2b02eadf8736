// SPDX-License-Identifier: MIT
#include "model/value_counts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tracker::internal {
namespace {

// Sums of so many are added up: rounding grows with the number of parts, not of values.
constexpr size_t kSumPart = 512;

template <typename Number>
ArraySummary summarize(const Number* values, size_t size) {
  ArraySummary out;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (size_t begin = 0; begin < size; begin += kSumPart) {
    double part = 0;
    const size_t end = std::min(begin + kSumPart, size);
    for (size_t i = begin; i < end; ++i) {
      const double value = static_cast<double>(values[i]);
      if (!std::isfinite(value)) {
        ++(std::isnan(value) ? out.nan : value > 0 ? out.pos_inf : out.neg_inf);
        continue;
      }
      low = std::min(low, value);
      high = std::max(high, value);
      part += value;
    }
    out.sum += part;
  }
  out.finite = size - out.nan - out.pos_inf - out.neg_inf;
  if (out.finite > 0) {
    out.min = low;
    out.max = high;
  }
  return out;
}

template <typename Number>
std::vector<uint64_t> count(const Number* values, size_t size, const std::vector<double>& edges) {
  const size_t bins = edges.size() - 1;
  std::vector<uint64_t> counts(bins);
  const double low = edges.front(), high = edges.back();
  const double part = std::isfinite(high - low) ? 1 : 0.5;  // the width of all may be beyond double
  const double begin = low * part, a_bin = static_cast<double>(bins) / (high * part - low * part);
  for (size_t i = 0; i < size; ++i) {
    const double value = static_cast<double>(values[i]);
    if (!(value >= low && value <= high)) continue;
    // About where it lies: rounding, and a width near nothing, may be wrong in either direction. The edges decide.
    const double place = (value * part - begin) * a_bin;
    size_t bin = place < static_cast<double>(bins) ? static_cast<size_t>(std::max(place, 0.0)) : bins - 1;
    while (bin > 0 && value < edges[bin]) --bin;
    while (bin + 1 < bins && value >= edges[bin + 1]) ++bin;
    ++counts[bin];
  }
  return counts;
}

}  // namespace

ArraySummary summarize_values(const float* values, size_t size) { return summarize(values, size); }
ArraySummary summarize_values(const double* values, size_t size) { return summarize(values, size); }

std::vector<uint64_t> count_in_bins(const float* values, size_t size, const std::vector<double>& edges) {
  return count(values, size, edges);
}
std::vector<uint64_t> count_in_bins(const double* values, size_t size, const std::vector<double>& edges) {
  return count(values, size, edges);
}

}  // namespace tracker::internal
