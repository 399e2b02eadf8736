// SPDX-License-Identifier: MIT
// A summary of the values of a series in a block, stored in the directory of a segment. It is made from the summaries
// of its mini-blocks.
// Threads: pure functions. Cost: about a nanosecond a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/number.h"

namespace tracker::internal {

// Minimum, maximum and sum are over finite values; -0 < +0. The sum is a float64: in a mini-block, its values,
// converted to float64, are added in row order to 0.0; in a block, the sums of its mini-blocks are added in order to
// 0.0. So it is the same on every machine.
struct ValueSummary {
  uint64_t rows = 0;
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t min_bits = 0, max_bits = 0;     // of the series' type; valid when finite() > 0
  uint64_t first_bits = 0, last_bits = 0;  // in the order of the block's rows; kept for blocks only
  double sum = 0;
  uint64_t finite() const { return rows - nan - pos_inf - neg_inf; }
  bool operator==(const ValueSummary&) const = default;
};

// Of each kMiniRows values (raw bits); without first and last.
std::vector<ValueSummary> summarize_minis(std::span<const uint64_t> bits, ValueType type);
// Of the block with these mini-blocks and values.
ValueSummary summarize_block(std::span<const ValueSummary> minis, std::span<const uint64_t> bits, ValueType type);

}  // namespace tracker::internal
