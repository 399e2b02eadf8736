// SPDX-License-Identifier: MIT
#include "run/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "model/key.h"
#include "query/run_view.h"
#include "run/background.h"
#include "run/say.h"
#include "storage/database_build.h"
#include "storage/recovery.h"
#include "storage/store_files.h"

namespace tracker::internal {
namespace {

const char* env(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

// An argument beats a variable, a variable beats the default.
void fill(std::string* option, const char* variable, const char* otherwise) {
  if (!option->empty()) return;
  const char* value = variable == nullptr ? nullptr : env(variable);
  *option = value != nullptr ? value : otherwise;
}

Status one_of(const char* what, const std::string& value, std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* each : allowed) {
    if (value == each) return {};
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", each);
  }
  return Status(Code::kInvalid, fmt::format("{}=\"{}\": expected one of {}", what, value, list));
}

Status check_options(InitOptions* o) {
  fill(&o->project, "TRACKER_PROJECT", "default");
  fill(&o->mode, "TRACKER_MODE", "local");
  fill(&o->ranks, "TRACKER_RANKS", "first");
  fill(&o->resume, nullptr, "never");
  fill(&o->on_full, nullptr, "wait");
  fill(&o->journal, nullptr, "auto");
  TRACKER_RETURN_IF_ERROR(check_label("project", o->project));
  for (const auto& [what, label] : {std::pair<const char*, const std::string*>{"id", &o->id},
                                    {"name", &o->name},
                                    {"group", &o->group},
                                    {"job_type", &o->job_type}})
    if (!label->empty()) TRACKER_RETURN_IF_ERROR(check_label(what, *label));
  for (const std::string& tag : o->tags) TRACKER_RETURN_IF_ERROR(check_label("a tag", tag));
  if (!is_utf8(o->notes)) return Status(Code::kInvalid, "notes is not UTF-8");
  if (!o->config.is_map()) return Status(Code::kInvalid, "config is no mapping: expected keys and values");
  TRACKER_RETURN_IF_ERROR(one_of("mode", o->mode, {"local", "online", "offline", "disabled"}));
  TRACKER_RETURN_IF_ERROR(one_of("resume", o->resume, {"never", "allow", "must"}));
  TRACKER_RETURN_IF_ERROR(one_of("on_full", o->on_full, {"wait", "drop", "block"}));
  TRACKER_RETURN_IF_ERROR(one_of("journal", o->journal, {"auto", "shm", "disk", "memory"}));
  o->store_files = store_files_option();
  TRACKER_RETURN_IF_ERROR(one_of("TRACKER_STORE_FILES", o->store_files, {"auto", "sqlite", "frames"}));
  if (o->ranks == "observe" || o->ranks == "all")
    return Status(Code::kInvalid, fmt::format("ranks=\"{}\" is not in this version yet: expected \"first\"", o->ranks));
  TRACKER_RETURN_IF_ERROR(one_of("ranks", o->ranks, {"first"}));
  if (o->journal == "auto") o->journal.clear();
  if (o->resume == "must" && o->id.empty() && env("TRACKER_RUN_ID") == nullptr)
    return Status(Code::kInvalid, "resume=\"must\" needs to know which run: expected id=…");
  return {};
}

// The process that started all ranks of a node: boot id, pid and start time name it for as long as the machine runs.
std::string launcher_of_this_process() {
  const WriterIdentity self = this_process();
  const pid_t parent = ::getppid();
  auto stat = read_file(fmt::format("/proc/{}/stat", parent), 4096);
  if (!stat.ok() || self.boot_id.empty()) return "";
  return fmt::format("{}/{}/{}", self.boot_id, parent, pid_start_of(*stat));
}

std::string label_of(const Id128& uid) { return "run-" + uid.hex().substr(0, 12); }

// Which number this init has in its process: the second run of a script is the second one again after an elastic
// restart.
int next_ordinal() {
  static std::atomic<int> count{0};
  return ++count;
}

// The run of this launch. After an elastic restart it exists; otherwise the first free uid of the launch's key is
// taken.
Status choose_launch_run(Store* store, Launch* launch, const std::string& key, int restarts) {
  const std::string text = fmt::format("{}/{}/{}/{}", store->id().hex(), launch->options.project, key, next_ordinal());
  std::optional<RunFolder> newest;
  Id128 uid;
  for (int generation = 1; generation <= 10'000; ++generation) {
    uid = Id128::hash_of(fmt::format("{}/{}", text, generation));
    auto found = store->find_run(launch->options.project, label_of(uid));
    if (!found || found->identity.uid != uid) break;
    newest = std::move(found);
  }
  if (restarts > 0 && newest) {
    launch->run = newest->identity;
    launch->run_dir = newest->path;
    launch->resumed = true;
    return {};
  }
  auto folder = store->open_or_create_run(launch->options.project, label_of(uid), uid);
  if (!folder.ok()) return folder.status();
  launch->run = folder->identity;
  launch->run_dir = folder->path;
  return {};
}

Status choose_run(Store* store, Launch* launch) {
  InitOptions& o = launch->options;
  const GetEnv get = [](const char* name) { return std::getenv(name); };
  const int restarts = restart_count(get);
  if (o.id.empty() && env("TRACKER_RUN_ID") != nullptr) {
    o.id = env("TRACKER_RUN_ID");
    TRACKER_RETURN_IF_ERROR(check_label("TRACKER_RUN_ID", o.id));
  }
  if (!o.id.empty()) {
    auto found = store->find_run(o.project, o.id);
    const bool may_resume = o.resume != "never" || restarts > 0;
    if (found && may_resume) {
      launch->run = found->identity;
      launch->run_dir = found->path;
      launch->resumed = true;
      return {};
    }
    const std::string folder = join_path(store->path(), "runs/" + folder_name(o.project) + "/" + folder_name(o.id));
    if (!found && may_resume && path_exists(join_path(folder, "run.json"))) {
      const std::string text = join_path(folder, "run.json") + " is damaged, so the run cannot be resumed";
      if (o.resume == "must") return Status(Code::kCorrupt, text, "its databases are untouched");
      say(text + "; another run is made");
    }
    if (o.resume == "must")
      return Status(Code::kNotFound,
                    fmt::format("resume=\"must\", but there is no run {}/{} in {}", o.project, o.id, store->path()),
                    "resume=\"allow\" makes it");
  } else if (launch->rank.world_size > 1 || env("TORCHELASTIC_RESTART_COUNT") != nullptr) {
    // Also torchrun with one process: its restart is a new attempt too.
    if (const auto key = launch_key(get, launcher_of_this_process()))
      return choose_launch_run(store, launch, *key, restarts);
  }
  auto folder = store->create_run(o.project, o.id);
  if (!folder.ok()) return folder.status();
  launch->run = folder->identity;
  launch->run_dir = folder->path;
  return {};
}

// What a resumed run already holds. A damaged attempt is said and does not stop the new one.
void read_past(const Store& store, Launch* launch) {
  const RecoveryReport report = recover_dead_writers(store, launch->run.uid);
  for (const RecoveredWriter& writer : report.recovered) launch->recovered_points += writer.points;
  for (const std::string& problem : report.problems) say(problem);
  build_ended_frames({launch->run, launch->run_dir});
  auto view = RunView::open({launch->run, launch->run_dir});
  if (!view.ok()) {
    say(fmt::format("earlier attempts of {} cannot be read: {}", launch->run.id, view.status().to_string()));
    return;
  }
  launch->config = (*view)->config();
  for (const WriterSnapshot& writer : (*view)->writers()) {
    launch->attempt = std::max(launch->attempt, writer.identity.attempt + 1);
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == EventType::kSummary) launch->summary.set(attribute.key, attribute.value);
  }
  for (const MetricInfo& metric : (*view)->metrics())
    if (metric.has_steps) launch->step_base = std::max(launch->step_base, metric.step_max);
}

// Without a store the run still has its identity: the writer makes the folder when the disk lets it.
void run_in_memory(Launch* launch, const Status& problem) {
  launch->store_problem = problem;
  if (!launch->run.uid.is_zero()) return;
  launch->run.uid = Id128::random();
  launch->run.project = launch->options.project;
  launch->run.id = launch->options.id.empty() ? random_label() : launch->options.id;
  launch->run.created_us = realtime_us();
  launch->run_dir =
      join_path(launch->store_path, "runs/" + folder_name(launch->run.project) + "/" + folder_name(launch->run.id));
}

}  // namespace

