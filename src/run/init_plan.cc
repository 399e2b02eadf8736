// SPDX-License-Identifier: MIT
#include "run/init_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "base/throw_memory.h"
#include "model/byte_size.h"
#include "model/key.h"
#include "model/redact/redact.h"
#include "model/value_tree.h"
#include "pipeline/background.h"
#include "pipeline/disk_limit.h"
#include "pipeline/warnings.h"
#include "query/view/attempts.h"
#include "query/view/merge.h"
#include "query/view/run_view.h"
#include "run/awaited_run.h"
#include "run/exit_hook.h"
#include "run/init_options.h"
#include "run/probe_store_disk.h"
#include "run/resume.h"
#include "run/shared_run.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/live_writers.h"
#include "storage/recovery/recovery.h"
#include "storage/recovery/trash.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

// SQLite opens no file whose path has more than 512 bytes: a run that could never be stored is refused at once.
Status check_path_of_run(const InitPlan& plan) {
  const InitOptions& o = plan.options;
  const char* from_env = env_value("TRACKER_RUN_ID");
  const std::string id = o.id.empty() && from_env != nullptr ? from_env : o.id;
  const std::string run = join_path(
      plan.store_path, "runs/" + folder_name(o.project) + "/" + (id.empty() ? random_label() : folder_name(id)));
  if (run.size() <= kRunPathBytesMax) return {};
  return Status(Code::kInvalid,
                fmt::format("the folder of the run would have a path of {} bytes, at most {} are possible: {}",
                            run.size(), kRunPathBytesMax, run),
                "a shorter dir, project or id; a byte that is no letter, digit, '.', '_' or '-' takes three there");
}

void take(InitPlan* plan, RunFolder folder, bool resumed) {
  if (!folder.problem.empty()) print_line(folder.problem);
  plan->run = std::move(folder.identity);
  plan->run_dir = std::move(folder.path);
  plan->resumed = resumed;
}

// Every rank records, and there are several.
bool is_shared(const InitPlan& plan) {
  return plan.options.ranks != "first" && plan.rank.is_numbered() && plan.options.attach_attempt == 0;
}

JoinRequest join_request(const InitPlan& plan, int restarts) {
  return {plan.rank.rank, plan.rank.size_known ? plan.rank.world_size : 0, plan.launch_text, restarts,
          plan.resume_step};
}

// The run that resume_from names: an id of the project, else "project/id" or a uid. Not there: nullopt, unless it is
// another project's.
Result<std::optional<RunFolder>> find_resumed(const Store& store, InitPlan* plan, const ResumePoint& point) {
  InitOptions& o = plan->options;
  if (auto found = store.find_run_to_resume(o.project, point.run)) return found;
  auto named = store.resolve_run(point.run, RunNames::kOfRuns);
  if (!named.ok() && named.status().code() == Code::kInvalid) return named.status();  // ambiguous
  if (!named.ok()) return std::optional<RunFolder>();
  if (named->identity.project != o.project && plan->project_given)
    return Status(Code::kInvalid, fmt::format("resume_from=\"{}\" is a run of the project {}, not of {}", o.resume_from,
                                              named->identity.project, o.project));
  o.project = named->identity.project;
  (void)repair_run_document(&*named);
  return std::optional<RunFolder>(std::move(*named));
}

// What is in the place of the run's document, as the end of a sentence; empty where nothing is.
std::string why_unreadable(const Store& store, const InitOptions& o, const Result<RunIdentity>& document) {
  if (document.ok()) return fmt::format("is of the run {}/{}", document->project, document->id);
  const Code code = document.status().code();
  const char* what = code == Code::kCorrupt || code == Code::kLimit ? "is damaged"
                     : code != Code::kNotFound                      ? "cannot be read"
                     : store.lacks_run_file(o.project, o.id)        ? "is missing"
                                                                    : nullptr;
  return what == nullptr ? "" : fmt::format("{} and no database beside it says that it is this run", what);
}

