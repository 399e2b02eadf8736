// SPDX-License-Identifier: MIT
// Results as Arrow tables through the C data interface (query/table/arrow_abi.h), so that pyarrow, pandas, polars and
// DuckDB take them and this library needs none of them. Memory is shared, not copied, but for bools and presence (bits
// in Arrow) and bfloat16 (float32 in Arrow, which has no such type).
//
// Release: every array holds the table it came from; it lives until the last array, stream and reader of it is gone,
// whatever became of the run. Releasing needs no lock and no interpreter. Threads: a table is read by any number of
// threads; a stream by one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "query/rows/packed.h"
#include "query/table/arrow_abi.h"

namespace tracker::internal {

constexpr size_t kArrowChunkRows = 65'536;  // of one array of a stream; a multiple of 64

struct ArrowColumn {
  std::string name;
  PackedColumn values;
  PackedColumn present;      // bool a row; none: no nulls
  bool is_time = false;      // int64 µs since 1970, UTC: a timestamp
  bool is_constant = false;  // int64; `values` has one row, which stands for all
};

class ArrowTable {
 public:
  ArrowTable(size_t rows, std::vector<ArrowColumn> columns);
  size_t rows() const { return rows_; }
  const std::vector<ArrowColumn>& columns() const { return columns_; }

 private:
  size_t rows_;
  std::vector<ArrowColumn> columns_;
};

// The name of a metric's column where `taken` are the names of others: itself, or "step (metric)" and so on.
std::string column_name(std::string name, const std::vector<std::string>& taken);

// step (null where a row has none), the x metric under its name where there is one, value, time, attempt, rank.
std::shared_ptr<const ArrowTable> arrow_table(const PackedHistory& history);

// Fill `out`, which the caller releases once by its release callback, or moves.
void export_schema(const ArrowTable& table, ArrowSchema* out);
// Rows [begin, begin + count); begin is a multiple of 64.
void export_array(const std::shared_ptr<const ArrowTable>& table, size_t begin, size_t count, ArrowArray* out);
// Arrays of kArrowChunkRows rows; none for an empty table. get_next answers ENOMEM where memory ends.
void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out);

}  // namespace tracker::internal
