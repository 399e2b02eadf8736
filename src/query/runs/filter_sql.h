// SPDX-License-Identifier: MIT
// The part of a filter that SQLite can decide from the small columns of the catalog, as a condition with bound
// parameters: no text of the filter is ever part of the statement. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/filter/filter.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

using SqlParameter = std::variant<int64_t, std::string>;

// Every run that the filter matches satisfies `condition`; where `exact`, no other run does. Rows of a condition
// that is not exact are checked by Filter::matches(). Conditions are 0 or 1, never NULL. Empty: nothing can be said.
struct FilterSql {
  std::string condition;
  std::vector<SqlParameter> parameters;
  bool exact = false;
};

FilterSql compile_filter(const Filter& filter, int64_t now_us);
void bind_parameters(Statement& statement, const std::vector<SqlParameter>& parameters);

// A column or expression by which SQLite orders as compare_for_sort() does; empty where there is none.
std::string sql_of_field(FilterFieldId field, int64_t now_us);

}  // namespace tracker::internal