// resume="allow" or "must" met no such run, or one that cannot be read.
Status missing_run(const Store& store, const InitOptions& o) {
  const std::string folder = join_path(store.path(), "runs/" + folder_name(o.project) + "/" + folder_name(o.id));
  const auto document = read_run_document(join_path(folder, "run.json"));
  if (document.ok() && document->project == o.project && document->id == o.id) return {};  // made at this moment
  if (const Status& newer = document.status(); newer.code() == Code::kVersion) {
    if (o.resume == "must") return newer;
    print_line(newer.to_string() + "; another run is made");
  } else if (const std::string why = why_unreadable(store, o, document); !why.empty()) {
    const std::string text = fmt::format("{} {}, so it cannot be resumed", join_path(folder, "run.json"), why);
    if (o.resume == "must") return Status(Code::kCorrupt, text, "its databases are untouched");
    print_line(text + "; another run is made");
  }
  if (o.resume != "must") return {};
  const std::string asked =
      o.resume_from.empty() ? "resume=\"must\"" : fmt::format("resume_from=\"{}\"", o.resume_from);
  return Status(Code::kNotFound,
                fmt::format("{}, but there is no run {}/{} in {}", asked, o.project, o.id, store.path()),
                o.resume_from.empty() ? "resume=\"allow\" makes it" : "with resume=\"allow\" it is made, from step 0");
}

// A run that the disk has taken nothing of yet: it is in journals alone. True: it is gone on with.
bool resume_from_journal(Store* store, InitPlan* plan, const LaunchFacts& facts) {
  InitOptions& o = plan->options;
  if (is_shared(*plan) || store->lacks_run_file(o.project, o.id)) return false;
  const auto run = run_in_journals(*store, o.project, o.id);
  // One that has a folder somewhere was moved, or is a copy: what waits is that one's.
  if (!run || store->find_run_by_uid(run->uid, run->project) ||
      resolve_removal(*store, run->uid).value_or(RemovalState::kNone) == RemovalState::kDecided)
    return false;
  if (run->project != o.project && plan->project_given) return false;
  o.project = run->project;
  o.id = run->id;
  auto folder = store->open_or_create_run(o.project, o.id, run->uid, facts.text, nullptr, run->created_us);
  if (folder.ok()) {
    take(plan, std::move(*folder), true);
    return true;
  }
  plan->run = *run;
  plan->run_dir = store->run_path(o.project, o.id);
  plan->resumed = true;
  plan->store_problem = folder.status();
  return true;
}

Status choose_run(Store* store, InitPlan* plan, const LaunchFacts& facts) {
  InitOptions& o = plan->options;
  const JoinRequest request = join_request(*plan, facts.restarts);
  std::optional<RunFolder> found;
  if (!o.resume_from.empty()) {
    const auto point = parse_resume_from(o.resume_from);
    plan->resume_step = point->step;
    auto resumed = find_resumed(*store, plan, *point);
    if (!resumed.ok()) return resumed.status();
    found = std::move(*resumed);
    o.id = point->run;
  } else if (o.id.empty() && env_value("TRACKER_RUN_ID") != nullptr) {
    o.id = env_value("TRACKER_RUN_ID");
    TRACKER_RETURN_IF_ERROR(check_label("TRACKER_RUN_ID", o.id));
  }
  Result<RunFolder> folder = Status();
  if (!o.id.empty()) {
    const bool may_resume = o.resume != "never" || facts.restarts > 0;
    if (!found && may_resume) found = store->find_run_to_resume(o.project, o.id);
    if (found) {
      take(plan, std::move(*found), true);
      return {};
    }
    if (may_resume && resume_from_journal(store, plan, facts)) return {};
    if (may_resume) TRACKER_RETURN_IF_ERROR(missing_run(*store, o));
    plan->resume_step.reset();  // nothing is there to be shadowed
    if (may_resume && !is_shared(*plan) && !store->lacks_run_file(o.project, o.id)) {
      // Of processes that begin the run at the same moment one makes it, and the others resume it.
      const Id128 uid = Id128::random();
      folder = store->open_or_create_run(o.project, o.id, uid, facts.text);
      if (folder.ok()) {
        const bool made_by_another = folder->identity.uid != uid;
        take(plan, std::move(*folder), made_by_another);
        return {};
      }
    }
    if (!is_shared(*plan)) folder = store->create_run(o.project, o.id, Id128(), facts.text);
    else if (may_resume) folder = resumed_run_of_label(store, o.project, o.id, request);
    else folder = run_of_label(store, o.project, o.id, request);
  } else if (facts.key && (plan->rank.world_size > 1 || plan->rank.rank > 0 || is_shared(*plan) ||
                           env_value("TORCHELASTIC_RESTART_COUNT") != nullptr)) {
    // Also torchrun with one process: its restart is a new attempt too.
    folder = run_of_launch(store, o.project, facts, request, is_shared(*plan));
  } else {
    // Where other ranks wait for this run, the claim names the one to go on with.
    if (plan->awaited && o.resume == "allow") found = run_of_claim(*store, o.project, facts.text);
    if (found) {
      take(plan, std::move(*found), true);
      return {};
    }
    folder = store->create_run(o.project, o.id, Id128(), facts.text);
  }
  if (!folder.ok()) return folder.status();
  const bool resumed = facts.restarts > 0 || is_shared(*plan);
  take(plan, std::move(*folder), resumed);
  return {};
}

