// SPDX-License-Identifier: MIT
// The resolved view of rows: sorted by step, one row a step. Pure functions. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "query/rows/history.h"

namespace tracker::internal {

// Indices of the rows that the resolved view shows, in its order: by step, of equal steps the row that came last; then
// the rows without a step as they came. `has_step` empty: all have one. Cost: linear when the steps increase; else n
// log(number of ascending stretches), so a resumed run is one merge.
std::vector<size_t> resolved_order(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step);

// Whether every row has a step larger than the one before it: the rows are their own resolved view.
bool is_resolved(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step);

// Brings every column of the history into the order given (which may leave rows out).
void select_rows(History* history, const std::vector<size_t>& order);

}  // namespace tracker::internal
