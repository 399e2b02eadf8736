// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/visible.h"
#include "query/rows/packed.h"
#include "query/runs/find_run.h"
#include "query/view/across_ranks.h"
#include "query/view/alerts.h"
#include "query/view/attempts.h"
#include "query/view/console.h"
#include "query/view/environment.h"
#include "query/view/rank_status.h"
#include "query/view/run_view.h"
#include "register.h"
#include "released_gil.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/recovery.h"
#include "storage/store/run_folder.h"
#include "storage/store/stop_request.h"
#include "storage/store/store.h"
#include "value_convert.h"
#include "view_object.h"

namespace tracker::python {
namespace {

using internal::MetricInfo;
using internal::PackedColumn;
using internal::RunFolder;
using internal::RunView;
using internal::Store;
using internal::ValueType;

// Lines for users, with names from files of any origin made printable.
std::vector<std::string> all_visible(std::vector<std::string> lines) {
  for (std::string& line : lines) line = internal::visible(line);
  return lines;
}

// A result of the disk, waited for without the GIL.
template <typename F>
auto looked_up(F&& function) {
  auto found = [&] {
    const ReleasedGil without_gil;
    return function();
  }();
  return take(std::move(found));
}

// `in_store`: frames of a dead process may be converted to a database; a folder outside a store is only read.
std::unique_ptr<View> open_view(const RunFolder& folder, bool in_store) {
  auto opened = [&] {
    const ReleasedGil without_gil;
    if (in_store) internal::build_ended_frames(folder.path);
    return RunView::open(folder);
  }();
  check(opened.status());
  return std::make_unique<View>(std::move(*opened));
}

py::dict metric_to_python(const MetricInfo& metric) {
  py::dict out;
  out["name"] = metric.name;
  py::list types;
  for (const ValueType type : metric.types) types.append(internal::value_type_name(type));
  out["types"] = types;
  out["points"] = metric.points;
  out["dropped"] = metric.dropped;
  const auto limit = [&](const char* name, bool valid, auto value) {
    if (valid) {
      out[name] = value;
    } else {
      out[name] = py::none();
    }
  };
  limit("step_min", metric.has_steps, metric.step_min);
  limit("step_max", metric.has_steps, metric.step_max);
  limit("last_step", metric.has_steps && metric.shown.points > 0, metric.last_step);
  limit("min", metric.shown.finite > 0, metric.shown.min);
  limit("max", metric.shown.finite > 0, metric.shown.max);
  out["step_metric"] = metric.definition.step_metric;
  py::list kinds;
  for (const internal::SummaryKind kind : metric.definition.summary) kinds.append(summary_kind_name(kind));
  out["summary"] = py::tuple(kinds);
  out["goal"] = goal_name(metric.definition.goal);
  out["nan"] = metric.nan;
  out["pos_inf"] = metric.pos_inf;
  out["neg_inf"] = metric.neg_inf;
  return out;
}

// The metric that define_metric() has named as this one's x, if the run has it; else empty.
std::string default_x(View& self, const std::string& metric) {
  return self.with([&](RunView& view) -> std::string {
    const std::vector<MetricInfo>& metrics = view.stored_metrics();
    const auto named = [&](const std::string& name) {
      return std::find_if(metrics.begin(), metrics.end(), [&](const MetricInfo& one) { return one.name == name; });
    };
    const auto found = named(metric);
    if (found == metrics.end() || found->definition.step_metric == metric) return {};
    return named(found->definition.step_metric) == metrics.end() ? "" : found->definition.step_metric;
  });
}

py::list metrics_of(View& self) {
  py::list out;
  for (const MetricInfo& metric : self.with([](RunView& view) { return view.metrics(); }))
    out.append(metric_to_python(metric));
  return out;
}

// Without reading rows, which metrics_of() may need.
std::vector<std::string> metric_names(View& self) {
  return self.with([](RunView& view) {
    std::vector<std::string> out;
    for (const MetricInfo& metric : view.stored_metrics()) out.push_back(metric.name);
    return out;
  });
}

std::string unrecovered_text(const internal::WaitingPoints& waiting) {
  const std::string place =
      "the journal of " + internal::visible(waiting.writer.host) + " pid " + std::to_string(waiting.writer.pid);
  const std::string unread =
      waiting.unread_rings == 0 ? ""
      : waiting.unread_rings == 1
          ? "an unknown number of points in 1 ring that cannot be read"
          : "an unknown number of points in " + std::to_string(waiting.unread_rings) + " rings that cannot be read";
  if (waiting.points + waiting.texts == 0) return "not read: " + unread + ", in " + place;
  return "not read: " + std::to_string(waiting.points) + " points and " + std::to_string(waiting.texts) +
         " texts, which wait in " + place + "; they are safe there: open the run again when the store takes them" +
         (unread.empty() ? "" : "; and " + unread);
}

// What is in journals of dead processes, one line each. Nothing is read if every writer is alive or has ended.
std::vector<std::string> unrecovered_of(View& self) {
  const std::vector<internal::WaitingPoints> waiting = self.with([](RunView& view) {
    const auto& writers = view.writers();
    bool dead = writers.empty() && view.state() != internal::RunState::kRunning;
    for (size_t i = 0; i < writers.size(); ++i)
      dead |= !writers[i].end && !writers[i].recovered && view.liveness()[i] != internal::Liveness::kLive;
    return dead ? view.losses().waiting : std::vector<internal::WaitingPoints>();
  });
  std::vector<std::string> out;
  for (const internal::WaitingPoints& each : waiting) {
    if (!each.live && each.waits()) out.push_back(unrecovered_text(each));
  }
  return out;
}

py::dict losses_of(View& self) {
  const internal::LossAccount account = self.with([](RunView& view) { return view.losses(); });
  py::dict out;
  out["logged"] = account.logged;
  out["stored"] = account.stored;
  out["dropped"] = account.dropped;
  out["pending"] = account.pending;
  out["pending_approximate"] = account.pending_approximate;
  out["rejected_values"] = account.rejected_values;
  out["recovered"] = account.recovered;
  out["unread_rings"] = account.unread_rings;
  out["missing_journals"] = account.missing_journals;
  py::dict reasons, texts, text_reasons, entries, entry_reasons;
  for (const auto& [reason, count] : account.by_reason) reasons[py::str(reason)] = count;
  for (const auto& [reason, count] : account.texts.by_reason) text_reasons[py::str(reason)] = count;
  out["by_reason"] = reasons;
  texts["logged"] = account.texts.logged;
  texts["stored"] = account.texts.stored;
  texts["dropped"] = account.texts.dropped;
  texts["pending"] = account.texts.pending;
  texts["by_reason"] = text_reasons;
  out["texts"] = texts;
  for (const auto& [reason, count] : account.entries.by_reason) entry_reasons[py::str(reason)] = count;
  entries["dropped"] = account.entries.dropped;
  entries["by_reason"] = entry_reasons;
  out["entries"] = entries;
  py::dict metrics;
  for (const internal::MetricAccount& each : self.with([](RunView& view) { return view.losses_by_metric(); })) {
    py::dict entry, why;
    for (const auto& [reason, count] : each.by_reason) why[py::str(reason)] = count;
    entry["logged"] = each.logged();
    entry["stored"] = each.stored;
    entry["dropped"] = each.dropped;
    entry["pending"] = each.pending;
    entry["by_reason"] = why;
    metrics[py::str(each.metric)] = entry;
  }
  out["by_metric"] = metrics;
  return out;
}

// The min and max columns with the metric's own dtype.
struct AcrossColumns {
  std::string type;
  PackedColumn steps, min, max, mean, min_rank, max_rank, count, nan;
  std::vector<int64_t> ranks;
};

py::dict across_ranks_of(View& self, const std::string& metric) {
  auto result = self.with([&](RunView& view) -> internal::Result<AcrossColumns> {
    auto across = view.across_ranks(metric);
    if (!across.ok()) return across.status();
    AcrossColumns out;
    out.type = internal::value_type_name(across->type);
    out.steps = internal::pack_ints(std::move(across->steps));
    out.min = internal::pack_values(std::move(across->min_bits), across->type);
    out.max = internal::pack_values(std::move(across->max_bits), across->type);
    out.mean = internal::pack_doubles(std::move(across->mean));
    out.min_rank = internal::pack_ints(std::move(across->min_rank));
    out.max_rank = internal::pack_ints(std::move(across->max_rank));
    out.count = internal::pack_ints(std::move(across->count));
    out.nan = internal::pack_ints(std::move(across->nan));
    out.ranks = std::move(across->ranks);
    return out;
  });
  check(result.status());
  py::dict out;
  out["type"] = result->type;
  out["ranks"] = result->ranks;
  out["steps"] = std::move(result->steps);
  out["min"] = std::move(result->min);
  out["max"] = std::move(result->max);
  out["mean"] = std::move(result->mean);
  out["min_rank"] = std::move(result->min_rank);
  out["max_rank"] = std::move(result->max_rank);
  out["count"] = std::move(result->count);
  out["nan"] = std::move(result->nan);
  return out;
}

py::list attempts_of(View& self) {
  py::list out;
  for (const internal::AttemptInfo& info : self.with([](RunView& view) { return view.attempts(); }))
    out.append(py::make_tuple(info.attempt, info.continues, info.resume_step, info.shown_up_to,
                              static_cast<double>(info.started_us) / 1e6, info.writers, info.points, info.state,
                              static_cast<double>(info.last_seen_us) / 1e6));
  return out;
}

py::list ranks_of(View& self) {
  const auto seconds = [](int64_t time_us) {
    return time_us == 0 ? std::optional<double>() : static_cast<double>(time_us) / 1e6;
  };
  py::list out;
  for (const internal::RankStatus& rank : self.with([](RunView& view) { return view.ranks(); }))
    out.append(py::make_tuple(rank.rank, rank.attempt, rank.state, rank.last_step, seconds(rank.last_logged_us),
                              seconds(rank.last_seen_us), rank.points, rank.dropped, rank.observed, rank.host,
                              rank.pid));
  return out;
}

py::list text_rows(const std::vector<internal::TextRow>& rows) {
  py::list out;
  for (const internal::TextRow& row : rows) {
    const py::object step = row.has_step ? py::object(py::int_(row.step)) : py::object(py::none());
    out.append(py::make_tuple(step, static_cast<double>(row.time_us) / 1e6, value_to_python(internal::Value(row.text)),
                              row.attempt, row.rank));
  }
  return out;
}

py::list texts_of(View& self, const std::string& metric, bool all) {
  return text_rows(take(self.with([&](RunView& view) { return view.texts(metric, all); })));
}

// (text, stream, time, attempt, rank, line, updates, open, joined, cut_bytes, no_room) for each line, and the number of
// all.
py::tuple console_of(View& self, py::object rank, int stream, const std::string& contains, size_t last) {
  internal::ConsoleQuery query;
  if (!rank.is_none()) query.rank = rank.cast<int64_t>();
  query.stream = stream;
  query.contains = contains;
  query.last = last;
  const internal::ConsoleOutput output = take(self.with([&](RunView& view) { return read_console(&view, query); }));
  py::list lines;
  for (const internal::ConsoleLine& line : output.lines)
    lines.append(py::make_tuple(value_to_python(internal::Value(line.text)), line.stream == 2 ? "stderr" : "stdout",
                                static_cast<double>(line.time_us) / 1e6, line.source.attempt, line.source.rank,
                                line.number, line.updates, line.open, line.joined, line.cut_bytes, line.no_room));
  return py::make_tuple(lines, output.total);
}

// (level, title, text, time, step, attempt, rank, cut_bytes) for each alert; the number of all, and of those without
// room.
py::tuple alerts_of(View& self) {
  const internal::Alerts found = take(self.with([](RunView& view) { return read_alerts(&view); }));
  py::list out;
  for (const internal::Alert& alert : found.alerts)
    out.append(py::make_tuple(internal::alert_level_name(alert.level), value_to_python(internal::Value(alert.title)),
                              value_to_python(internal::Value(alert.text)), static_cast<double>(alert.time_us) / 1e6,
                              alert.step, alert.source.attempt, alert.source.rank, alert.cut_bytes));
  return py::make_tuple(out, found.total, found.dropped);
}

// (reason, by, time, attempt), or None.
py::object stop_request_of(const RunFolder& folder) {
  const auto request = looked_up([&] { return internal::read_stop_request(folder.path); });
  if (!request) return py::none();
  return py::make_tuple(value_to_python(internal::Value(request->reason)),
                        value_to_python(internal::Value(request->by)), static_cast<double>(request->requested_us) / 1e6,
                        request->attempt);
}

std::vector<std::string> text_names(View& self) {
  const auto texts = take(self.with([](RunView& view) { return view.texts_by_metric(false); }));
  std::vector<std::string> names;
  for (const auto& [name, rows] : texts) names.push_back(name);
  return names;
}

py::list writers_of(View& self) {
  py::list out;
  for (const internal::WriterSnapshot& writer : self.with([](RunView& view) { return view.writers(); })) {
    py::dict entry;
    entry["writer"] = writer.identity.writer.hex();
    entry["attempt"] = writer.identity.attempt;
    entry["rank"] = writer.identity.rank;
    entry["world_size"] = writer.identity.world_size;
    entry["host"] = writer.identity.host;
    entry["pid"] = writer.identity.pid;
    entry["journal"] = writer.identity.journal;
    entry["started"] = static_cast<double>(writer.identity.started_us) / 1e6;
    entry["points"] = writer.points;
    entry["dropped"] = writer.dropped;
    out.append(entry);
  }
  return out;
}

template <typename F>
auto getter(F function) {
  return [function](View& self) { return self.with(function); };
}

void register_store(py::module_& module) {
  py::class_<RunFolder>(module, "RunFolder", "A run's folder and identity.")
      .def_static("of",
                  [](const std::string& path) { return looked_up([&] { return internal::read_run_folder(path); }); })
      .def_property_readonly("id", [](const RunFolder& self) { return self.identity.id; })
      .def_property_readonly("project", [](const RunFolder& self) { return self.identity.project; })
      .def_property_readonly("uid", [](const RunFolder& self) { return self.identity.uid.hex(); })
      .def_property_readonly("created",
                             [](const RunFolder& self) { return static_cast<double>(self.identity.created_us) / 1e6; })
      .def("stop_request", &stop_request_of)
      .def_readonly("path", &RunFolder::path);
  py::class_<Store>(module, "Store", "A folder that holds runs.")
      .def_static(
          "open", [](const std::string& path) { return looked_up([&] { return internal::open_awaited_store(path); }); },
          py::arg("path"))
      .def_static(
          "resolve", [](const std::string& dir) { return Store::resolve(dir); }, py::arg("dir"))
      .def_property_readonly("path", &Store::path)
      .def_property_readonly("problem", [](const Store& self) { return internal::visible(self.problem()); })
      .def(
          "find",
          [](const Store& self, const std::string& name) { return looked_up([&] { return self.resolve_run(name); }); },
          py::arg("name"))
      .def(
          "find_named",
          [](const Store& self, const std::string& name, bool may_write) {
            return looked_up([&] { return internal::find_run(self, name, internal::RunNames::kAndPlaces, may_write); });
          },
          py::arg("name"), py::arg("may_write"), "As find(); also by a name, or the beginning of an id.")
      .def(
          "recover",
          [](const Store& self, const std::string& uid) {
            const ReleasedGil without_gil;
            return all_visible(
                recover_dead_writers(self, internal::Id128::from_hex(uid).value_or(internal::Id128{})).problems);
          },
          py::arg("uid"),
          "Recovers the journals of dead processes; uid \"\" means every run. Returns what prevented it.");
}

}  // namespace

void register_read(py::module_& module) {
  register_store(module);
  py::class_<View> type(module, "RunView", "A run opened for reading. Threads: any; one reads at a time.");
  type.def("refresh", [](View& self) { check(self.with([](RunView& view) { return view.refresh(); })); })
      .def("state",
           [](View& self) { return std::string(run_state_name(self.with([](RunView& v) { return v.state(); }))); })
      .def("state_detail",
           [](View& self) {
             return value_to_python(self.with([](RunView& view) { return internal::Value(view.state_detail()); }));
           })
      .def("name",
           [](View& self) {
             return value_to_python(self.with([](RunView& view) { return internal::Value(view.name()); }));
           })
      .def("config", [](View& self) { return value_to_python(self.with([](RunView& view) { return view.config(); })); })
      .def("summary",
           [](View& self) { return value_to_python(self.with([](RunView& view) { return view.summary(); })); })
      .def(
          "attribute",
          [](View& self, const std::string& key) {
            return value_to_python(self.with([&](RunView& view) { return view.attribute(key); }));
          },
          py::arg("key"))
      .def("created_us", getter([](RunView& view) { return view.created_us(); }))
      .def("ended_us", getter([](RunView& view) { return view.ended_us(); }))
      .def("last_seen_us", getter([](RunView& view) { return view.last_seen_us(); }))
      .def("problems", getter([](RunView& view) { return all_visible(view.problems()); }))
      .def("metrics", &metrics_of)
      .def("metric_names", &metric_names)
      .def("environment",
           [](View& self) {
             return value_to_python(self.with([](RunView& view) { return internal::environment_of(view.writers()); }));
           })
      .def("default_x", &default_x, py::arg("metric"))
      .def("losses", &losses_of)
      .def("unrecovered", &unrecovered_of)
      .def("writers", &writers_of)
      .def("attempts", &attempts_of)
      .def("ranks", &ranks_of)
      .def("across_ranks", &across_ranks_of, py::arg("metric"))
      .def("points", getter([](RunView& view) { return view.points(); }))
      .def("alerts", &alerts_of)
      .def("console", &console_of, py::arg("rank"), py::arg("stream"), py::arg("contains"), py::arg("last"))
      .def("texts", &texts_of, py::arg("metric"), py::arg("all"))
      .def("text_names", &text_names);
  register_media_reading(type);
  register_query(module, type);
  module.def("open_view", &open_view, py::arg("folder"), py::arg("in_store"));
}

}  // namespace tracker::python
