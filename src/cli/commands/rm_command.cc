// SPDX-License-Identifier: MIT
// tracker rm: removes runs for ever, after a question.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "artifact/lineage.h"
#include "base/fs.h"
#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "model/key.h"
#include "query/runs/find_run.h"
#include "query/runs/runs_query.h"
#include "server/server_lock.h"
#include "storage/recovery/trash.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kRunsNamed = 10;

bool takes_whole_project(const RmOptions& options) {
  return !options.project.empty() && options.runs.empty() && options.where.empty();
}

// What goes, as the question and the refusal say it.
std::string amount_text(const std::vector<RunFolder>& runs, const RmOptions& options) {
  if (!takes_whole_project(options)) return counted(runs.size(), "run");
  return fmt::format("the whole project {} with {}", visible(options.project), counted(runs.size(), "run"));
}

void add_once(RunFolder run, std::vector<RunFolder>* out) {
  const bool known = std::any_of(out->begin(), out->end(), [&run](const RunFolder& r) { return r.path == run.path; });
  if (!known) out->push_back(std::move(run));
}

// A name that fits a run elsewhere too, or only there, means the one in the project.
Result<RunFolder> find_in_project(const Store& store, const std::string& name, const std::string& project) {
  if (auto run = store.find_run(project, name)) return std::move(*run);
  const auto is_inside = [&project](const RunFolder& run) { return run.identity.project == project; };
  auto run = internal::find_run(store, project + "/" + name);
  if (run.ok() && is_inside(*run)) return run;
  const Status in_project = run.status();
  run = internal::find_run(store, name);  // "project/id" or a uid
  if (run.ok() && is_inside(*run)) return run;
  if (!in_project.ok() && in_project.code() != Code::kNotFound) return in_project;
  if (run.status().code() == Code::kVersion) return run.status();
  return Status(Code::kNotFound, fmt::format("no run \"{}\" in the project {}", name, project),
                run.ok() ? fmt::format("there is {}: leave --project out", run_text(*run))
                         : fmt::format("`tracker ls --project {}` lists its runs", shell_word(project)));
}

struct FoundRuns {
  std::vector<RunFolder> runs;
  std::vector<std::string> problems;  // why others that a filter or a project names are left
  Code worst = Code::kOk;
};

// The row of a run that cannot be read whole does not say what the run is: such a run goes by its name alone.
void add_listed(RunsList list, FoundRuns* out) {
  std::vector<std::string> left;
  for (const RunRow& row : list.rows) {
    const RunFolder run = row.run_folder();
    if (std::find(list.unsound.begin(), list.unsound.end(), run.path) == list.unsound.end()) add_once(run, &out->runs);
    else if (std::none_of(out->runs.begin(), out->runs.end(), [&run](const auto& r) { return r.path == run.path; }))
      left.push_back(fmt::format(
          "{} was not removed: not all of it could be read, and such a run goes by its name alone", run_text(run)));
  }
  out->problems = std::move(list.problems);
  out->problems.insert(out->problems.end(), left.begin(), left.end());
  out->worst = list.worst;
}

// A name, and the folder of that project is empty, or there is none.
bool is_no_project(const Store& store, const std::string& project) {
  return !project.empty() &&
         list_dir(join_path(join_path(store.path(), kRunsFolder), folder_name(project))).value_or({}).empty();
}

Result<FoundRuns> find_runs(Console& console, const Store& store, const RmOptions& options) {
  FoundRuns out;
  for (const std::string& name : options.runs) {
    TRACKER_RETURN_IF_ERROR(refuse_run_path(name, "rm removes"));
    auto run = options.project.empty() ? find_run(store, name) : find_in_project(store, name, options.project);
    if (!run.ok()) return run.status();
    add_once(std::move(*run), &out.runs);
  }
  if (options.where.empty() && !takes_whole_project(options)) return out;
  RunsQuery query;
  query.project = options.project;
  query.where = options.where;
  query.now_us = console.now_us;
  query.afresh = true;  // no run is removed for what an index says of it
  VersionNumbers numbers(store);
  query.version_name = [&numbers](const std::string& name) { return numbers.name_of(name); };
  ProgressBar bar(console, "reading runs");
  query.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  auto list = query_runs(store, query);
  bar.clear();
  if (!list.ok()) return list.status();
  for (const std::string& line : list->notes) console.note(line);
  if (list->denied > 0)
    console.note(fmt::format("{} matched in the catalog and not in {} own files: left as {}",
                             counted(list->denied, "run"), list->denied == 1 ? "its" : "their",
                             list->denied == 1 ? "it is" : "they are"));
  if (list->rows.empty() && list->problems.empty() && is_no_project(store, options.project))
    return Status(Code::kNotFound, fmt::format("no project \"{}\" in {}", options.project, store.path()),
                  "`tracker ls` lists the runs of all projects");
  add_listed(std::move(*list), &out);
  return out;
}

uint64_t bytes_of(const RunFolder& run) {
  uint64_t out = 0;
  std::error_code ignored;
  for (auto at = std::filesystem::recursive_directory_iterator(run.path, ignored);
       !ignored && at != std::filesystem::recursive_directory_iterator(); at.increment(ignored)) {
    std::error_code no_size;
    if (at->is_regular_file(no_size) && !at->is_symlink(no_size)) out += at->file_size(no_size);
  }
  return out;
}

