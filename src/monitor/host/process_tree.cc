// SPDX-License-Identifier: MIT
#include "monitor/host/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <ctime>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "monitor/host/text_files.h"

namespace tracker::internal {
namespace {

// Fields of /proc/<pid>/stat by their number in proc(5), from 3 on: the name before them may hold blanks and brackets.
std::vector<std::string_view> fields_of(std::string_view stat) {
  std::vector<std::string_view> out(3);
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return out;
  std::string_view rest = trimmed(stat.substr(name_end + 1));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    out.push_back(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
  }
  return out;
}

constexpr size_t kUserTicks = 14, kSystemTicks = 15, kThreads = 20, kStart = 22, kRssPages = 24;

// The clock of kStart.
uint64_t ticks_since_boot() {
  static const auto ticks_a_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * ticks_a_second +
         static_cast<uint64_t>(now.tv_nsec) * ticks_a_second / 1'000'000'000;
}

uint64_t since(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

bool ProcessTree::add(int64_t pid, TreeUse* out) {
  const std::string folder = proc_ + "/" + std::to_string(pid);
  const std::string stat = text_of_file(folder + "/stat");
  const std::vector<std::string_view> fields = fields_of(stat);
  if (fields.size() <= kRssPages) return false;
  const auto field = [&fields](size_t i) { return number_in(fields[i]).value_or(0); };
  const std::string io = text_of_file(folder + "/io");
  Seen now{field(kStart), field(kUserTicks) + field(kSystemTicks), number_in(field_of(io, "read_bytes")).value_or(0),
           number_in(field_of(io, "write_bytes")).value_or(0), looks_};
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  ++out->processes;
  out->threads += field(kThreads);
  out->rss_bytes += field(kRssPages) * page;
  Seen& before = seen_[pid];
  const bool is_new = before.start != now.start || before.look == 0;
  if (is_new) before = Seen();  // a process born since the last sample: all of its use is new
  if (looks_ > 1 && (!is_new || now.start >= before_)) {
    out->cpu_ticks += since(now.ticks, before.ticks);
    out->read_bytes += since(now.read_bytes, before.read_bytes);
    out->write_bytes += since(now.write_bytes, before.write_bytes);
  }
  before = now;
  return true;
}

std::string ProcessTree::children_of(int64_t pid, size_t* threads_left, bool* cut) const {
  std::string out;
  const std::string tasks = proc_ + "/" + std::to_string(pid) + "/task";
  DIR* folder = ::opendir(tasks.c_str());
  if (folder == nullptr) return out;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    *cut |= *threads_left == 0;
    if (*threads_left == 0) break;
    --*threads_left;
    out += text_of_file(tasks + "/" + entry->d_name + "/children");
  }
  ::closedir(folder);
  return out;
}

TreeUse ProcessTree::look() {
  TreeUse out;
  ++looks_;
  before_ = std::exchange(looked_at_, ticks_since_boot());
  size_t threads_left = kTreeThreadsMax;
  std::vector<int64_t> waiting{pid_};
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (!add(waiting[i], &out)) continue;
    const std::string children = children_of(waiting[i], &threads_left, &out.cut);
    for (std::string_view rest = trimmed(children); !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      const auto child = number_in(rest.substr(0, end));
      if (waiting.size() >= kTreeProcessesMax) out.cut = true;
      else if (child) waiting.push_back(static_cast<int64_t>(*child));
      rest = trimmed(rest.substr(end));
    }
  }
  std::erase_if(seen_, [this](const auto& each) { return each.second.look != looks_; });
  return out;
}

}  // namespace tracker::internal