// Neither the caller nor other ranks need this very run.
bool may_begin_another(const InitPlan& plan) {
  return plan.options.resume != "must" && !plan.options.strict && !is_shared(plan) && plan.options.attach_attempt == 0;
}

// In the place of a run whose files cannot be listed or read, so how far it has come is unknown.
Status begin_another(Store* store, InitPlan* plan, const LaunchFacts& facts) {
  const InitOptions& o = plan->options;
  plan->resume_step.reset();
  plan->store_problem = Status();
  auto folder = store->create_run(o.project, o.id, Id128(), facts.text);
  if (folder.ok()) {
    take(plan, std::move(*folder), false);
    return {};
  }
  plan->run = RunIdentity();  // run_in_memory() makes one
  plan->resumed = false;
  return folder.status();
}

// How far the run has come, and what its summary says. `unstored`: writers that are in journals alone, or more is.
void count_steps(const std::vector<WriterSnapshot>& past, const std::vector<WriterIdentity>& unstored,
                 const std::vector<WaitingPoints>& waiting, const std::vector<std::shared_ptr<Run>>& own,
                 InitPlan* plan) {
  Shadow shadow(past);
  for (const WriterIdentity& writer : unstored)
    if (writer.attempt < plan->attempt) shadow.add(writer);
  const auto raise = [&](int64_t step, int64_t attempt) {  // of what is shadowed the steps up to the cut count
    plan->step_base = std::max(plan->step_base, std::min(step, shadow.shown_up_to(attempt)));
  };
  ValueTree summary;
  for (const WriterSnapshot& writer : past) {
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == EventType::kSummary) summary.set(attribute.key, attribute.value);
    for (const SeriesStats& series : writer.series)
      if (series.points > 0 && series.has_steps) raise(series.step_max, writer.identity.attempt);
    if (writer.step_max) raise(*writer.step_max, writer.identity.attempt);
  }
  plan->summary = summary.take();
  for (const std::shared_ptr<Run>& run : own)  // where the disk is stuck nothing of it is stored
    if (run->attempt() < plan->attempt && run->step() != run->new_writer().resume_step)  // else it has logged nothing
      raise(run->step(), run->attempt());
  for (const WaitingPoints& each : waiting)
    if (each.step_max && !each.live) raise(*each.step_max, each.writer.attempt);
}

