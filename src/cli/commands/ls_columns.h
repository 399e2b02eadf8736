// SPDX-License-Identifier: MIT
// The columns of `tracker ls` that a person names: with --columns, where a "*" stands for keys, and by the fields of
// --where and --sort. Private to ls. Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/command.h"
#include "query/runs/runs_query.h"

namespace tracker::internal {

struct AskedColumns {
  std::vector<FilterField> fields;
  std::vector<std::string> titles;  // as they were asked for
  std::vector<bool> patterns;       // "config.*"
};

// "state, config.opt/*, metrics.val/*.max". Errors: as parse_columns().
Result<AskedColumns> parse_asked_columns(const std::string& text, FilterError* error);
// Each pattern becomes the keys that the rows have, by name; their documents must be there. Lines about those that fit
// none, or more than kKeyColumnsMax.
std::vector<std::string> expand_columns(AskedColumns* columns, RunsList* list);

// The fields that a filter and an order read, each once, but for those that `ls` shows anyway.
std::vector<FilterField> fields_looked_at(const Filter& filter, const std::vector<SortField>& sort);

}  // namespace tracker::internal
