// SPDX-License-Identifier: MIT
// Listings of runs for tracker.runs(): one call, a filter, an order and a page.
#include <pybind11/stl.h>

#include <string>

#include "artifact/lineage.h"
#include "query/runs/runs_query.h"
#include "register.h"
#include "released_gil.h"
#include "value_convert.h"

namespace tracker::python {
namespace {

using internal::CatalogDocuments;
using internal::RunRow;
using internal::RunsList;
using internal::RunsQuery;
using internal::Store;

py::object seconds(int64_t us) { return py::float_(static_cast<double>(us) / 1e6); }

// The columns of to_pandas(); docs/filter.md lists them.
py::dict row_to_python(const RunRow& row) {
  const internal::CatalogRecord& record = row.record;
  py::dict out;
  out["uid"] = record.identity.uid.hex();
  out["name"] = value_to_python(internal::Value(record.name));
  out["state"] = internal::run_state_name(record.state);
  out["state_detail"] = value_to_python(internal::Value(record.detail));
  out["finished"] = record.ended_us != 0 ? seconds(record.ended_us) : py::none();
  out["host"] = value_to_python(internal::Value(record.host));
  out["points"] = record.points;
  out["lost"] = record.dropped;
  out["texts_lost"] = record.texts_dropped();
  out["entries_lost"] = record.entries_dropped();
  out["attributes"] = value_to_python(record.attributes);
  out["config"] = value_to_python(record.config);
  out["summary"] = value_to_python(record.summary);
  return out;
}

py::dict query(const Store& store, const std::string& project, const std::string& where, const std::string& sort,
               uint64_t limit, uint64_t offset, bool documents, bool may_write) {
  RunsQuery query;
  query.project = project;
  query.where = where;
  query.sort = sort;
  query.limit = limit;
  query.offset = offset;
  query.documents = documents ? CatalogDocuments::kAll : CatalogDocuments::kNone;
  query.may_write = may_write;
  query.name_unknown = true;
  auto found = [&] {
    const ReleasedGil without_gil;
    internal::VersionNumbers numbers(store);
    query.version_name = [&numbers](const std::string& name) { return numbers.name_of(name); };
    return internal::query_runs(store, query);
  }();
  const RunsList list = take(std::move(found));
  py::list folders, rows;
  for (const RunRow& row : list.rows) {
    folders.append(row.run_folder());
    if (documents) rows.append(row_to_python(row));
  }
  py::dict out;
  out["folders"] = folders;
  out["rows"] = rows;
  out["matched"] = list.matched;
  out["notes"] = list.notes;
  out["unknown"] = list.unknown;
  out["problems"] = list.problems;
  return out;
}

}  // namespace

void register_runs(py::module_& module) {
  module.def("query_runs", &query, py::arg("store"), py::arg("project"), py::arg("where"), py::arg("sort"),
             py::arg("limit"), py::arg("offset"), py::arg("documents"), py::arg("may_write"));
}

}  // namespace tracker::python