Result<Launch> decide_launch(const InitOptions& options) {
  Launch launch;
  launch.options = options;
  TRACKER_RETURN_IF_ERROR(check_options(&launch.options));
  const InitOptions& o = launch.options;
  launch.mode = o.mode;
  launch.on_full = o.on_full == "drop" ? OnFull::kDrop : o.on_full == "block" ? OnFull::kBlock : OnFull::kWait;
  auto rank = resolve_rank({o.rank, o.world_size, o.torch_rank, o.torch_world_size, o.child_of_run},
                           [](const char* name) { return std::getenv(name); });
  if (!rank.ok()) return rank.status();
  launch.rank = *rank;
  launch.store_path = Store::resolve(o.dir);
  launch.run.project = o.project;
  launch.run.id = o.id.empty() ? "none" : o.id;
  if (o.mode == "disabled") launch.why_not = "mode=\"disabled\"";
  else if (!launch.rank.is_first) launch.why_not = launch.rank.why;
  launch.records = launch.why_not.empty();
  if (!launch.records) {
    launch.config = o.config;
    launch.run_dir = join_path(launch.store_path, fmt::format("gated/rank-{}", launch.rank.rank));
    return launch;
  }
  auto store = Store::open_or_create(launch.store_path);
  Status status = store.status();
  if (store.ok()) {
    launch.store = store->id();
    status = choose_run(&*store, &launch);
  }
  if (!status.ok()) {
    // What the caller got wrong is theirs to know at once; what the disk refuses is not.
    if (status.code() == Code::kInvalid || (o.resume == "must" && status.code() != Code::kIo) || o.strict)
      return status;
    run_in_memory(&launch, status);
  } else {
    if (launch.resumed) read_past(*store, &launch);
    recover_in_background(*store);
  }
  return launch;
}

}  // namespace tracker::internal