// What a run already holds. A damaged attempt is said and does not stop the new one. Of a run that its ranks share
// only earlier attempts count: how far the other ranks have come says nothing about this one.
// Not ok: where rows are that cannot be read now, of a newer version or by a disk: how far it has come is unknown.
Status read_past(const Store& store, const LaunchFacts& facts, InitPlan* plan) {
  // What this process has logged into the run itself may still be in its rings.
  const std::vector<std::shared_ptr<Run>> own = own_runs(plan->run.uid.hex());
  const auto deadline = std::chrono::steady_clock::now() + kFinishLocalMax;
  bool all_stored = true;
  for (const std::shared_ptr<Run>& run : own)
    all_stored &= run->flush(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(deadline - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero())));
  const RecoveryReport report = recover_dead_writers(store, plan->run.uid);
  for (const RecoveredWriter& writer : report.recovered) plan->recovered_points += writer.points;
  for (const std::string& line : report.left) print_line(line);
  for (const UnfinishedRecovery& each : report.unfinished) print_line(each.text);
  for (const std::string& problem : report.problems) print_line(problem);
  build_ended_frames(plan->run_dir);
  auto view = RunView::open({plan->run, plan->run_dir});
  if (!view.ok())
    print_line(fmt::format("earlier attempts of {} cannot be read: {}", plan->run.id, view.status().to_string()));
  std::vector<WriterSnapshot> past = view.ok() ? (*view)->writers() : std::vector<WriterSnapshot>();
  // Ranks that share a run stay in it: none can begin another one for all.
  const bool may_leave = plan->options.attach_attempt == 0 && !is_shared(*plan);
  // What could not be stored now is in the run once it can.
  const bool waits = !all_stored || !report.problems.empty() || !report.unfinished.empty();
  const std::vector<WaitingPoints> waiting =
      view.ok() && waits ? (*view)->losses().waiting : std::vector<WaitingPoints>();
  for (const WaitingPoints& each : waiting)
    if (each.newer && may_leave)
      return Status(Code::kVersion,
                    fmt::format("what waits in the journal of pid {} is of a newer version", each.writer.pid),
                    "resume it with that version, once");
  // Of what waits in journals no file may claim the attempt, where the disk takes none.
  std::vector<WriterIdentity> unstored = journal_writers_of(store, plan->run.uid);
  for (const std::shared_ptr<Run>& run : own) unstored.push_back(run->new_writer());
  std::vector<WriterIdentity> identities = report.living;
  identities.insert(identities.end(), unstored.begin(), unstored.end());
  for (const WriterSnapshot& writer : past) identities.push_back(writer.identity);
  // What cannot be read has a number of its own too, which is never above the count of writers.
  int64_t unread = 0;
  if (view.ok() && !(*view)->problems().empty())
    unread = static_cast<int64_t>(RunFolder{plan->run, plan->run_dir}.writer_dbs().size());
  if (view.ok() && may_leave) TRACKER_RETURN_IF_ERROR((*view)->unread_for_now());
  if (may_leave) TRACKER_RETURN_IF_ERROR(check_claims(plan->run_dir));
  for (const std::string& problem : view.ok() ? (*view)->problems() : std::vector<std::string>())
    print_line("an earlier attempt: " + problem);
  const int64_t newest = view.ok() ? (*view)->newest_attempt() : 0;
  if (const uint64_t missing = view.ok() ? (*view)->missing_journals(newest) : 0; missing > 0)
    print_line(fmt::format(
        "{} of attempt {} left no journal here: what {} logged after the last commit is not known, and this attempt "
        "goes on after what is stored",
        missing == 1 ? "a process" : fmt::format("{} processes", missing), newest, missing == 1 ? "it" : "they"));
  if (const auto other = other_writer(report.living, past, store.path()); other && may_leave && facts.restarts == 0)
    print_line(fmt::format(
        "{}/{} {} recorded by another process too: {}; nothing of either is lost; another id keeps them apart",
        plan->run.project, plan->run.id, other->seen ? "is" : "may be", other->text()));
  plan->attempt = plan->options.attach_attempt > 0
                      ? plan->options.attach_attempt
                      : take_attempt(plan->run_dir, std::move(identities), join_request(*plan, facts.restarts),
                                     is_shared(*plan), unread);
  if (plan->options.attach_attempt == 0)
    std::erase_if(past, [&](const WriterSnapshot& writer) { return writer.identity.attempt >= plan->attempt; });
  plan->config = merge_config(past);
  std::vector<WriterSnapshot> before = past;
  for (const WriterIdentity& writer : unstored)
    if (writer.attempt < plan->attempt) before.emplace_back().identity = writer;
  plan->continues = plan->options.attach_attempt > 0 ? 0 : attempt_to_continue(attempts_of(before), plan->resume_step);
  count_steps(past, unstored, waiting, own, plan);
  if (plan->resume_step) plan->step_base = *plan->resume_step;
  return {};
}

