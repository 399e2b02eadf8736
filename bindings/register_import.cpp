// SPDX-License-Identifier: MIT
// For importers written in Python (python/tracker/exchange): rows as columns by the buffer protocol. Blocks on the disk
// without the GIL.
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cli/commands/import_artifact.h"
#include "exchange/run_import.h"
#include "model/redact/redact.h"
#include "register.h"
#include "released_gil.h"
#include "run/services/media_folder.h"
#include "value_convert.h"
#include "without_gil.h"

namespace tracker::python {
namespace {

using internal::EventType;
using internal::ImportStore;
using internal::RunImport;
using internal::RunState;
using internal::ValuePair;
using internal::ValueType;

// A one-dimensional buffer with items of `width` bytes; `type` by its format.
struct Columns {
  py::buffer_info info;
  ValueType type = ValueType::kFloat64;
};

Columns column_of(const py::handle& object, size_t rows) {
  Columns out{py::reinterpret_borrow<py::buffer>(object).request(), ValueType::kFloat64};
  const std::string& format = out.info.format;
  if (format == "d") out.type = ValueType::kFloat64;
  else if (format == "f") out.type = ValueType::kFloat32;
  else if (format == "q" || format == "l") out.type = ValueType::kInt64;
  else if (format == "B" || format == "?") out.type = ValueType::kBool;
  else throw py::type_error("a column of '" + format + "'; expected one of 'd', 'f', 'q', 'B'");
  const bool dense = out.info.ndim == 1 && out.info.strides[0] == out.info.itemsize;
  if (!dense || static_cast<size_t>(out.info.shape[0]) != rows ||
      static_cast<size_t>(out.info.itemsize) != internal::value_width(out.type))
    throw py::value_error("columns are one-dimensional, dense and of equal length");
  return out;
}

uint64_t bits_at(const Columns& column, size_t row) {
  uint64_t bits = 0;
  const size_t width = internal::value_width(column.type);
  std::memcpy(&bits, static_cast<const char*>(column.info.ptr) + row * width, width);
  return column.type == ValueType::kBool ? bits != 0 : bits;
}

void rows(RunImport& run, const std::vector<std::string>& metrics, const py::object& steps, const py::buffer& times,
          const std::vector<py::buffer>& values) {
  if (metrics.size() != values.size()) throw py::value_error("as many columns of values as metrics");
  const auto count = static_cast<size_t>(times.request().size);
  const Columns times_us = column_of(times, count);
  std::vector<Columns> columns;
  for (const py::buffer& value : values) columns.push_back(column_of(value, count));
  const bool has_steps = !steps.is_none();
  const Columns step_column = has_steps ? column_of(steps, count) : Columns{};
  if (times_us.type != ValueType::kInt64 || (has_steps && step_column.type != ValueType::kInt64))
    throw py::type_error("steps and times are columns of 'q'");
  const internal::Status status = [&] {
    const ReleasedGil without_gil;
    std::vector<ValuePair> pairs(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) pairs[i] = {0, run.series(metrics[i], columns[i].type), 0};
    internal::Status done;
    for (size_t row = 0; row < count && done.ok(); ++row) {
      for (size_t i = 0; i < columns.size(); ++i) pairs[i].bits = bits_at(columns[i], row);
      const auto step = has_steps ? static_cast<int64_t>(bits_at(step_column, row)) : 0;
      done = run.row(pairs, step, has_steps, static_cast<int64_t>(bits_at(times_us, row)));
    }
    return done;
  }();
  check(status);
}

py::tuple store_imported(RunImport& run, const py::buffer& bytes, const std::string& extension) {
  const py::buffer_info info = bytes.request();
  const std::string_view view(static_cast<const char*>(info.ptr), static_cast<size_t>(info.size * info.itemsize));
  const internal::MediaFolder folder(take(run.folder()));
  const internal::MediaFile file = take(without_gil([&] { return folder.store(view, extension); }));
  return py::make_tuple(file.digest, file.bytes);
}

py::tuple store_imported_file(RunImport& run, const std::string& path, const std::string& extension) {
  const internal::MediaFolder folder(take(run.folder()));
  const internal::MediaFile file = take(without_gil([&] { return folder.store_file(path, extension); }));
  return py::make_tuple(file.digest, file.bytes);
}

// As for a run that is recorded (Run::redact_document); an import counts nothing.
py::bytes redact_imported(RunImport&, const py::buffer& text, const std::string& extension) {
  const py::buffer_info info = text.request();
  const std::string_view view(static_cast<const char*>(info.ptr), static_cast<size_t>(info.size * info.itemsize));
  uint64_t redacted = 0;
  return py::bytes(without_gil([&] { return internal::redact_document(view, extension, &redacted); }));
}

void media(RunImport& run, const std::string& metric, const py::list& values, int64_t step, int64_t time_us) {
  std::vector<internal::Value> described;
  for (const py::handle value : values) described.push_back(value_from(value));
  check(without_gil([&] { return run.media(metric, std::move(described), step, time_us); }));
}

void imported_alert(RunImport& run, const std::string& title, const std::string& text, const std::string& level,
                    std::optional<int64_t> step, int64_t time_us) {
  const auto known = internal::alert_level(level).value_or(internal::AlertLevel::kInfo);
  check(run.alert(known, title, text, step.value_or(0), step.has_value(), time_us));
}

// `progress` is called with the bytes that are done; its exceptions are reported and go no further.
void imported_artifact(RunImport& run, ImportStore& store, const std::string& name, const std::string& type,
                       const std::string& folder, const std::vector<std::string>& paths, int64_t time_us,
                       const std::string& left_out, const py::function& progress) {
  const internal::Status status = [&] {
    ReleasedGil without_gil;
    const internal::ArtifactProgress say = [&](uint64_t, uint64_t bytes) {
      without_gil.taken([&] {
        try {
          progress(bytes);
        } catch (py::error_already_set& error) {
          error.discard_as_unraisable("progress of an import");
        }
      });
    };
    return internal::import_artifact(&store, &run, {name, type, folder, paths, time_us}, left_out, say);
  }();
  check(status);
}

void set(RunImport& run, const std::string& what, const std::string& key, const py::handle& value) {
  const EventType type = what == "config"    ? EventType::kConfig
                         : what == "summary" ? EventType::kSummary
                                             : EventType::kAttribute;
  check(run.set(type, key, value_from(value)));
}

void end(RunImport& run, const std::string& state, int64_t exit_code, int64_t ended_us) {
  RunState found = RunState::kFinished;
  for (const RunState one : {RunState::kFailed, RunState::kInterrupted, RunState::kCrashed})
    if (state == internal::run_state_name(one)) found = one;
  const internal::Status status = [&] {
    const ReleasedGil without_gil;
    return run.finish(found, exit_code, ended_us);
  }();
  check(status);
}

std::unique_ptr<RunImport> begin(ImportStore& store, const std::string& kind, const std::string& key,
                                 const std::string& source, const std::string& project, const std::string& label,
                                 const std::string& host, int64_t created_us) {
  return take(RunImport::begin(&store, {kind, key, source, project, label, host, created_us}));
}

py::list imported(ImportStore& store) {
  py::list out;
  for (const internal::ImportedRun& run : store.report().runs) {
    py::dict one;
    one["project"] = run.run.project;
    one["id"] = run.run.id;
    one["points"] = run.points;
    one["media"] = run.media;
    one["alerts"] = run.alerts;
    one["artifacts"] = run.artifacts;
    one["changed"] = run.changed;
    out.append(one);
  }
  return out;
}

}  // namespace

void register_import(py::module_& module) {
  py::class_<RunImport>(module, "RunImport")
      .def("rows", &rows, py::arg("metrics"), py::arg("steps"), py::arg("times_us"), py::arg("values"))
      .def(
          "text",
          [](RunImport& run, const std::string& metric, const std::string& text, std::optional<int64_t> step,
             int64_t time_us) { check(run.text(metric, text, step.value_or(0), step.has_value(), time_us)); },
          py::arg("metric"), py::arg("text"), py::arg("step"), py::arg("time_us"))
      .def("media_is_stored", &RunImport::media_is_stored, py::arg("metric"), py::arg("step"), py::arg("time_us"),
           py::arg("index"))
      .def(
          "medium_is_there",
          [](RunImport& run, const std::string& metric, int64_t step, const py::handle& value) {
            return run.medium_is_there(metric, step, value_from(value));
          },
          py::arg("metric"), py::arg("step"), py::arg("value"))
      .def("store_media", &store_imported, py::arg("bytes"), py::arg("extension"))
      .def("store_media_file", &store_imported_file, py::arg("path"), py::arg("extension"))
      .def("redact_document", &redact_imported, py::arg("text"), py::arg("extension"))
      .def("media", &media, py::arg("metric"), py::arg("values"), py::arg("step"), py::arg("time_us"))
      .def("alert", &imported_alert, py::arg("title"), py::arg("text"), py::arg("level"), py::arg("step"),
           py::arg("time_us"))
      .def("artifact", &imported_artifact, py::arg("store"), py::arg("name"), py::arg("type"), py::arg("folder"),
           py::arg("paths"), py::arg("time_us"), py::arg("left_out"), py::arg("progress"))
      .def("set", &set, py::arg("what"), py::arg("key"), py::arg("value"))
      .def("begin_part", &RunImport::begin_part, py::arg("part"))
      .def("mark", &RunImport::mark, py::arg("part"), py::arg("taken"))
      .def_property_readonly("settings_count", &RunImport::settings_count)
      .def_property_readonly("is_new", [](const RunImport& run) { return run.so_far().is_new; })
      .def_property_readonly("created_us", [](const RunImport& run) { return run.so_far().run.created_us; })
      .def("leave_out", &RunImport::leave_out, py::arg("kind"), py::arg("count") = 1)
      .def("end", &end, py::arg("state") = "finished", py::arg("exit_code") = 0, py::arg("ended_us") = 0);
  py::class_<ImportStore>(module, "ImportStore")
      .def_static("open", [](const std::string& path) { return take(ImportStore::open(path)); })
      .def("begin", &begin, py::arg("kind"), py::arg("key"), py::arg("source"), py::arg("project"), py::arg("label"),
           py::arg("host") = "", py::arg("created_us") = 0, py::keep_alive<0, 1>())
      .def("leave_out",
           [](ImportStore& store, const std::string& kind, uint64_t count) { store.report().left_out[kind] += count; })
      .def("problem", [](ImportStore& store,
                         std::string line) { store.report().add_problem(internal::Code::kCorrupt, std::move(line)); })
      .def_property_readonly("runs", &imported)
      .def_property_readonly("left_out", [](ImportStore& store) { return store.report().left_out; })
      .def_property_readonly("problems", [](ImportStore& store) { return store.report().problems; });
}

}  // namespace tracker::python
