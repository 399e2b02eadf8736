// SPDX-License-Identifier: MIT
#include "monitor/host/host.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/fs.h"
#include "monitor/host/text_files.h"

namespace tracker::internal {
namespace {

std::string without_quotes(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string os_name() {
  std::string text = text_of_file("/etc/os-release");
  if (text.empty()) text = text_of_file("/usr/lib/os-release");
  return without_quotes(field_of(text, "PRETTY_NAME", '='));
}

// x86 says "model name"; ARM says a number, or the board in the device tree.
std::string cpu_model() {
  const std::string text = text_of_file("/proc/cpuinfo");
  for (const char* name : {"model name", "Model", "cpu model", "CPU part", "cpu"})
    if (const std::string_view model = field_of(text, name); !model.empty()) return std::string(model);
  return "";
}

int64_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return CPU_COUNT(&set);
}

void set_text(Value* out, const char* key, std::string text) {
  if (!text.empty()) out->set(key, std::move(text));
}

void set_count(Value* out, const char* key, int64_t n) {
  if (n > 0) out->set(key, n);
}

// The folders of a controller, the process's own first, up to the root.
std::vector<std::string> folders_of(const std::string& root, const std::string& own, const std::string& controller) {
  std::vector<std::string> out;
  std::string base = root;
  if (!controller.empty()) base = join_path(root, controller);
  for (const std::string_view line : lines_of(own)) {
    const size_t second = line.find(':', line.find(':') + 1);
    if (second == std::string_view::npos) continue;
    const std::string names = "," + std::string(line.substr(line.find(':') + 1, second - line.find(':') - 1)) + ",";
    const bool fits =
        controller.empty() ? line.starts_with("0::") : names.find("," + controller + ",") != std::string::npos;
    if (!fits) continue;
    for (std::string group(line.substr(second + 1)); group.size() > 1; group = parent_path(group))
      out.push_back(base + group);
  }
  out.push_back(base);
  return out;
}

// Version 2: "max 100000" or "<quota> <period>".
std::optional<double> quota_of(const std::string& text) {
  const auto quota = number_in(text);
  const auto period = number_in(std::string_view(text).substr(std::min(text.find(' '), text.size())));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_v1(const std::string& folder) {
  const auto quota = number_in(text_of_file(join_path(folder, "cpu.cfs_quota_us")));  // "-1" is no number here
  const auto period = number_in(text_of_file(join_path(folder, "cpu.cfs_period_us")));
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

struct Limits {
  std::optional<double> cpus;
  std::optional<uint64_t> memory;
  std::string cpuset;
  void take_cpus(std::optional<double> n) {
    if (n) cpus = cpus ? std::min(*cpus, *n) : *n;
  }
  void take_memory(std::optional<uint64_t> n) {
    constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 says a huge number for none
    if (n && *n < kNoLimit) memory = memory ? std::min(*memory, *n) : *n;
  }
  void take_cpuset(const std::string& text) {
    if (cpuset.empty()) cpuset = trimmed(text);
  }
};

}  // namespace

Value host_facts() {
  Value out = Value::map();
  utsname names{};
  if (::uname(&names) == 0) {
    set_text(&out, "hostname", names.nodename);
    set_text(&out, "os", os_name());
    set_text(&out, "kernel", std::string(names.sysname) + " " + names.release);
    set_text(&out, "machine", names.machine);
  }
  set_text(&out, "cpu_model", cpu_model());
  set_count(&out, "cpus", ::sysconf(_SC_NPROCESSORS_ONLN));
  set_count(&out, "cpus_usable", usable_cpus());
  if (const auto kib = number_in(field_of(text_of_file("/proc/meminfo"), "MemTotal")))
    out.set("memory_bytes", static_cast<int64_t>(*kib * 1024));
  return out;
}

Value container_limits(const std::string& root, const std::string& own_given) {
  const std::string own = own_given.empty() ? text_of_file("/proc/self/cgroup") : own_given;
  const bool unified = path_exists(join_path(root, "cgroup.controllers"));
  Limits limits;
  if (unified) {
    for (const std::string& folder : folders_of(root, own, "")) {
      limits.take_cpus(quota_of(text_of_file(join_path(folder, "cpu.max"))));
      limits.take_memory(number_in(text_of_file(join_path(folder, "memory.max"))));
      limits.take_cpuset(text_of_file(join_path(folder, "cpuset.cpus.effective")));
    }
  } else {
    for (const std::string& folder : folders_of(root, own, "cpu")) limits.take_cpus(quota_v1(folder));
    for (const std::string& folder : folders_of(root, own, "memory"))
      limits.take_memory(number_in(text_of_file(join_path(folder, "memory.limit_in_bytes"))));
    for (const std::string& folder : folders_of(root, own, "cpuset"))
      limits.take_cpuset(text_of_file(join_path(folder, "cpuset.cpus")));
  }
  Value out = Value::map();
  if (!limits.cpus && !limits.memory && limits.cpuset.empty()) return out;
  out.set("cgroup", unified ? 2 : 1);
  if (limits.cpus) out.set("cpu_quota", *limits.cpus);
  if (limits.memory) out.set("memory_max_bytes", static_cast<int64_t>(*limits.memory));
  set_text(&out, "cpuset", limits.cpuset);
  return out;
}

}  // namespace tracker::internal
