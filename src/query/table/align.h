// SPDX-License-Identifier: MIT
// Several metrics side by side: joined on the step, or sorted by another metric. Pure functions on resolved histories.
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/rows/packed.h"
#include "query/table/arrow.h"

namespace tracker::internal {

struct AlignedColumn {
  std::string name;
  PackedColumn values;   // of the type logged; zero bits where nothing is present
  PackedColumn present;  // bool; none: every row has a value
};

struct AlignedTable {
  PackedColumn steps;  // ascending, each once; with an x: those of the rows in the order of x
  std::vector<AlignedColumn> columns;
  std::string x_name;
  PackedColumn x;  // none unless asked for
};

// The outer join: all steps that any of the histories has, each column with what it has there. Rows without a step are
// left out. `names` runs parallel to `histories`. Cost: linear; where all have the same steps nothing is copied.
AlignedTable align_by_step(std::vector<std::string> names, std::vector<History> histories);
// The same, then only the steps at which `x` has a number (not NaN), sorted by it; of equal x the smaller step first.
AlignedTable align_by_x(std::vector<std::string> names, std::vector<History> histories, std::string x_name,
                        const History& x);
// The rows of one history whose step has an x that is not NaN, sorted by it; of equal x their order stays.
PackedHistory sort_by_x(std::string name, History history, std::string x_name, const History& x);

// step, the x metric where there is one, then the metrics in the order asked; gaps are null.
std::shared_ptr<const ArrowTable> arrow_table(const AlignedTable& table);

// Which rows have an x, in its order, and what it is there: the join that the functions above use. `x` is resolved.
struct JoinedX {
  std::vector<size_t> rows;
  std::vector<uint64_t> bits;  // of x.type, one for each of `rows`
};
JoinedX join_x(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step, const History& x);

}  // namespace tracker::internal
