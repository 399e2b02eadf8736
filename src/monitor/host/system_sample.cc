// SPDX-License-Identifier: MIT
#include "monitor/host/system_sample.h"

#include <dirent.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "monitor/host/text_files.h"

namespace tracker::internal {
namespace {

// Limit: open files that a sample counts. Beyond it: not counted.
constexpr size_t kOpenFilesMax = 65'536;

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t increase(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

size_t entries_of(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return 0;
  size_t out = 0;
  while (out < kOpenFilesMax) {
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr) break;
    out += entry->d_name[0] != '.';
  }
  ::closedir(folder);
  return out;
}

}  // namespace

SystemSampler::SystemSampler(std::string store, const std::string& root)
    : store_(std::move(store)), proc_(root + "/proc"), tree_(::getpid(), proc_) {}

std::vector<SystemValue> SystemSampler::look() {
  std::vector<SystemValue> out;
  const int64_t now = monotonic_ns();
  const double seconds = last_ns_ == 0 ? 0 : static_cast<double>(now - last_ns_) * 1e-9;
  look_at_cpu(&out);
  look_at_memory(&out);
  look_at_tree(seconds, &out);
  look_at_disk(&out);
  look_at_network(seconds, &out);
  last_ns_ = now;
  return out;
}

// The first line of /proc/stat: ticks as user, nice, system, idle, iowait, irq, softirq, steal; guest is in user.
void SystemSampler::look_at_cpu(std::vector<SystemValue>* out) {
  constexpr size_t kTimes = 8, kIdle = 3, kWait = 4;
  const std::string text = text_of_file(proc_ + "/stat");
  std::string_view line(text);
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("cpu ")) return;
  line.remove_prefix(4);
  uint64_t all = 0, idle = 0;
  for (size_t i = 0; i < kTimes; ++i) {
    const std::string_view rest = trimmed(line);
    const uint64_t ticks = number_in(rest).value_or(0);
    all += ticks;
    if (i == kIdle || i == kWait) idle += ticks;
    line = rest.substr(std::min(rest.find(' '), rest.size()));
  }
  const uint64_t busy = all - idle;
  if (last_ns_ != 0 && all > cpu_all_)
    out->push_back({"system/cpu.percent", share(increase(busy, cpu_busy_), all - cpu_all_)});
  cpu_busy_ = busy;
  cpu_all_ = all;
}

void SystemSampler::look_at_memory(std::vector<SystemValue>* out) const {
  const std::string text = text_of_file(proc_ + "/meminfo");
  const auto total = number_in(field_of(text, "MemTotal")), free = number_in(field_of(text, "MemAvailable"));
  if (!total || !free) return;
  const uint64_t used = increase(*total, *free);
  out->push_back({"system/memory.used.bytes", static_cast<double>(used * 1024)});
  out->push_back({"system/memory.used.percent", share(used, *total)});
}

void SystemSampler::look_at_tree(double seconds, std::vector<SystemValue>* out) {
  const TreeUse use = tree_.look();
  if (use.processes == 0) return;
  out->push_back({"system/proc.rss.bytes", static_cast<double>(use.rss_bytes)});
  out->push_back({"system/proc.processes", static_cast<double>(use.processes)});
  out->push_back({"system/proc.threads", static_cast<double>(use.threads)});
  out->push_back({"system/proc.open_files", static_cast<double>(entries_of(proc_ + "/self/fd"))});
  if (seconds <= 0) return;
  static const auto ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  out->push_back({"system/proc.cpu.percent", 100 * static_cast<double>(use.cpu_ticks) / ticks_a_second / seconds});
  out->push_back({"system/proc.disk.read.bytes_per_s", static_cast<double>(use.read_bytes) / seconds});
  out->push_back({"system/proc.disk.write.bytes_per_s", static_cast<double>(use.write_bytes) / seconds});
}

void SystemSampler::look_at_disk(std::vector<SystemValue>* out) const {
  struct statvfs disk{};
  if (::statvfs(store_.c_str(), &disk) != 0 || disk.f_blocks == 0) return;
  const uint64_t used = increase(disk.f_blocks, disk.f_bfree);
  out->push_back({"system/disk.used.percent", share(used, used + disk.f_bavail)});
  out->push_back({"system/disk.free.bytes", static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)});
}

// /proc/net/dev: two lines of titles, then "name: received … sent …", of which bytes are fields 1 and 9.
void SystemSampler::look_at_network(double seconds, std::vector<SystemValue>* out) {
  constexpr size_t kSentField = 8;
  const std::string text = text_of_file(proc_ + "/net/dev");
  uint64_t received = 0, sent = 0;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) == "lo") continue;
    std::string_view rest = trimmed(line.substr(colon + 1));
    for (size_t i = 0; !rest.empty(); ++i) {
      if (i == 0) received += number_in(rest).value_or(0);
      if (i == kSentField) sent += number_in(rest).value_or(0);
      rest = trimmed(rest.substr(std::min(rest.find(' '), rest.size())));
    }
  }
  if (seconds > 0 && !text.empty()) {
    out->push_back({"system/net.received.bytes_per_s", static_cast<double>(increase(received, received_)) / seconds});
    out->push_back({"system/net.sent.bytes_per_s", static_cast<double>(increase(sent, sent_)) / seconds});
  }
  received_ = received;
  sent_ = sent;
}

}  // namespace tracker::internal
