// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "handle.h"
#include "pipeline/warnings.h"
#include "register.h"
#include "released_gil.h"
#include "run/run.h"
#include "run/services/upload.h"
#include "storage/database/writer_paths.h"
#include "value_convert.h"
#include "without_gil.h"

namespace tracker::python {
namespace {

using internal::InitOptions;
using internal::Run;
using internal::RunState;
using internal::RunStatus;
using Seconds = std::chrono::duration<double>;

// Each option by its name in InitOptions; the Python layer has checked names and types.
void set_option(InitOptions* options, const std::string& name, py::handle value) {
  const std::pair<const char*, std::string InitOptions::*> texts[] = {
      {"project", &InitOptions::project},
      {"name", &InitOptions::name},
      {"id", &InitOptions::id},
      {"group", &InitOptions::group},
      {"job_type", &InitOptions::job_type},
      {"notes", &InitOptions::notes},
      {"dir", &InitOptions::dir},
      {"mode", &InitOptions::mode},
      {"host", &InitOptions::host},
      {"token", &InitOptions::token},
      {"resume", &InitOptions::resume},
      {"resume_from", &InitOptions::resume_from},
      {"duplicate_policy", &InitOptions::duplicate_policy},
      {"max_disk", &InitOptions::max_disk},
      {"ranks", &InitOptions::ranks},
      {"capture", &InitOptions::capture},
      {"source_folder", &InitOptions::source_folder},
      {"tensorboard", &InitOptions::tensorboard},
      {"journal", &InitOptions::journal},
      {"on_full", &InitOptions::on_full},
      {"on_sigterm", &InitOptions::on_sigterm},
      {"on_exit", &InitOptions::on_exit}};
  const std::pair<const char*, int InitOptions::*> numbers[] = {{"rank", &InitOptions::rank},
                                                                {"world_size", &InitOptions::world_size},
                                                                {"torch_rank", &InitOptions::torch_rank},
                                                                {"torch_world_size", &InitOptions::torch_world_size}};
  const std::pair<const char*, bool InitOptions::*> flags[] = {{"strict", &InitOptions::strict},
                                                               {"quiet", &InitOptions::quiet},
                                                               {"child_of_run", &InitOptions::child_of_run},
                                                               {"process_group", &InitOptions::process_group}};
  for (const auto& [key, member] : texts)
    if (name == key) return void(options->*member = py::cast<std::string>(value));
  for (const auto& [key, member] : numbers)
    if (name == key) return void(options->*member = py::cast<int>(value));
  for (const auto& [key, member] : flags)
    if (name == key) return void(options->*member = py::cast<bool>(value));
  if (name == "tags") {
    options->tags = py::cast<std::vector<std::string>>(value);
  } else if (name == "system_interval") {
    options->system_interval = py::cast<double>(value);
  } else if (name == "gpu_trial") {
    options->gpu_trial = py::cast<std::vector<std::string>>(value);
  } else if (name == "python_path") {
    options->python_path = py::cast<std::vector<std::string>>(value);
  } else if (name == "python") {
    options->python = value_from(value);
  } else if (name == "config") {
    options->config = value_from(value);
  } else {
    throw py::type_error("unknown option " + name);
  }
}

std::shared_ptr<Run> init_run(const py::dict& given) {
  InitOptions options;
  for (const auto& [name, value] : given)
    if (!value.is_none()) set_option(&options, py::cast<std::string>(name), value);
  internal::Result<std::shared_ptr<Run>> run = [&] {
    const ReleasedGil without_gil;
    return Run::init(options);
  }();
  return take(std::move(run));
}

RunState state_from(const std::string& name) {
  for (const RunState state : {RunState::kFinished, RunState::kFailed, RunState::kInterrupted, RunState::kPreempted})
    if (name == internal::run_state_name(state)) return state;
  throw py::value_error("state must be finished, failed, interrupted or preempted, got " + name);
}

std::chrono::milliseconds milliseconds(double seconds) {
  // A wait of more than a year counts as a year, so that the cast is defined.
  return std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(std::min(std::max(seconds, 0.0), 31536000.0)));
}

bool should_stop(Run& self) {
  if (!self.should_stop_waits()) return self.should_stop();
  const ReleasedGil without_gil;
  return self.should_stop();
}

// Signal handlers run during the wait for the disk: an exception of one, such as Ctrl-C, ends the wait and is raised.
bool flush(Run& self, double timeout) {
  bool raised = false;
  const auto code = [&] {
    ReleasedGil without_gil;
    return self.flush_code(milliseconds(timeout), [&] {
      raised = without_gil.taken([] { return PyErr_CheckSignals() != 0; });
      return !raised;
    });
  }();
  if (raised) throw py::error_already_set();
  return code == internal::Code::kOk;
}

py::dict cost_of(const internal::RunCost& cost) {
  py::dict out;
  out["call_seconds"] = static_cast<double>(cost.call_ns) * 1e-9;
  out["thread_cpu_seconds"] = static_cast<double>(cost.thread_cpu_ns) * 1e-9;
  out["memory_bytes"] = cost.memory_bytes;
  out["memory_bytes_max"] = cost.memory_bytes_max;
  out["bytes_written"] = cost.bytes_written;
  return out;
}

// By name; (stored, dropped, pending).
py::dict series_status_of(const Run& run) {
  const std::vector<internal::SeriesStatus> all = [&] {
    const ReleasedGil without_gil;
    return run.series_status();
  }();
  py::dict out;
  for (const internal::SeriesStatus& each : all)
    out[py::str(each.name)] = py::make_tuple(each.points_stored, each.points_dropped, each.points_pending);
  return out;
}

py::dict status_of(const Run& run) {
  const RunStatus status = [&] {
    const ReleasedGil without_gil;
    return run.status();
  }();
  py::dict out;
  out["points_logged"] = status.points_logged;
  out["points_stored"] = status.points_stored;
  out["points_dropped"] = status.points_dropped;
  out["points_pending"] = status.points_pending;
  out["texts_logged"] = status.texts_logged;
  out["texts_stored"] = status.texts_stored;
  out["texts_dropped"] = status.texts_dropped;
  out["texts_pending"] = status.texts_pending;
  out["entries_dropped"] = status.entries_dropped;
  out["values_rejected"] = status.values_rejected;
  out["values_redacted"] = status.values_redacted;
  out["steps_changed"] = status.steps_changed;
  out["media_logged"] = status.media.logged;
  out["media_stored"] = status.media.stored;
  out["media_dropped"] = status.media.dropped;
  out["alerts_dropped"] = status.alerts_dropped;
  out["console_cut_bytes"] = status.console_cut_bytes;
  out["bytes_stored"] = status.bytes_stored;
  out["journal_bytes"] = status.journal_bytes;
  out["journal"] = status.journal;
  out["store_files"] = status.store_files;
  out["file_system"] = status.file_system;
  out["store_parts"] = status.store_parts;
  py::list survives;
  if (status.survives_process) survives.append("process");
  if (status.survives_container) survives.append("container");
  if (status.survives_power) survives.append("power");
  out["survives"] = py::tuple(survives);
  out["degraded"] = status.degraded;
  out["recording"] = status.recording;
  out["why_not_recording"] = status.why_not_recording;
  out["last_error"] = status.last_error;
  out["recovered_points"] = status.recovered_points;
  out["max_disk"] = status.max_disk != 0 ? py::object(py::int_(status.max_disk)) : py::none();
  out["disk_full"] = status.disk_full;
  out["artifacts_stored"] = status.artifacts_stored;
  out["artifacts_pending"] = status.artifacts_pending;
  out["artifacts_failed"] = status.artifacts_failed;
  out["cost"] = cost_of(status.cost);
  return out;
}

// Calls a verb with a key and a value; a strict run raises an error.
template <typename F>
void set_value(Run& run, const std::string& key, py::handle object, F verb) {
  internal::Value value = value_from(object);
  const internal::Code code = without_gil([&] { return verb(run, key, std::move(value)); });
  if (!run.strict() || code == internal::Code::kOk) return;
  if (code == internal::Code::kInvalid) check(internal::check_key(key));
  if (code == internal::Code::kClosed && (!run.finished() || run.hot()->alive == 0)) return;
  check(internal::Status(code, "'" + key + "' could not be set: " + std::string(internal::code_name(code))));
}

void finish(Run& run, const std::string& state, int exit_code, const std::string& reason, double artifacts) {
  const RunState end = state_from(state);
  const internal::Status status = [&] {
    const ReleasedGil without_gil;
    // Below 0: the process is about to end, and both share the time.
    const auto wait = artifacts < 0 ? std::chrono::milliseconds(-1) : milliseconds(artifacts);
    return run.finish(end, exit_code, reason, internal::kFinishLocalMax, wait);
  }();
  if (run.strict()) check(status);
}

// An error of the server or the network is reported in one line and returns False; a signal handler may end the wait.
template <typename Work>
bool with_server(Work work) {
  bool raised = false;
  const internal::Status status = [&] {
    ReleasedGil without_gil;
    return work([&] {
      raised = raised || without_gil.taken([] { return PyErr_CheckSignals() != 0; });
      return !raised;
    });
  }();
  if (raised) throw py::error_already_set();
  const internal::Code code = status.code();
  const bool is_specific = code == internal::Code::kTimeout || code == internal::Code::kIo ||
                           code == internal::Code::kUnsupported || code == internal::Code::kClosed;
  if (is_specific) internal::print_line(status.to_string());
  else check(status);
  return status.ok();
}

bool upload(Run& run, const std::string& folder, bool make_folder) {
  return with_server(
      [&](const std::function<bool()>& go_on) { return run.upload({"", "", folder, make_folder}, go_on); });
}

bool upload_stored(const internal::RunFolder& run, const std::string& folder, bool make_folder) {
  return with_server([&](const std::function<bool()>& go_on) {
    return internal::upload_run(internal::store_path_of(run.path), run, {"", "", folder, make_folder}, go_on);
  });
}

std::pair<std::string, std::string> known_server(const std::string& host, const std::string& token) {
  const auto server = internal::known_server(host, token);
  check(server.status());
  return {server->url, server->token};
}

bool login(const std::string& host, const std::string& token) {
  return with_server([&](const std::function<bool()>& go_on) { return internal::login(host, token, go_on); });
}

// A bad level is an error at once; a lack of room only in a strict run.
void define_metric(Run& run, const std::string& name, const std::string& step_metric,
                   const std::vector<std::string>& summary, const std::string& goal) {
  const internal::Status status = without_gil([&] { return run.define_metric(name, step_metric, summary, goal); });
  if (status.code() == internal::Code::kInvalid || run.strict()) check(status);
}

void alert(Run& run, const std::string& title, const std::string& text, const std::string& level) {
  const internal::Status status = without_gil([&] { return run.alert(title, text, level); });
  const bool refused = status.code() == internal::Code::kInvalid;
  if (refused || (run.strict() && status.code() != internal::Code::kClosed)) check(status);
  if (run.strict() && run.finished() && run.hot()->alive != 0) check(status);
}

// It may be called more than once: only a run that is over ignores it.
void mark_preempting(Run& run) {
  const internal::Code code = without_gil([&] { return run.mark_preempting(); });
  if (run.strict() && code != internal::Code::kOk)
    check(
        internal::Status(code, "the run could not be marked as preempted: " + std::string(internal::code_name(code))));
}

// Keeps the GIL, so that no fork happens while a thread is in here. It never waits for the disk.
void write_console(Run& run, int stream, const py::str& text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  py::object replaced;
  if (bytes == nullptr) {  // lone surrogates
    PyErr_Clear();
    replaced = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!replaced) throw py::error_already_set();
    bytes = PyBytes_AS_STRING(replaced.ptr());
    size = PyBytes_GET_SIZE(replaced.ptr());
  }
  run.write_console(static_cast<internal::ConsoleStream>(stream), {bytes, static_cast<size_t>(size)});
}

}  // namespace

