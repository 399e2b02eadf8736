// SPDX-License-Identifier: MIT
// tracker show: what a run ran on, and how busy that was.
#include <fmt/format.h>

#include <algorithm>

#include "cli/output/show_sections.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "query/view/environment.h"

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

std::string system_section(const Console& console, const RunView& run, const std::vector<std::string>& sparks) {
  const std::vector<MetricInfo> metrics = metrics_of_kind(run, true);
  if (metrics.empty()) return "";
  Table table({{"SERIES", false, 10, 0, true}, {"COUNT", true}, {"LAST", true}, {"MIN", true}, {"MAX", true}, {""}});
  for (size_t i = 0; i < metrics.size(); ++i) {
    const MetricInfo& m = metrics[i];
    const bool bytes = m.name.ends_with(".bytes") || m.name.ends_with(".bytes_per_s");
    const auto number = [bytes](double v) {
      return bytes && v >= 0 && v < 1e18 ? bytes_text(static_cast<uint64_t>(v)) : short_number(v);
    };
    const bool any = m.shown.finite > 0;
    table.add({m.name.substr(kSystemPrefix.size()), count_text(m.points),
               any ? number(to_double(m.last_type, m.last_bits)) : "", any ? number(m.shown.min) : "",
               any ? number(m.shown.max) : "", sparks[i]});
  }
  return title(console, "System") + table.render(console, 2);
}

}  // namespace tracker::internal
