// SPDX-License-Identifier: MIT
// Columns as their readers take them: packed to the width of their type, in memory that is shared by all who hold it
// (NumPy arrays, Arrow consumers, smoothers) and freed with the last of them. Threads: values; nothing here writes the
// memory itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/rows/history.h"

namespace tracker::internal {

struct PackedColumn {
  std::shared_ptr<void> owner;
  void* data = nullptr;  // rows x value_width(type) bytes
  size_t rows = 0;
  ValueType type = ValueType::kInt64;
  explicit operator bool() const { return owner != nullptr; }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

// Without a copy where the type is 8 bytes wide. Cost: else one pass.
PackedColumn pack_values(std::vector<uint64_t> bits, ValueType type);
PackedColumn pack_ints(std::vector<int64_t> values);
PackedColumn pack_flags(std::vector<uint8_t> flags);
PackedColumn pack_doubles(std::vector<double> values);
// bfloat16 as the float32 of the same value; other types as they are.
PackedColumn widen_bfloat16(const PackedColumn& column);
// The values as doubles (int64 beyond 2^53 rounds); shares the memory where they are doubles already.
PackedColumn as_doubles(const PackedColumn& column);

// `out` has room for bits.size() doubles. Cost: the type is read once a call, not once a value.
void to_doubles(ValueType type, const uint64_t* bits, size_t count, double* out);

// A history in packed columns.
struct PackedHistory {
  std::string name;
  PackedColumn steps, values, times_us;
  PackedColumn has_step;  // bool; none: every row has a step
  PackedColumn source;    // int64 indices into `sources`; none: all rows come from sources[0]
  std::vector<RowSource> sources;
  std::string x_name;
  PackedColumn x;  // the metric it is sorted by, where one was asked for
};
PackedHistory pack_history(std::string name, History history);
// Attempts or ranks of the rows: one value for all of them, or one a row.
PackedColumn column_of_sources(const PackedHistory& history, int64_t RowSource::* number);

}  // namespace tracker::internal
