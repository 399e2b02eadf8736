// SPDX-License-Identifier: MIT
// tracker show: what a run ran on, and how busy that was.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/output/plot.h"
#include "cli/output/show_sections.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "query/view/environment.h"
#include "query/view/rank_status.h"
#include "query/view/visit.h"

namespace tracker::internal {
namespace {

constexpr size_t kNameWidth = 10, kUuidsShown = 8;

// Parts that are there, with commas between them.
class Parts {
 public:
  Parts& add(const std::string& text) {
    if (!text.empty()) text_ += (text_.empty() ? "" : ", ") + text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string text_at(const Value& map, const char* key) {
  const Value* value = map.find(key);
  return value == nullptr || value->is_null() ? "" : visible(to_display(*value));
}

std::string bytes_at(const Value& map, const char* key, const char* what) {
  const int64_t bytes = map.int_or(key, 0);
  return bytes > 0 ? bytes_text(static_cast<uint64_t>(bytes)) + what : "";
}

size_t size_of(const Value& map, const char* key) {
  const Value* value = map.find(key);
  return value != nullptr && value->as_map() != nullptr ? value->as_map()->size() : 0;
}

std::string cpu_text(const Value& host) {
  std::string cpus = text_at(host, "cpus");
  if (!cpus.empty()) cpus += " CPUs";
  if (const std::string usable = text_at(host, "cpus_usable"); !usable.empty() && usable != text_at(host, "cpus"))
    cpus += " (" + usable + " usable)";
  return Parts().add(text_at(host, "cpu_model")).add(cpus).add(bytes_at(host, "memory_bytes", " memory")).text();
}

std::string limits_text(const Value& container) {
  std::string cpus = text_at(container, "cpu_quota"), set = text_at(container, "cpuset");
  if (!cpus.empty()) cpus += " CPUs";
  if (!set.empty()) set = "CPUs " + set;
  return Parts().add(cpus).add(bytes_at(container, "memory_max_bytes", " memory")).add(set).text();
}

std::string git_text(const Value& git) {
  const Value* dirty = git.find("dirty");
  const std::string changed = dirty == nullptr              ? ""
                              : dirty->as_bool() == nullptr ? "changed or not: unknown"
                              : *dirty->as_bool()           ? "with changes"
                                                            : "no changes";
  return Parts()
      .add(text_at(git, "branch"))
      .add(text_at(git, "commit").substr(0, 12))
      .add(changed)
      .add(text_at(git, "remote"))
      .text();
}

std::string python_text(const Value& python) {
  const size_t packages = size_of(python, "packages");
  return Parts()
      .add(text_at(python, "implementation") + " " + text_at(python, "version"))
      .add(text_at(python, "executable"))
      .add(packages > 0 ? counted(packages, "package") : "")
      .text();
}

std::string pairs_text(const Value& map) {
  Parts out;
  if (map.as_map() != nullptr)
    for (const auto& [key, value] : *map.as_map()) out.add(visible(key) + "=" + visible(to_display(value)));
  return out.text();
}

std::string words_text(const Value& command) {
  std::string out;
  const Value* words = command.find("arguments");
  if (words != nullptr && words->as_list() != nullptr)
    for (const Value& word : *words->as_list()) out += (out.empty() ? "" : " ") + visible(to_display(word, SIZE_MAX));
  return out;
}

std::string source_text(const Value& source) {
  Parts out;
  out.add(text_at(source, "root"));
  if (source.find("error") != nullptr) return out.add("not stored: " + text_at(source, "error")).text();
  out.add(text_at(source, "files") + " files").add(bytes_at(source, "bytes", ""));
  if (const Value* left = source.find("left_out"); left != nullptr) out.add("left out: " + pairs_text(*left));
  if (source.find("cut") != nullptr) out.add("and more, beyond a limit");
  return out.text();
}

}  // namespace

std::string environment_section(const Console& console, const RunView& run) {
  const Value environment = environment_of(run.writers());
  if (environment.as_map()->empty()) return "";
  std::string out = title(console, "Environment");
  const auto line = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    const std::string whole = "  " + pad_to(name, kNameWidth) + text;
    out += (console.width > 0 ? cut_to(whole, static_cast<size_t>(console.width)) : whole) + "\n";
  };
  const auto part = [&environment](const char* key) {
    const Value* value = environment.find(key);
    return value == nullptr ? Value::map() : *value;
  };
  const Value host = part("host"), gpu = part("gpu"), git = part("git"), diff = part("diff");
  line("host", Parts()
                   .add(text_at(host, "hostname"))
                   .add(text_at(host, "os"))
                   .add(text_at(host, "kernel"))
                   .add(text_at(host, "machine"))
                   .text());
  line("cpu", cpu_text(host));
  line("limits", limits_text(part("container")));
  const Value* devices = gpu.find("devices");
  for (size_t i = 0; devices != nullptr && devices->as_list() != nullptr && i < devices->as_list()->size(); ++i) {
    if (i >= kUuidsShown) break;
    const Value& device = (*devices->as_list())[i];
    line("gpu", Parts()
                    .add(text_at(device, "index") + ": " + text_at(device, "name"))
                    .add(bytes_at(device, "memory_bytes", ""))
                    .add("driver " + text_at(gpu, "driver"))
                    .text());
  }
  if (text_at(gpu, "numbering") == "nvml") line("gpu", "the numbers are those of NVML; CUDA's may be others");
  line("gpu", text_at(part("gpu_problem"), "text"));
  if (environment.find("python") != nullptr) line("python", python_text(part("python")));
  line("git", git_text(git));
  line("launcher", pairs_text(part("launcher")));
  line("command", words_text(part("command")));
  if (const size_t n = size_of(part("variables"), "values"); n > 0)
    line("variables", counted(n, "variable") + " (--json has them)");
  if (diff.find("text") != nullptr) line("diff", bytes_at(diff, "bytes", " (--json has it)"));
  if (environment.find("source") != nullptr) line("source", source_text(part("source")));
  return out;
}

namespace {

// By rank.
std::map<int64_t, History> split_by_rank(const History& rows) {
  std::map<int64_t, History> out;
  for (size_t row = 0; row < rows.size(); ++row) {
    History& part = out[rows.row_source(row).rank];
    part.type = rows.type;
    part.bits.push_back(rows.bits[row]);
    part.steps.push_back(rows.steps[row]);
    part.has_step.push_back(rows.row_has_step(row) ? 1 : 0);
  }
  return out;
}

SystemSeries series_of(const std::string& name, int64_t rank, const History& rows, size_t spark_cells) {
  SystemSeries out{name, rank, rows.size(), 0, 0, 0, 0, sparkline(rows, spark_cells)};
  for (const uint64_t bits : rows.bits) {
    const double value = to_double(rows.type, bits);
    out.last = value;
    if (!std::isfinite(value)) continue;
    out.min = out.finite == 0 ? value : std::min(out.min, value);
    out.max = out.finite == 0 ? value : std::max(out.max, value);
    ++out.finite;
  }
  return out;
}

}  // namespace

Result<std::vector<SystemSeries>> system_series(RunView* run, size_t spark_cells) {
  std::vector<SystemSeries> out;
  std::vector<std::string> names;
  for (const MetricInfo& m : metrics_of_kind(*run, true)) {
    if (m.points <= kVisitPointsMax) names.push_back(m.name);
    else
      out.push_back({m.name, std::nullopt, m.points, m.shown.finite, to_double(m.last_type, m.last_bits), m.shown.min,
                     m.shown.max, ""});
  }
  const Status status = visit_histories(run, names, false, kVisitPointsMax,
                                        [&out, spark_cells](const std::string& name, const History& history) {
                                          for (const auto& [rank, rows] : split_by_rank(history))
                                            out.push_back(series_of(name, rank, rows, spark_cells));
                                          return Status();
                                        });
  if (!status.ok()) return status;
  return out;
}

std::string system_section(const Console& console, const RunView& run, const std::vector<SystemSeries>& series) {
  constexpr size_t kRanksShown = 8;  // of each series, on a terminal
  if (series.empty()) return "";
  const size_t ranks = run.ranks().size();
  std::vector<TableColumn> columns{{"SERIES", false, 10, 0, true}};
  if (ranks > 1) columns.push_back({"RANK", true});
  columns.insert(columns.end(), {{"COUNT", true}, {"LAST", true}, {"MIN", true}, {"MAX", true}, {""}});
  Table table(columns);
  std::map<std::string, size_t> rows_of;
  for (const SystemSeries& each : series) {
    if (console.width > 0 && ++rows_of[each.name] > kRanksShown) continue;
    const bool bytes = each.name.ends_with(".bytes") || each.name.ends_with(".bytes_per_s");
    const auto number = [&each, bytes](double v) {
      if (each.finite == 0) return std::string();
      return bytes && v >= 0 && v < 1e18 ? bytes_text(static_cast<uint64_t>(v)) : short_number(v);
    };
    std::vector<Table::Cell> row{each.name.substr(kSystemPrefix.size())};
    if (ranks > 1) row.emplace_back(each.rank ? std::to_string(*each.rank) : "all");
    for (const std::string& text :
         {count_text(each.points), number(each.last), number(each.min), number(each.max), each.spark})
      row.emplace_back(text);
    table.add(std::move(row));
  }
  const std::string more =
      console.width > 0 && ranks > kRanksShown
          ? fmt::format("  and {} more ranks; open_run(...).history(NAME, ranks=[...]) has them\n", ranks - kRanksShown)
          : "";
  return title(console, "System") + table.render(console, 2) + more;
}

}  // namespace tracker::internal
