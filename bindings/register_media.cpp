// SPDX-License-Identifier: MIT
// The core of tracker/_media.py: the account, files and events of media, and reading them.
#include <pybind11/stl.h>

#include <chrono>
#include <memory>
#include <string>

#include "device_values.h"
#include "media_hook.h"
#include "model/redact/redact.h"
#include "query/view/media.h"
#include "register.h"
#include "released_gil.h"
#include "run/run.h"
#include "run/services/media_folder.h"
#include "value_convert.h"
#include "view_object.h"
#include "without_gil.h"

namespace tracker::python {
namespace {

using internal::Code;
using internal::MediaFile;
using internal::Run;

py::tuple file_to_python(internal::Result<MediaFile> file) {
  const MediaFile found = take(std::move(file));
  return py::make_tuple(found.digest, found.bytes);
}

std::string_view view_of(const py::buffer_info& info) {
  return {static_cast<const char*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)};
}

py::tuple store_media(Run& run, const py::buffer& bytes, const std::string& extension) {
  const py::buffer_info info = bytes.request();
  const std::string_view view = view_of(info);
  return file_to_python(without_gil([&] { return run.store_media(view, extension); }));
}

// None: the file has changed since.
py::object store_media_file(Run& run, const std::string& path, const std::string& extension, uint64_t bytes,
                            int64_t mtime_ns) {
  const internal::ListedFile file{path, bytes, mtime_ns};
  auto stored = without_gil([&] { return run.store_media_file(file, extension); });
  if (stored.status().code() == internal::Code::kBusy) return py::none();
  return file_to_python(std::move(stored));
}

// Given up after limit_ms: StoreError.
py::tuple store_media_unsynced(Run& run, const py::buffer& head, const py::buffer& bytes, const std::string& extension,
                               int64_t limit_ms) {
  const py::buffer_info first = head.request(), rest = bytes.request();
  const std::string_view head_view = view_of(first), view = view_of(rest);
  const std::chrono::milliseconds limit(limit_ms);
  return file_to_python(without_gil([&] { return run.store_media_unsynced(head_view, view, extension, limit); }));
}

void sync_media(const Run& run, const std::string& digest, const std::string& extension) {
  (void)without_gil([&] {
    run.sync_media(digest, extension);
    return 0;
  });
}

py::bytes redact_document(Run& run, const py::buffer& text, const std::string& extension) {
  const py::buffer_info info = text.request();
  const std::string_view view = view_of(info);
  return py::bytes(without_gil([&] { return run.redact_document(view, extension); }));
}

void log_media_value(Run& run, const std::string& key, int64_t step, uint64_t call, int64_t time_us, py::handle value) {
  internal::Value described = value_from(value);
  // A full ring waits up to 10 ms.
  check(without_gil([&] { return run.log_media(key, step, call, time_us, std::move(described)); }));
}

void drop_media(Run& run, const std::string& key, const std::string& reason, const std::string& detail,
                uint64_t values) {
  (void)without_gil([&] {
    run.drop_media(key, reason, detail, values);
    return 0;
  });
}

void drop_values(Run& run, const std::string& key, uint8_t type, uint64_t values, const std::string& why) {
  run.drop_values(
      key, internal::is_value_type(type) ? static_cast<internal::ValueType>(type) : internal::ValueType::kFloat64,
      values, why);
}

py::list media_of(View& self, const std::string& name, bool all) {
  py::list out;
  for (const internal::MediaRow& row :
       take(self.with([&](internal::RunView& view) { return read_media(&view, name, all); })))
    out.append(py::make_tuple(row.has_step ? py::object(py::int_(row.step)) : py::object(py::none()),
                              static_cast<double>(row.time_us) / 1e6, row.attempt, row.rank, value_to_python(row.value),
                              row.file));
  return out;
}

py::dict media_account_of(View& self) {
  const internal::MediaAccount account = self.with([](internal::RunView& view) { return media_account(view); });
  py::dict out, reasons;
  for (const auto& [reason, count] : account.by_reason) reasons[py::str(reason)] = count;
  out["logged"] = account.logged;
  out["stored"] = account.stored;
  out["dropped"] = account.dropped;
  out["pending"] = account.pending;
  out["lost"] = account.lost;
  out["by_reason"] = reasons;
  return out;
}

}  // namespace

void register_media(py::module_& module, py::class_<Run, std::shared_ptr<Run>>& run) {
  run.def(
         "begin_media",
         [](Run& self, const std::string& key, int64_t step, uint64_t values) {
           return std::string(internal::code_name(without_gil([&] { return self.begin_media(key, step, values); })));
         },
         py::arg("key"), py::arg("step"), py::arg("values"))
      .def("next_media_call", &Run::next_media_call)
      .def("store_media", &store_media, py::arg("bytes"), py::arg("extension"))
      .def("store_media_file", &store_media_file, py::arg("path"), py::arg("extension"), py::arg("bytes"),
           py::arg("mtime_ns"))
      .def("store_media_unsynced", &store_media_unsynced, py::arg("head"), py::arg("bytes"), py::arg("extension"),
           py::arg("limit_ms"))
      .def("sync_media", &sync_media, py::arg("digest"), py::arg("extension"))
      .def("log_media", &log_media_value, py::arg("key"), py::arg("step"), py::arg("call"), py::arg("time_us"),
           py::arg("value"))
      .def("redact_document", &redact_document, py::arg("text"), py::arg("extension"))
      .def("drop_media", &drop_media, py::arg("key"), py::arg("reason"), py::arg("detail"), py::arg("values"))
      .def(
          "reject_media", [](Run& self, std::string_view key, std::string_view why) { self.count_rejected(key, why); },
          py::arg("key"), py::arg("why"))
      .def(
          "reject_entry",
          [](Run& self, std::string_view key, std::string_view why) { self.count_rejected(key, why, 1, true); },
          py::arg("key"), py::arg("why"))
      .def("drop_values", &drop_values, py::arg("key"), py::arg("type"), py::arg("values"), py::arg("why"))
      .def("drop_device_values", &drop_device_values, py::arg("keys"), py::arg("types"), py::arg("places"),
           py::arg("why"))
      .def_property_readonly("takes_media", &Run::takes_media);
  module.def("is_secret_key", [](const std::string& key) { return internal::is_secret_key(key); }, py::arg("key"));
  module.def("hand_over_device_values", &hand_over_device_values, py::arg("queue"), py::arg("copy"), py::arg("keys"),
             py::arg("places"));
  static PyMethodDef hook = {"_set_media_hook", set_media_hook, METH_VARARGS, nullptr};
  module.attr("_set_media_hook") = py::reinterpret_steal<py::object>(PyCFunction_New(&hook, nullptr));
}

void register_media_reading(py::class_<View>& view) {
  view.def("media", &media_of, py::arg("name"), py::arg("all"))
      .def("media_names", [](View& self) { return self.with([](internal::RunView& v) { return media_names(v); }); })
      .def("media_account", &media_account_of);
}

}  // namespace tracker::python
