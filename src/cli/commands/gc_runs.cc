// SPDX-License-Identifier: MIT
#include "cli/commands/gc_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "query/view/run_view.h"
#include "storage/recovery/trash.h"
#include "storage/upkeep/disk_use.h"

namespace tracker::internal {
namespace {

// According to its databases; remove_run() checks again after the rename.
bool has_ended(const RunFolder& run) {
  const auto view = RunView::open(run);
  if (!view.ok()) return false;
  switch ((*view)->state()) {
    case RunState::kFinished:
    case RunState::kFailed:
    case RunState::kInterrupted:
    case RunState::kPreempted:
    case RunState::kCrashed: return true;
    default: return false;
  }
}

std::string name_of(const RunFolder& run) { return visible(run_text(run)); }

}  // namespace

RoomReport make_room(Console& console, const Store& store, const GcOptions& options) {
  RoomReport out;
  ProgressBar bar(console, "making room, runs");
  out.before = out.after = disk_bytes(store.path());
  if (out.before <= options.max_disk) return out;
  std::vector<RunFolder> runs = store.list_runs();
  std::reverse(runs.begin(), runs.end());
  uint64_t done = 0;
  for (const RunFolder& run : runs) {
    if (out.after <= options.max_disk) break;
    bar.show(done++, runs.size());
    if (!has_ended(run)) continue;
    const uint64_t bytes = disk_bytes(run.path);
    if (!options.unsynced) {
      ++out.ended;
      out.ended_bytes += bytes;
      continue;
    }
    const Status refused =
        options.dry_run ? check_removable(store, run, console.now_us) : remove_run(store, run, console.now_us).status();
    if (!refused.ok()) {
      out.problems.push_back(refused.to_string());
      continue;
    }
    out.removed.push_back({run, bytes});
    out.after -= std::min(out.after, bytes);
  }
  if (!options.dry_run) out.after = disk_bytes(store.path());
  bar.clear();
  return out;
}

std::string room_text(const RoomReport& report, uint64_t max_bytes, bool dry_run) {
  std::string out;
  constexpr size_t kRunsShown = 20;
  const char* const what = dry_run ? "would remove" : "removed";
  for (size_t i = 0; i < report.removed.size() && i < kRunsShown; ++i)
    out += fmt::format("{} run  {}  {}\n", what, name_of(report.removed[i].run), bytes_text(report.removed[i].bytes));
  if (report.removed.size() > kRunsShown)
    out += fmt::format("{} {} more; --json has all\n", what, counted(report.removed.size() - kRunsShown, "run"));
  if (report.ended > 0)
    out += fmt::format(
        "{} ({}) {} ended and {} with no server, so nothing of them is removed; --unsynced removes the "
        "oldest all the same\n",
        counted(report.ended, "run"), bytes_text(report.ended_bytes), report.ended == 1 ? "has" : "have",
        report.ended == 1 ? "is" : "are");
  return out + fmt::format("The store {} {} of {}.\n", dry_run ? "would take" : "takes", bytes_text(report.after),
                           bytes_text(max_bytes));
}

Value room_json(const RoomReport& report, uint64_t max_bytes) {
  const auto number = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  Value::List runs;
  for (const RemovedRun& each : report.removed)
    runs.push_back(Value::Map{{"project", each.run.identity.project},
                              {"id", each.run.identity.id},
                              {"uid", each.run.identity.uid.hex()},
                              {"bytes", number(each.bytes)}});
  return Value::Map{{"max_disk", number(max_bytes)},
                    {"before", number(report.before)},
                    {"after", number(report.after)},
                    {"runs", runs},
                    {"ended_unsynced", number(report.ended)}};
}

}  // namespace tracker::internal
