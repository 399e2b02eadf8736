// SPDX-License-Identifier: MIT
// Rows of one metric in memory, by columns. Values without behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "codec/frame.h"
#include "model/records.h"

namespace tracker::internal {

// Where rows come from: one writer of the run.
struct RowSource {
  int64_t attempt = 1;
  int64_t rank = 0;
  Id128 writer;
};

// Rows of one metric. `bits` are raw bits of `type`; when the metric was logged as several types, `type` is the common
// one (float64, or int64 where only ints and bools meet) and own_types/own_bits hold each row's own type and bits for
// exact export. What is the same for all rows takes no memory: a plain history is 24 bytes a row.
struct History {
  ValueType type = ValueType::kFloat64;
  std::vector<int64_t> steps;  // 0 where the row has none
  std::vector<uint64_t> bits;
  std::vector<int64_t> times_us;
  std::vector<uint32_t> source;  // index into `sources`; empty: all rows come from sources[0]
  std::vector<RowSource> sources;
  std::vector<uint8_t> own_types;  // ValueType of each row; empty unless mixed
  std::vector<uint64_t> own_bits;  // empty unless mixed
  std::vector<uint8_t> has_step;   // empty: every row has one
  size_t size() const { return bits.size(); }
  bool mixed() const { return !own_types.empty(); }
  bool row_has_step(size_t row) const { return has_step.empty() || has_step[row] != 0; }
  const RowSource& row_source(size_t row) const { return sources[source.empty() ? 0 : source[row]]; }
  ValueType row_type(size_t row) const { return mixed() ? static_cast<ValueType>(own_types[row]) : type; }
  uint64_t row_bits(size_t row) const { return mixed() ? own_bits[row] : bits[row]; }
};

}  // namespace tracker::internal