// Of copies of which none is in its own place any of them may have been given, in front of this command, what waited
// for the run: that is not removed with it before somebody has seen it.
Status check_recovered(const Console& console, const Store& store, const std::vector<RunFolder>& runs) {
  for (const RunFolder& run : runs) {
    const auto& recovered = console.recovered_folders;
    if (is_in_own_place(run) || std::find(recovered.begin(), recovered.end(), run.path) == recovered.end()) continue;
    for (const RunFolder& other : store.list_runs()) {
      const auto is_other = [&other](const RunFolder& removed) { return removed.path == other.path; };
      if (other.identity.uid == run.identity.uid && std::none_of(runs.begin(), runs.end(), is_other))
        return Status(Code::kBusy,
                      fmt::format("what waited in the journal of {} was recovered into {} just now, and {} lacks it",
                                  visible(run_text(run)), visible(place_of(run)), visible(place_of(other))),
                      "nothing was removed; check both, and run the command again");
    }
  }
  return {};
}

// Asked on a terminal; elsewhere --yes must have been given.
Result<bool> may_remove(Console& console, const std::vector<RunFolder>& runs, const RmOptions& options) {
  if (options.yes) {
    if (takes_whole_project(options)) console.note("removing " + amount_text(runs, options));
    return true;
  }
  if (!console.read_line)
    return Status(Code::kInvalid, fmt::format("{} would be removed for ever: say --yes", amount_text(runs, options)),
                  "on a terminal tracker asks");
  uint64_t bytes = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const uint64_t size = bytes_of(runs[i]);
    bytes += size;
    if (i < kRunsNamed) console.write_err(fmt::format("  {}  {}\n", visible(run_text(runs[i])), bytes_text(size)));
  }
  if (runs.size() > kRunsNamed) console.write_err(fmt::format("  and {} more\n", count_text(runs.size() - kRunsNamed)));
  console.write_err(fmt::format("Remove {} ({}) for ever? [y/N] ", amount_text(runs, options), bytes_text(bytes)));
  const std::optional<std::string> answer = console.read_line();
  return answer && (*answer == "y" || *answer == "Y" || *answer == "yes");
}

struct Outcome {
  std::vector<std::pair<RunFolder, Removed>> removed;
  uint64_t bytes = 0;
  std::vector<std::string> problems;
};

Outcome remove_all(Console& console, const Store& store, const std::vector<RunFolder>& runs) {
  Outcome out;
  ProgressBar bar(console, "removing runs");
  for (size_t i = 0; i < runs.size(); ++i) {
    auto removed = remove_run(store, runs[i], console.now_us);
    if (!removed.ok()) out.problems.push_back(removed.status().to_string());
    else {
      out.bytes += removed->bytes;
      out.removed.emplace_back(runs[i], *removed);
    }
    bar.show(i + 1, runs.size());
  }
  bar.clear();
  return out;
}

void print(Console& console, const Store& store, const Outcome& outcome, const std::vector<std::string>& left,
           bool json) {
  if (!json) {
    for (const auto& [run, removed] : outcome.removed)
      console.print(fmt::format("removed {}  {}\n", visible(run_text(run)), bytes_text(removed.bytes)));
    if (outcome.removed.size() != 1)
      console.print(
          fmt::format("{} removed, {} freed.\n", counted(outcome.removed.size(), "run"), bytes_text(outcome.bytes)));
    return;
  }
  Value::List runs, problems;
  for (const auto& [run, removed] : outcome.removed)
    runs.push_back(Value::Map{{"project", run.identity.project},
                              {"id", run.identity.id},
                              {"uid", run.identity.uid.hex()},
                              {"dir", run.path},
                              {"bytes", static_cast<int64_t>(removed.bytes)}});
  for (const std::string& problem : left) problems.emplace_back(problem);
  for (const std::string& problem : outcome.problems) problems.emplace_back(problem);
  console.print(to_json(Value::Map{{"store", store.path()},
                                   {"removed", runs},
                                   {"bytes", static_cast<int64_t>(outcome.bytes)},
                                   {"problems", problems}},
                        2) +
                "\n");
}

}  // namespace

int run_rm(Console& console, const GlobalOptions& global, const RmOptions& options) {
  if (options.runs.empty() && options.where.empty() && options.project.empty())
    return fail(console, Status(Code::kInvalid, "no run was named",
                                "tracker rm RUN, --where FILTER, or --project NAME for all of a project"));
  FilterError error;
  if (const auto filter = Filter::parse(options.where, console.now_us, &error); !filter.ok())
    return fail_at(console, filter.status(), options.where, error);
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const auto lock = lock_for_removal(*store);
  if (!lock.ok()) return fail(console, lock.status());
  const auto found = find_runs(console, *store, options);
  if (!found.ok()) return fail(console, found.status());
  // All or none: what is refused is said before anything is asked or removed.
  for (const RunFolder& run : found->runs)
    if (const Status status = check_removable(*store, run, console.now_us); !status.ok()) {
      console.error(status);
      return status.code() == Code::kVersion ? kExitVersion : kExitFailed;
    }
  if (const Status status = check_recovered(console, *store, found->runs); !status.ok()) return fail(console, status);
  if (!found->runs.empty()) {
    const auto agreed = may_remove(console, found->runs, options);
    if (!agreed.ok()) return fail(console, agreed.status());
    if (!*agreed) {
      console.note("nothing was removed");
      return kExitFailed;
    }
  }
  const Outcome outcome = remove_all(console, *store, found->runs);
  print(console, *store, outcome, found->problems, options.json);
  for (const std::string& problem : outcome.problems) console.note(problem);
  const int code = finish(console, found->problems, found->worst);
  return code == kExitOk && !outcome.problems.empty() ? kExitFailed : code;
}

}  // namespace tracker::internal
