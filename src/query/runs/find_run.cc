// SPDX-License-Identifier: MIT
#include "query/runs/find_run.h"

#include <string>

#include "query/runs/runs_query.h"

namespace tracker::internal {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// A name is given alone or after its project. What cannot be looked up names nothing.
std::vector<RunFolder> runs_called(const Store& store, std::string_view name, bool may_write) {
  RunsQuery query;
  query.may_write = may_write;
  query.where = "name = " + quoted(name);
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1))
    query.where +=
        " or (project = " + quoted(name.substr(0, slash)) + " and name = " + quoted(name.substr(slash + 1)) + ")";
  std::vector<RunFolder> out;
  if (const auto list = query_runs(store, query); list.ok())
    for (const RunRow& row : list->rows) out.push_back(row.run_folder());
  return out;
}

}  // namespace

Result<RunFolder> find_run(const Store& store, std::string_view name, RunNames names, bool may_write) {
  return resolve_run(store, name, names,
                     [&store, may_write](std::string_view called) { return runs_called(store, called, may_write); });
}

}  // namespace tracker::internal