// Without a store the run still has its identity: the writer makes the folder when the disk lets it.
void run_in_memory(InitPlan* plan, const Status& problem) {
  plan->store_problem = problem;
  if (!plan->run.uid.is_zero()) return;
  const InitOptions& o = plan->options;
  const std::string shared = o.id.empty() ? plan->launch_text : o.id + "/" + plan->launch_text;
  plan->run.uid = is_shared(*plan) && !plan->awaited
                      ? Id128::hash_of(fmt::format("{}/{}/{}", plan->store_path, o.project, shared))
                      : Id128::random();  // ranks that share a run must still do so when the disk comes back
  plan->run.project = o.project;
  plan->run.id = !o.id.empty() ? o.id : is_shared(*plan) ? "run-" + plan->run.uid.hex().substr(0, 12) : random_label();
  plan->run.created_us = realtime_us();
  plan->run_dir =
      join_path(plan->store_path, "runs/" + folder_name(plan->run.project) + "/" + folder_name(plan->run.id));
}

// Where nothing names the run that ranks share: how they find that of rank 0. False: in no way.
bool find_by_rank_0(LaunchFacts* facts, InitPlan* plan) {
  const InitOptions& o = plan->options;
  facts->text = claim_text([](const char* name) { return std::getenv(name); }, plan->rank, facts->ordinal);
  plan->launch_text = facts->text;
  if (o.process_group) plan->group_key = fmt::format("tracker/init-{}", facts->ordinal);
  if (facts->text.empty() && plan->group_key.empty()) return false;
  if (plan->rank.is_first) {
    plan->awaited = plan->rank.world_size > 1;
    return true;
  }
  plan->awaits = std::make_shared<AwaitedRun>(AwaitedRun::Claim{
      o.project, o.process_group ? "" : facts->text, plan->rank.rank, plan->rank.world_size, process_began_us()});
  plan->store_problem = Status(Code::kTimeout, plan->rank.why + " waits for the run of rank 0");
  return true;
}

// Whether this process is a writer, and what is said where it is not.
void decide_recording(LaunchFacts* facts, InitPlan* plan) {
  const InitOptions& o = plan->options;
  const bool is_nameless =
      o.id.empty() && o.resume_from.empty() && env_value("TRACKER_RUN_ID") == nullptr && !facts->key;
  const bool is_found = !is_nameless || o.mode == "disabled" || !is_shared(*plan) || find_by_rank_0(facts, plan);
  const RankInfo& rank = plan->rank;
  if (o.mode == "disabled") plan->why_not = "mode=\"disabled\"";
  else if (rank.is_first || o.attach_attempt > 0) return;
  else if (!is_shared(*plan)) {
    plan->why_not = rank.why;
    plan->gated_line = rank.gated_line();
  } else if (!is_found) {
    plan->why_not = rank.why + ", and nothing names the run that the ranks share";
    plan->gated_line = fmt::format(
        "{} records nothing: nothing names the run that the ranks share; the same TRACKER_RUN_ID on all of them does, "
        "and "
        "so do MASTER_ADDR, MASTER_PORT and WORLD_SIZE",
        rank.why);
  } else if (o.ranks == "observe") {
    plan->observed = true;
    plan->why_not = rank.why + ", ranks=\"observe\": its metrics are not recorded";
    plan->gated_line = rank.why + " records no metrics (ranks=\"observe\"); ranks=\"all\" changes that";
    return;
  } else {
    return;
  }
  plan->records = false;
}

}  // namespace