Run* run_of_core(PyObject* core) {
  if (!py::isinstance<Run>(core)) {
    PyErr_Format(PyExc_TypeError, "expected a RunCore, got %.200s; a Run is made by tracker.init()",
                 Py_TYPE(core)->tp_name);
    return nullptr;
  }
  return py::handle(core).cast<Run*>();
}

namespace {

// Lets ranks without an id of the launch find the run of rank 0 through the store of a process group.
void register_process_group(py::class_<Run, std::shared_ptr<Run>>& run) {
  run.def_property_readonly("group_key", &Run::group_key)
      .def_property_readonly("group_text", &Run::group_text)
      .def_property_readonly("rank", &Run::rank)
      .def_property_readonly("world_size", &Run::world_size)
      .def_property_readonly("waits_for_run", &Run::waits_for_run)
      .def("tell_run", [](Run& self, const std::string& text) { return self.tell_run(text).ok(); }, py::arg("text"));
}

void register_entries(py::class_<Run, std::shared_ptr<Run>>& run) {
  run.def(
         "set_config",
         [](Run& self, const std::string& key, py::handle value) {
           set_value(self, key, value,
                     [](Run& r, const std::string& k, internal::Value v) { return r.set_config(k, std::move(v)); });
         },
         py::arg("key"), py::arg("value"))
      .def(
          "set_summary",
          [](Run& self, const std::string& key, py::handle value) {
            set_value(self, key, value,
                      [](Run& r, const std::string& k, internal::Value v) { return r.set_summary(k, std::move(v)); });
          },
          py::arg("key"), py::arg("value"))
      .def(
          "set_attribute",
          [](Run& self, const std::string& key, py::handle value) {
            set_value(self, key, value,
                      [](Run& r, const std::string& k, internal::Value v) { return r.set_attribute(k, std::move(v)); });
          },
          py::arg("key"), py::arg("value"))
      .def("config", [](const Run& self) { return value_to_python(self.config()); })
      .def(
          "config_entry",
          [](const Run& self, const std::string& key) { return value_to_python(self.config_entry(key)); },
          py::arg("key"))
      .def("explicit_summary", [](const Run& self) { return value_to_python(self.explicit_summary()); });
}

}  // namespace

