// SPDX-License-Identifier: MIT
#include "cli/commands/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "base/shell_word.h"
#include "cli/commands/python_side.h"
#include "cli/output/text.h"
#include "query/runs/find_run.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/journal_home.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {

std::string recovery_text(const RecoveryReport& report) {
  constexpr size_t kNamesMax = 3;
  Logged logged;
  std::vector<std::string> names;
  for (const RecoveredWriter& writer : report.recovered) {
    if (writer.points + writer.texts == 0) continue;  // all that it logged was stored
    logged += {writer.points, writer.texts};
    const std::string name = run_text({writer.identity.run, writer.folder, ""});
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return "";
  std::string what = logged.points > 0 ? counted(logged.points, "point") : "";
  if (logged.texts > 0) what += (what.empty() ? "" : " and ") + counted(logged.texts, "text");
  std::string list;
  for (size_t i = 0; i < names.size() && i < kNamesMax; ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesMax) list += fmt::format(" and {} more", names.size() - kNamesMax);
  return fmt::format("recovered {} of {}, whose process ended before they were stored", what, list);
}

Value::List recovered_json(const RecoveryReport& report) {
  Value::List out;
  for (const RecoveredWriter& writer : report.recovered)
    out.push_back(Value::Map{{"project", writer.identity.run.project},
                             {"id", writer.identity.run.id},
                             {"points", static_cast<int64_t>(writer.points)}});
  return out;
}

Result<Store> open_store(Console& console, const GlobalOptions& global) {
  const std::string path = Store::resolve(global.dir);
  auto store = open_awaited_store(path);
  if (!store.ok()) return store.status();
  if (!store->problem().empty()) console.note(store->problem());
  const RecoveryReport report = recover_dead_writers(*store);
  if (const std::string text = recovery_text(report); !text.empty()) console.note(text);
  for (const std::string& line : report.left) console.note(line);
  for (const UnfinishedRecovery& each : report.unfinished) console.note(each.text);
  console.unfinished = report.unfinished;
  for (const std::string& problem : report.problems) console.note(problem);
  console.recovery_problems = report.problems;
  for (const RecoveredWriter& writer : report.recovered) console.recovered_folders.push_back(writer.folder);
  console.recovery_met = store->problem().empty() || report.worst == Code::kVersion ? report.worst : Code::kCorrupt;
  return store;
}

bool is_run_path(std::string_view name) {
  return name.starts_with('/') || name.starts_with("./") || name.starts_with("../");
}

Status refuse_run_path(const std::string& name, const char* does) {
  if (!is_run_path(name)) return {};
  return Status(Code::kInvalid, fmt::format("{} a run of the store; the folder {} is only read", does, name),
                fmt::format("`tracker import {}` brings it into the store", shell_word(name)));
}

Result<RunFolder> run_at_path(const std::string& name) {
  std::string path = absolute_path(name);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (!is_directory(path)) return Status(Code::kNotFound, fmt::format("there is no folder {}", name));
  auto run = read_run_folder(path);
  if (run.ok() || run.status().code() != Code::kNotFound) return run;
  return Status(Code::kNotFound, fmt::format("{} is no run's folder: it has no {}", name, kRunFile));
}

Result<NamedRun> find_named_run(Console& console, const GlobalOptions& global, const std::string& name) {
  NamedRun out;
  if (is_run_path(name)) {
    auto folder = run_at_path(name);
    if (!folder.ok()) return folder.status();
    if (!folder->problem.empty()) console.note(folder->problem);
    out.folder = std::move(*folder);
    return out;
  }
  auto store = open_store(console, global);
  if (!store.ok()) return store.status();
  auto folder = find_run(*store, name);
  if (!folder.ok()) return folder.status();
  out.store = std::move(*store);
  out.folder = std::move(*folder);
  return out;
}

Result<std::unique_ptr<RunView>> open_run(const NamedRun& run) {
  if (run.store) build_ended_frames(run.folder.path);
  return RunView::open(run.folder);
}

int fail(Console& console, const Status& status) {
  if (console.reader_left()) return kExitOk;
  console.error(status);
  switch (status.code()) {
    case Code::kVersion: return kExitVersion;
    case Code::kInvalid: return kExitUsage;
    case Code::kCorrupt: return kExitDamaged;
    default: return kExitFailed;
  }
}

int fail_at(Console& console, const Status& status, std::string_view text, const FilterError& error) {
  const int code = fail(console, status);
  if (!console.progress || text.empty() || text.size() > kFilterBytesMax)
    return code == kExitFailed ? kExitUsage : code;
  console.write_err(fmt::format("  {}\n  {}^\n", visible(text),
                                std::string(display_width(visible(text.substr(0, error.offset))), ' ')));
  return code == kExitFailed ? kExitUsage : code;
}

std::vector<std::string> problems_to_show(const Console& console, const RunView& run) {
  std::vector<std::string> out = run.problems();
  for (const UnfinishedRecovery& each : console.unfinished)
    if (each.run.uid == run.identity().uid) out.push_back(each.text);
  out.insert(out.end(), console.recovery_problems.begin(), console.recovery_problems.end());
  return out;
}

int finish(Console& console, const std::vector<std::string>& problems, Code worst) {
  if (!console.out_status.ok() && !console.reader_left()) return fail(console, console.out_status);
  const std::vector<std::string>& said = console.recovery_problems;
  for (const std::string& problem : problems)
    if (std::find(said.begin(), said.end(), problem) == said.end()) console.note(problem);
  const Code code = worse_of(worst, console.recovery_met);
  switch (code) {
    case Code::kOk: return kExitOk;
    case Code::kVersion: return kExitVersion;
    case Code::kIo:
    case Code::kBusy:
    case Code::kTimeout: return kExitFailed;
    default: return kExitDamaged;
  }
}

}  // namespace tracker::internal