Result<InitPlan> plan_init(const InitOptions& options) {
  (void)take_throw_memory();
  InitPlan plan;
  plan.options = options;
  plan.project_given = !options.project.empty() || env_value("TRACKER_PROJECT") != nullptr;
  TRACKER_RETURN_IF_ERROR(complete_options(&plan.options));
  const InitOptions& o = plan.options;
  auto max_disk = max_disk_of(&plan.options);
  if (!max_disk.ok()) return max_disk.status();
  plan.max_disk = *max_disk;
  const auto capture = capture_plan(o);
  if (!capture.ok()) return capture.status();
  plan.capture = *capture;
  if (!o.tensorboard.empty() && (plan.tensorboard = absolute_path(o.tensorboard)).empty())
    return Status(Code::kInvalid, fmt::format("tensorboard=\"{}\": the working directory was removed", o.tensorboard),
                  "an absolute path works");
  plan.mode = o.mode;
  if (o.mode == "online") {
    auto server = known_server(o.host, o.token);
    if (!server.ok()) return server.status();
    plan.server = std::move(*server);
  }
  plan.on_full = o.on_full == "drop" ? OnFull::kDrop : o.on_full == "block" ? OnFull::kBlock : OnFull::kWait;
  auto rank = resolve_rank({o.rank, o.world_size, o.torch_rank, o.torch_world_size, o.child_of_run},
                           [](const char* name) { return std::getenv(name); });
  if (!rank.ok()) return rank.status();
  plan.rank = *rank;
  plan.store_path = Store::resolve(o.dir);
  LaunchFacts facts = facts_of_launch([](const char* name) { return std::getenv(name); });
  plan.launch_text = facts.text;
  plan.run.project = o.project;
  plan.run.id = o.id;
  decide_recording(&facts, &plan);
  // Of one that records: a name for its journal until it is known which run it is.
  if (plan.records && plan.run.id.empty()) plan.run.id = "none";
  if (!plan.records) {
    plan.config = o.config;
    plan.run_dir = join_path(plan.store_path, "gated/" + plan.rank.folder);
    return plan;
  }
  if (plan.awaits) plan.run_dir = join_path(plan.store_path, "gated/" + plan.rank.folder);
  TRACKER_RETURN_IF_ERROR(check_path_of_run(plan));
  const Status answers = probe_store_disk(plan.store_path);
  auto store = answers.ok() ? Store::open_or_create(plan.store_path) : Result<Store>(answers);
  Status status = store.status();
  if (store.ok()) {
    plan.store = store->id();
    if (!store->problem().empty()) print_line(store->problem());
    if (!plan.awaits) status = choose_run(&*store, &plan, facts);
    const bool has_folder = status.ok() && plan.resumed && plan.store_problem.ok();
    Status past = has_folder ? list_dir(plan.run_dir).status() : Status();
    if (past.ok() && status.ok() && plan.resumed) past = read_past(*store, facts, &plan);
    if (!past.ok()) {
      if (!may_begin_another(plan)) return Status(past.code(), past.to_string() + ": the run cannot be resumed");
      print_line(past.to_string() + ": the run cannot be resumed; another run is made");
      status = begin_another(&*store, &plan, facts);
    }
  }
  if (!status.ok()) {
    // What the caller got wrong is theirs to know at once; what the disk refuses is not.
    // Nor does a run begin that was to go on.
    if (status.code() == Code::kInvalid || o.resume == "must" || o.strict) return status;
    if (!plan.awaits) run_in_memory(&plan, status);
  } else {
    recover_in_background(*store, o.quiet);
  }
  return plan;
}

}  // namespace tracker::internal