void register_run(py::module_& module) {
  py::class_<Run, std::shared_ptr<Run>> run(module, "RunCore", "The verbs of a run beside log() and metric().");
  run.def("define_metric", &define_metric, py::arg("name"), py::arg("step_metric"), py::arg("summary"), py::arg("goal"))
      .def("alert", &alert, py::arg("title"), py::arg("text"), py::arg("level"))
      .def("should_stop", &should_stop)
      .def("stop_reason", &Run::stop_reason)
      .def("mark_preempting", &mark_preempting)
      .def_property_readonly("ends_with_process", &Run::ends_with_process)
      .def("flush", &flush, py::arg("timeout"))
      .def("finish", &finish, py::arg("state"), py::arg("exit_code"), py::arg("reason"), py::arg("artifacts"))
      .def(
          "set_exit_reason",
          [](Run& self, const std::string& state, int exit_code, const std::string& reason) {
            self.set_exit_reason(state_from(state), exit_code, reason);
          },
          py::arg("state"), py::arg("exit_code"), py::arg("reason"))
      .def("upload", &upload, py::arg("folder"), py::arg("make_folder"))
      .def_property_readonly("url", &Run::url)
      .def("write_console", &write_console, py::arg("stream"), py::arg("text"))
      .def("status", &status_of)
      .def("series_status", &series_status_of)
      .def_property_readonly("finished", &Run::finished)
      .def_property_readonly("recording", &Run::recording)
      .def_property_readonly("takes_console", &Run::takes_console)
      .def_property_readonly("step", &Run::step)
      .def_property_readonly("next_step", &Run::next_step)
      .def_property_readonly("id", &Run::id)
      .def_property_readonly("uid", &Run::uid)
      .def_property_readonly("name", &Run::name)
      .def_property_readonly("project", &Run::project)
      .def_property_readonly("dir", &Run::dir)
      .def_property_readonly("store_path", &Run::store_path)
      .def_property_readonly("max_disk", &Run::max_disk)
      .def_property_readonly("mode", &Run::mode)
      .def_property_readonly("attempt", &Run::attempt)
      .def_property_readonly("strict", &Run::strict);
  register_entries(run);
  register_process_group(run);
  register_media(module, run);
  module.def("upload_stored", &upload_stored, py::arg("run"), py::arg("folder"), py::arg("make_folder"),
             "As RunCore.upload(), of a run that is stored, to the server that is known.");
  module.def("known_server", &known_server, py::arg("host"), py::arg("token"),
             "Address and token that an upload would use; the address is empty where no server is known.");
  module.def("login", &login, py::arg("host"), py::arg("token"), "Saves them; True: the server takes the token.");
  module.def("init_run", &init_run, py::arg("options"), "Opens a run; None means not given.");
}

}  // namespace tracker::python
