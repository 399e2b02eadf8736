// SPDX-License-Identifier: MIT
// tracker verify: what is damaged, what is intact and what to do.
#include <fmt/format.h>

#include "base/fs.h"
#include "cli/commands/artifact_command.h"
#include "cli/commands/command.h"
#include "cli/commands/verify_media.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "query/runs/find_run.h"
#include "storage/store/run_folder.h"
#include "storage/verify/verify.h"

namespace tracker::internal {
namespace {

const char* level_name(FindingLevel level) {
  switch (level) {
    case FindingLevel::kNote: return "note";
    case FindingLevel::kDamage: return "damage";
    case FindingLevel::kNewer: return "newer";
  }
  return "damage";
}

const char* level_sgr(FindingLevel level) {
  return level == FindingLevel::kDamage ? "31" : level == FindingLevel::kNewer ? "33" : "36";
}

// What was asked for: whole stores, and folders of runs.
struct Targets {
  std::vector<std::string> stores, runs;
  std::string runs_store;  // where the runs' journals are searched for; empty: nowhere
};

// A folder with store.json is a store, one with run.json or databases a run, all else the name of a run in the store.
Result<Targets> find_targets(const GlobalOptions& global, const VerifyCommandOptions& options) {
  Targets out;
  const std::string store_path = Store::resolve(global.dir);
  if (options.what.empty()) out.stores.push_back(store_path);
  for (const std::string& what : options.what) {
    const std::string path = absolute_path(what);
    if (path_exists(join_path(path, kStoreFile))) {
      out.stores.push_back(path);
      continue;
    }
    if (path_exists(join_path(path, kRunFile)) ||
        (is_directory(path) && !RunFolder{RunIdentity{}, path}.writer_dbs().empty())) {
      out.runs.push_back(path);
      continue;
    }
    const auto store = Store::open(store_path);
    if (!store.ok() && store.status().code() == Code::kNotFound)
      return Status(Code::kNotFound,
                    fmt::format("{} is no store and no run's folder, and there is no store at {}", what, store_path),
                    "--dir or TRACKER_DIR says where the store is");
    if (!store.ok()) return store.status();
    const auto run = find_run(*store, what);
    if (!run.ok()) return run.status();
    out.runs.push_back(run->path);
    out.runs_store = store_path;
  }
  return out;
}

void add(VerifyReport from, VerifyReport* into) {
  into->add_findings(&from);
  into->runs += from.runs;
  into->writers += from.writers;
  into->live += from.live;
  into->unread += from.unread;
  into->journals += from.journals;
  into->frames += from.frames;
  into->points += from.points;
  into->bytes += from.bytes;
}

std::string finding_text(const Console& console, const Finding& finding) {
  std::string out = fmt::format("{} {}  {}\n  {}\n", console.paint(level_name(finding.level), level_sgr(finding.level)),
                                finding.kind, visible(finding.path), visible(finding.what));
  if (!finding.intact.empty()) out += fmt::format("  intact: {}\n", visible(finding.intact));
  if (!finding.advice.empty()) out += fmt::format("  to do: {}\n", visible(finding.advice));
  return out;
}

std::string verdict_text(const Console& console, const VerifyReport& report, uint64_t artifacts) {
  const uint64_t damaged = report.count(FindingLevel::kDamage), newer = report.count(FindingLevel::kNewer);
  std::string out =
      fmt::format("Checked {} of {}: {}, {}, {}", counted(report.writers, "writer"), counted(report.runs, "run"),
                  counted(report.frames, "frame"), counted(report.points, "point"), bytes_text(report.bytes));
  if (artifacts > 0) out += fmt::format(", {}", counted(artifacts, "artifact"));
  if (report.live > 0) out += fmt::format("; {} still written, trees not walked", count_text(report.live));
  out += ".\n";
  if (report.left_out > 0) out += fmt::format("{} not shown.\n", counted(report.left_out, "more finding"));
  const std::string rest = report.unread == 0 ? "everything else is intact"
                                              : fmt::format(
                                                    "of {} not all frames could be checked; all else that was "
                                                    "checked is intact",
                                                    counted(report.unread, "writer"));
  if (damaged > 0) out += console.paint(fmt::format("{} found; {}.", counted(damaged, "damage"), rest), "31") + "\n";
  if (newer > 0) out += fmt::format("{} of a newer version: not judged.\n", counted(newer, "part"));
  if (damaged + newer == 0) out += console.paint("Everything is intact.", "32") + "\n";
  return out;
}

Value report_json(const VerifyReport& report, uint64_t artifacts) {
  const auto number = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  Value::List findings;
  for (const Finding& finding : report.findings)
    findings.push_back(Value::Map{{"level", level_name(finding.level)},
                                  {"kind", finding.kind},
                                  {"path", finding.path},
                                  {"what", finding.what},
                                  {"intact", finding.intact.empty() ? Value() : Value(finding.intact)},
                                  {"to_do", finding.advice}});
  return Value::Map{{"intact", !report.has(FindingLevel::kDamage) && !report.has(FindingLevel::kNewer)},
                    {"damages", number(report.count(FindingLevel::kDamage))},
                    {"findings", findings},
                    {"left_out", number(report.left_out)},
                    {"runs", number(report.runs)},
                    {"writers", number(report.writers)},
                    {"live", number(report.live)},
                    {"unread", number(report.unread)},
                    {"journals", number(report.journals)},
                    {"frames", number(report.frames)},
                    {"points", number(report.points)},
                    {"bytes", number(report.bytes)},
                    {"artifacts", number(artifacts)}};
}

// A bar for each, begun with it: it estimates what is left by the time it has taken so far.
void look_at_artifacts(Console& console, const std::string& store, bool deep, VerifyReport* report,
                       uint64_t* versions) {
  ProgressBar bar(console, deep ? "checking artifacts, KiB" : "checking artifacts, files");
  verify_artifacts(store, deep, report, versions, [&](uint64_t done, uint64_t total) {
    deep ? bar.show(done >> 10, total >> 10) : bar.show(done, total);
  });
  bar.clear();
}

void look_at_media(Console& console, const std::string& run, VerifyReport* report) {
  ProgressBar bar(console, "checking media, files");
  verify_media(run, report, [&bar](uint64_t done, uint64_t total) { bar.show(done, total); });
  bar.clear();
}

}  // namespace

int run_verify(Console& console, const GlobalOptions& global, const VerifyCommandOptions& options) {
  const auto targets = find_targets(global, options);
  if (!targets.ok()) return fail(console, targets.status());
  if (const Status status = may_open_files(); !status.ok()) return fail(console, status);
  ProgressBar bar(console, "checking KiB");
  VerifyOptions how;
  how.now_us = console.now_us;
  how.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done >> 10, total >> 10); };
  VerifyReport report;
  uint64_t artifacts = 0;
  for (const std::string& store : targets->stores) {
    auto found = verify_store(store, how);
    if (!found.ok()) {
      bar.clear();
      return fail(console, found.status());
    }
    add(std::move(*found), &report);
    bar.clear();
    look_at_artifacts(console, store, options.deep, &report, &artifacts);
    if (const auto opened = Store::open(store); opened.ok())
      for (const RunFolder& run : opened->list_runs()) look_at_media(console, run.path, &report);
  }
  if (!targets->runs.empty()) add(verify_runs(targets->runs, targets->runs_store, how), &report);
  bar.clear();
  for (const std::string& run : targets->runs) look_at_media(console, run, &report);
  if (options.json) {
    console.print(to_json(report_json(report, artifacts), 2) + "\n");
  } else {
    for (const Finding& finding : report.findings) console.print(finding_text(console, finding));
    console.print(verdict_text(console, report, artifacts));
  }
  const bool newer = report.has(FindingLevel::kNewer), damaged = report.has(FindingLevel::kDamage);
  return finish(console, {}, damaged ? Code::kCorrupt : newer ? Code::kVersion : Code::kOk);
}

}  // namespace tracker::internal
