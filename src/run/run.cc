// SPDX-License-Identifier: MIT
// How a run begins, and its facts. What is logged is in run_log.cc, its end in run_end.cc; a file named after a
// feature (alert.cc, media.cc, stop.cc, ...) has the members that are its own.
#include "run/run.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/write_signals.h"
#include "journal/ring/wipe_memory.h"
#include "query/view/attempts.h"
#include "run/exit_hook.h"
#include "run/run_impl.h"
#include "storage/recovery/live_writers.h"
#include "storage/writer/store_files.h"
#include "tracker/version.h"

namespace tracker::internal {
namespace {

// Once a process, however many runs it opens: a worker of a pool may call init for each task. Another line, for another
// reason, is said too. No lock, as it is called in forked children.
// `said`: the line last said, and in which process.
void say_of_ranks(const std::string& line, std::atomic<uint64_t>& said) {
  const uint64_t now = std::hash<std::string>{}(line) ^ (process_generation() + 1) * 0x9e3779b97f4a7c15ull;
  if (said.exchange(now) != now) print_line(line);
}

// The process that records the run with the id given to init(); empty if there is none.
std::string other_recorder(const InitPlan& plan) {
  const auto store = Store::open(plan.store_path);
  const auto run = store.ok() ? store->find_run(plan.run.project, plan.options.id) : std::nullopt;
  if (!run) return "";
  const auto writers = live_writers(*store, run->identity.uid, run->path, realtime_us());
  return writers.empty() ? "" : writers.front().text();
}

}  // namespace

Run::Run(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), hot_(allocate_hot_run()) {}

Run::~Run() {
  if (impl_->forked()) {
    (void)impl_.release();  // its threads and locks are the parent's
    return;
  }
  if (!finished())
    (void)finish(impl_->exit_known ? impl_->exit_state : RunState::kFinished, impl_->exit_code, impl_->exit_reason);
  if (hot_ != nullptr) free_hot_run(hot_);
  if (impl_->observer_hot != nullptr) free_hot_run(impl_->observer_hot);
}

Result<std::shared_ptr<Run>> Run::init(const InitOptions& options) {
  const NoWriteSignals guard;
  auto decided = plan_init(options);
  if (!decided.ok()) return decided.status();
  std::shared_ptr<Run> run(new Run(std::make_unique<Impl>(std::move(*decided))));
  if (run->hot_ == nullptr) return Status(Code::kLimit, "out of memory");
  const InitPlan& plan = run->impl_->plan;
  static std::atomic<uint64_t> gated{0}, warned{0};
  if (!plan.rank.warning.empty() && plan.mode != "disabled") say_of_ranks(plan.rank.warning, warned);
  if (!plan.gated_line.empty() && !plan.options.quiet) say_of_ranks(plan.gated_line, gated);
  if (!plan.records) return run;
  run->hot_->step_base = plan.step_base;
  TRACKER_RETURN_IF_ERROR(run->start());
  tracker::internal::finish_at_exit(run);
  return run;
}

// As far as it is known before a journal is made.
WriterIdentity Run::new_writer() const {
  const InitPlan& plan = impl_->plan;
  WriterIdentity identity = this_process();
  identity.writer = Id128::random();
  identity.run = plan.run;
  identity.store = plan.store;
  identity.store_path = plan.store_path;
  if (struct stat st{}; !plan.store.is_zero() && ::stat(plan.store_path.c_str(), &st) == 0) {
    identity.store_device = st.st_dev;
    identity.store_inode = st.st_ino;
  }
  identity.run_dir = "runs/" + folder_name(plan.run.project) + "/" + folder_name(plan.run.id);
  identity.attempt = plan.attempt;
  identity.continues = plan.continues;
  identity.resume_step = plan.resume_step;
  identity.launch = plan.launch_text;
  identity.observed = plan.observed;
  identity.rank = plan.rank.rank;
  identity.world_size = plan.rank.world_size;
  identity.started_us = realtime_us();
  identity.version = TRK_VERSION_STRING;
  if (auto kills = cgroup_oom_kills()) {
    identity.oom_file = std::move(kills->file);
    identity.oom_kills = kills->count;
  }
  return identity;
}

// Opens the journal and starts the threads, then writes what is known of the run into the journal.
Status Run::start() {
  InitPlan& plan = impl_->plan;
  WriterIdentity identity = new_writer();
  JournalOptions journal_options;
  journal_options.kind = plan.options.journal;
  journal_options.store_path = plan.store_path;
  journal_options.on_full = plan.on_full;
  if (plan.observed && (impl_->observer_hot = allocate_hot_run()) == nullptr)
    return Status(Code::kLimit, "out of memory");
  auto journal = Journal::open(journal_options, &identity, plan.observed ? impl_->observer_hot : hot_);
  if (!journal.ok()) return journal.status();
  if (const std::string& why = (*journal)->why(); !why.empty())
    impl_->warnings.warn_once("journal place",
                              fmt::format("{}: {}",
                                          (*journal)->kind() == JournalKind::kMemory
                                              ? "the journal is in private memory and dies with the process"
                                              : "the journal is in " + parent_path(identity.journal_dir),
                                          why));
  std::function<std::optional<JoinedRun>(const Store&)> find_run;
  if (plan.awaits) find_run = [awaits = plan.awaits](const Store& store) { return awaits->look(store); };
  impl_->writer =
      std::make_shared<Writer>(std::move(*journal), identity,
                               StoreTarget{plan.store_path, plan.run, plan.store_problem, plan.options.store_files,
                                           plan.max_disk, find_run, plan.rank.why, kRunAwaitMax, plan.awaited});
  if (Status status = impl_->writer->start(); !status.ok()) {
    if (plan.options.strict) {
      impl_->writer->abandon();
      impl_->writer.reset();
      return status;
    }
    impl_->warnings.warn_once(
        "threads",
        "no thread can be started (a limit on processes?); what fits the journal is stored by the next "
        "run or command, the rest is dropped and counted");
  }
  if (plan.options.on_sigterm == "mark") mark_at_sigterm();
  impl_->console = std::make_unique<RunConsole>([this](const std::string& payload) { return log_console(payload); });
  if (!plan.observed) start_artifacts();
  start_monitor();
  start_source();
  start_tensorboard();
  const InitOptions& o = plan.options;
  const std::pair<const char*, const std::string*> labels[] = {
      {"name", &o.name}, {"group", &o.group}, {"job_type", &o.job_type}, {"notes", &o.notes}};
  for (const auto& [key, label] : labels)
    if (!label->empty()) (void)set_attribute(key, *label);
  if (o.duplicate_policy != "last") (void)set_attribute(kDuplicatePolicyKey, o.duplicate_policy);
  if (!o.tags.empty()) (void)set_attribute("tags", Value::List(o.tags.begin(), o.tags.end()));
  if (const Value::Map* config = o.config.as_map(); config != nullptr && !config->empty())
    (void)set_config("", o.config);
  start_upload();
  if (impl_->says_lines()) {
    const bool id_was_taken = o.resume == "never" && !o.id.empty() && plan.run.id != o.id && plan.store_problem.ok();
    const std::string recorder = id_was_taken ? other_recorder(plan) : "";
    std::string line = fmt::format("recording {}/{} in {}", plan.run.project, plan.run.id, plan.store_path);
    if (id_was_taken)
      line = recorder.empty() ? o.id + " exists; " + line
                              : fmt::format("{} is recorded now: {}; {}", o.id, recorder, line);
    if (const StoreFilesChoice files = choose_store_files(plan.store_path, plan.options.store_files, false);
        plan.store_problem.ok() && !files.why.empty())
      line += fmt::format(" as .frames files until it ends ({})", files.why);
    if (plan.attempt > 1) line += fmt::format(" (attempt {})", plan.attempt);
    if (plan.resume_step) line += fmt::format(", from step {}", *plan.resume_step);
    if (plan.recovered_points > 0)
      line += fmt::format("; {} of a dead attempt recovered", count_text(plan.recovered_points, "point", "points"));
    if (id_was_taken && recorder.empty()) line += fmt::format("; resume=\"allow\" goes on with {}", o.id);
    print_line(line);
  }
  return {};
}

// --- facts ----------------------------------------------------------------------------------------------------------

const std::string& Run::id() const {
  static const std::string kNotKnown;
  if (const RunFolder* folder = impl_->writer ? impl_->writer->folder() : nullptr; folder != nullptr)
    return folder->identity.id;
  if (!impl_->plan.awaits) return impl_->plan.run.id;
  const AwaitedRun::Found* found = impl_->awaited();
  return found != nullptr ? found->joined.run.id : kNotKnown;
}
const std::string& Run::uid() const {
  const AwaitedRun::Found* found = impl_->awaited();
  return found != nullptr ? found->uid : impl_->uid_text;
}
const std::string& Run::project() const { return impl_->plan.run.project; }
const std::string& Run::store_path() const { return impl_->plan.store_path; }
uint64_t Run::max_disk() const { return impl_->plan.max_disk; }
const std::string& Run::mode() const { return impl_->plan.mode; }
int Run::rank() const { return impl_->plan.rank.rank; }
int Run::world_size() const { return impl_->plan.rank.world_size; }
int64_t Run::attempt() const {
  const AwaitedRun::Found* found = impl_->awaited();
  return found != nullptr ? found->joined.attempt : impl_->plan.attempt;
}
std::string Run::group_key() const { return impl_->plan.group_key; }
std::string Run::group_text() const { return AwaitedRun::text_of({impl_->plan.run, impl_->plan.attempt}); }
Status Run::tell_run(std::string_view text) {
  return impl_->plan.awaits ? impl_->plan.awaits->tell(text) : Status(Code::kInvalid, "this process waits for no run");
}
bool Run::waits_for_run() const { return impl_->plan.awaits && impl_->plan.awaits->found() == nullptr; }
bool Run::strict() const { return impl_->plan.options.strict; }
void Run::set_pause_for_testing(void (*drain)(), void (*store)()) {
  if (impl_->writer) impl_->writer->set_pause_for_testing(drain, store);
}

bool Run::recording() const { return impl_->writer != nullptr && !impl_->observed() && !finished(); }

std::string Run::name() const {
  if (impl_->forked()) return impl_->plan.run.id;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->name == impl_->plan.run.id ? id() : impl_->name;  // without one of its own it is called by its id
}

const std::string& Run::dir() const {
  // A gated rank's folder is made when somebody asks for it: code that writes files there must work on every rank.
  if ((!impl_->plan.records || waits_for_run()) && !impl_->forked()) {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    if (!impl_->dir_made) impl_->dir_made = make_dirs(impl_->plan.run_dir).ok();
  }
  const RunFolder* folder = impl_->writer ? impl_->writer->folder() : nullptr;
  return folder != nullptr ? folder->path : impl_->plan.run_dir;
}

}  // namespace tracker::internal
