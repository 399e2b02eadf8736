// SPDX-License-Identifier: MIT
// tracker gc: removes what dead processes left, and compacts what ended runs left in frames.
#include <fmt/format.h>

#include <map>

#include "cli/commands/artifact_command.h"
#include "cli/commands/command.h"
#include "cli/commands/gc_runs.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "server/server_lock.h"
#include "storage/recovery/journal_home.h"
#include "storage/upkeep/collect.h"

namespace tracker::internal {
namespace {

constexpr size_t kGcShown = 20;  // lines of each kind

Value garbage_json(const std::vector<Garbage>& items) {
  Value::List out;
  for (const Garbage& item : items)
    out.push_back(Value::Map{{"kind", item.kind}, {"path", item.path}, {"bytes", static_cast<int64_t>(item.bytes)}});
  return out;
}

Value compacted_json(const std::vector<CompactedWriter>& writers) {
  Value::List out;
  for (const CompactedWriter& each : writers)
    out.push_back(Value::Map{{"project", each.run.identity.project},
                             {"id", each.run.identity.id},
                             {"path", each.path},
                             {"points_in_frames", static_cast<int64_t>(each.points)},
                             {"points_in_frames_after", static_cast<int64_t>(each.points_after)},
                             {"bytes_before", static_cast<int64_t>(each.bytes_before)},
                             {"bytes_after", static_cast<int64_t>(each.bytes_after)}});
  return out;
}

std::string compacted_text(const CompactedWriter& each, bool dry_run) {
  const std::string name = visible(each.run.identity.project + "/" + each.run.identity.id);
  if (dry_run)
    return fmt::format("would compact {}  {} in frames, {}\n", name, counted(each.points, "point"),
                       bytes_text(each.bytes_before));
  return fmt::format("compacted {}  {}, {} to {}\n", name, counted(each.points - each.points_after, "point"),
                     bytes_text(each.bytes_before), bytes_text(each.bytes_after));
}

Value report_json(const std::string& store_path, const CollectReport& report, bool dry_run) {
  Value::List problems;
  for (const std::string& problem : report.problems) problems.emplace_back(problem);
  for (const std::string& problem : report.recovery.problems) problems.emplace_back(problem);
  return Value::Map{{"store", store_path},
                    {"dry_run", dry_run},
                    {"removed", garbage_json(report.removed)},
                    {"bytes", static_cast<int64_t>(report.bytes)},
                    {"catalog_rows", static_cast<int64_t>(report.catalog_rows)},
                    {"recovered", recovered_json(report.recovery)},
                    {"compacted", compacted_json(report.compacted)},
                    {"kept", garbage_json(report.kept)},
                    {"problems", problems}};
}

// The first kGcShown of each kind, and how many more there are.
std::string items_text(const std::vector<Garbage>& items, std::string_view what, std::string_view advice) {
  struct Rest {
    uint64_t shown = 0, more = 0, bytes = 0;
  };
  std::string out;
  std::map<std::string, Rest> kinds;
  for (const Garbage& item : items) {
    Rest& kind = kinds[item.kind];
    if (++kind.shown <= kGcShown) {
      out += fmt::format("{} {}  {}  {}{}\n", what, item.kind, visible(item.path), bytes_text(item.bytes), advice);
      continue;
    }
    ++kind.more;
    kind.bytes += item.bytes;
  }
  for (const auto& [name, kind] : kinds)
    if (kind.more > 0)
      out += fmt::format("{} {} more of {}, {}; --json has all\n", what, count_text(kind.more), name,
                         bytes_text(kind.bytes));
  return out;
}

std::string report_text(const CollectReport& report, bool dry_run) {
  std::string out = items_text(report.removed, dry_run ? "would remove" : "removed", "");
  out += items_text(report.kept, "kept", ": remove it when it is no longer needed");
  for (size_t i = 0; i < report.compacted.size() && i < kGcShown; ++i)
    out += compacted_text(report.compacted[i], dry_run);
  if (report.compacted.size() > kGcShown)
    out += fmt::format("{} {} more; --json has all\n", dry_run ? "would compact" : "compacted",
                       count_text(report.compacted.size() - kGcShown));
  if (report.catalog_rows > 0)
    out += fmt::format("{} {} of runs that are gone from the catalog\n", dry_run ? "would remove" : "removed",
                       counted(report.catalog_rows, "row"));
  if (report.removed.empty() && report.catalog_rows == 0)
    return report.compacted.empty() ? out + "Nothing to remove.\n" : out;
  return out + fmt::format("{} {}.\n", bytes_text(report.bytes), dry_run ? "would be freed" : "freed");
}

}  // namespace

int run_gc(Console& console, const GlobalOptions& global, const GcOptions& options) {
  const std::string path = Store::resolve(global.dir);
  const auto store = options.dry_run ? Store::open(path) : open_awaited_store(path);
  if (!store.ok()) return fail(console, store.status());
  const auto lock = options.dry_run ? Result<Fd>(Fd()) : lock_for_removal(*store);
  if (!lock.ok()) return fail(console, lock.status());
  ProgressBar bar(console, "checking runs");
  CollectOptions how;
  how.dry_run = options.dry_run;
  how.now_us = console.now_us;
  how.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  CollectReport report = collect_garbage(*store, how);
  bar.clear();
  collect_artifacts(console, *store, options.dry_run, &report);
  RoomReport room;
  if (options.max_disk > 0) room = make_room(console, *store, options);
  if (const std::string text = recovery_text(report.recovery); !text.empty()) console.note(text);
  Value json = report_json(store->path(), report, options.dry_run);
  if (options.max_disk > 0) json.set("room", room_json(room, options.max_disk));
  console.print(options.json ? to_json(json, 2) + "\n" : report_text(report, options.dry_run));
  if (options.max_disk > 0 && !options.json) console.print(room_text(room, options.max_disk, options.dry_run));
  const bool guessed = !store->problem().empty();
  if (guessed) console.note(store->problem());
  for (const std::string& line : report.recovery.left) console.note(line);
  for (const std::string& problem : report.problems) console.note(problem);
  for (const std::string& problem : room.problems) console.note(problem);
  const Code worst = guessed && report.recovery.worst == Code::kOk ? Code::kCorrupt : report.recovery.worst;
  const int code = finish(console, report.recovery.problems, worst);
  const bool too_large = options.max_disk > 0 && room.after > options.max_disk;
  return code == kExitOk && (!report.problems.empty() || too_large) ? kExitFailed : code;
}

}  // namespace tracker::internal
