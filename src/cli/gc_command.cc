// SPDX-License-Identifier: MIT
// tracker gc: removes what dead processes left.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "storage/collect.h"

namespace tracker::internal {
namespace {

Value garbage_json(const std::vector<Garbage>& items) {
  Value::List out;
  for (const Garbage& item : items)
    out.push_back(Value::Map{{"kind", item.kind}, {"path", item.path}, {"bytes", static_cast<int64_t>(item.bytes)}});
  return out;
}

Value report_json(const Store& store, const CollectReport& report, bool dry_run) {
  Value::List problems, recovered;
  for (const std::string& problem : report.problems) problems.emplace_back(problem);
  for (const std::string& problem : report.recovery.problems) problems.emplace_back(problem);
  for (const RecoveredWriter& writer : report.recovery.recovered)
    recovered.push_back(Value::Map{{"project", writer.identity.run.project},
                                   {"id", writer.identity.run.id},
                                   {"points", static_cast<int64_t>(writer.points)}});
  return Value::Map{{"store", store.path()},
                    {"dry_run", dry_run},
                    {"removed", garbage_json(report.removed)},
                    {"bytes", static_cast<int64_t>(report.bytes)},
                    {"catalog_rows", static_cast<int64_t>(report.catalog_rows)},
                    {"recovered", recovered},
                    {"kept", garbage_json(report.kept)},
                    {"problems", problems}};
}

std::string report_text(const CollectReport& report, bool dry_run) {
  std::string out;
  for (const Garbage& item : report.removed)
    out += fmt::format("{} {}  {}  {}\n", dry_run ? "would remove" : "removed", item.kind, visible(item.path),
                       bytes_text(item.bytes));
  for (const Garbage& item : report.kept)
    out += fmt::format("kept {}  {}  {}: remove it when nobody wants to look at it\n", item.kind, visible(item.path),
                       bytes_text(item.bytes));
  if (report.catalog_rows > 0)
    out += fmt::format("{} {} of runs that are gone from the catalog\n", dry_run ? "would remove" : "removed",
                       counted(report.catalog_rows, "row"));
  if (report.removed.empty() && report.catalog_rows == 0) return out + "Nothing to remove.\n";
  return out + fmt::format("{} {}.\n", bytes_text(report.bytes), dry_run ? "would be freed" : "freed");
}

}  // namespace

int run_gc(Console& console, const GlobalOptions& global, const GcOptions& options) {
  const std::string path = Store::resolve(global.dir);
  const auto store = Store::open(path);
  if (!store.ok() && store.status().code() == Code::kNotFound)
    return fail(console, Status(Code::kNotFound, fmt::format("no store at {}", path),
                                "--dir or TRACKER_DIR says where it is; the first run makes it"));
  if (!store.ok()) return fail(console, store.status());
  ProgressBar bar(console, "looking at runs");
  CollectOptions how;
  how.dry_run = options.dry_run;
  how.now_us = console.now_us;
  how.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  const CollectReport report = collect_garbage(*store, how);
  bar.clear();
  if (const std::string text = recovery_text(report.recovery); !text.empty()) console.note(text);
  console.print(options.json ? to_json(report_json(*store, report, options.dry_run), 2) + "\n"
                             : report_text(report, options.dry_run));
  for (const std::string& problem : report.problems) console.note(problem);
  const int code =
      finish(console, report.recovery.problems, report.recovery.problems.empty() ? Code::kOk : Code::kCorrupt);
  return code == kExitOk && !report.problems.empty() ? kExitFailed : code;
}

}  // namespace tracker::internal
