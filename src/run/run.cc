// SPDX-License-Identifier: MIT
#include "run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/write_signals.h"
#include "journal/ring_room.h"
#include "journal/wipe_memory.h"
#include "model/metric_definition.h"
#include "model/redact.h"
#include "model/value_tree.h"
#include "query/attempts.h"
#include "query/program_name.h"
#include "run/exit_hook.h"
#include "run/run_impl.h"
#include "storage/store_files.h"
#include "tracker/version.h"

namespace tracker::internal {
namespace {

std::string grouped(uint64_t n) {
  std::string digits = std::to_string(n);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string entries_text(uint64_t n) { return grouped(n) + (n == 1 ? " entry" : " entries"); }
std::string texts_text(uint64_t n) { return grouped(n) + (n == 1 ? " text" : " texts"); }
std::string points_text(uint64_t n) { return grouped(n) + (n == 1 ? " point" : " points"); }

const char* state_text(RunState state) { return run_state_name(state); }

// Once a process, however many runs it opens: a worker of a pool may call init for each task. Another line, for another
// reason, is said too. No lock, as it is called in forked children.
// `said`: the line last said, and in which process.
void say_of_ranks(const std::string& line, std::atomic<uint64_t>& said) {
  const uint64_t now = std::hash<std::string>{}(line) ^ (process_generation() + 1) * 0x9e3779b97f4a7c15ull;
  if (said.exchange(now) != now) say(line);
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
  auto launch = decide_launch(options);
  if (!launch.ok()) return launch.status();
  std::shared_ptr<Run> run(new Run(std::make_unique<Impl>(std::move(*launch))));
  if (run->hot_ == nullptr) return Status(Code::kLimit, "out of memory");
  const Launch& plan = run->impl_->launch;
  static std::atomic<uint64_t> gated{0}, warned{0};
  if (!plan.rank.warning.empty() && plan.mode != "disabled") say_of_ranks(plan.rank.warning, warned);
  if (!plan.gated_line.empty() && !plan.options.quiet) say_of_ranks(plan.gated_line, gated);
  if (!plan.records) return run;
  run->hot_->step_base = plan.step_base;
  TRACKER_RETURN_IF_ERROR(run->start());
  tracker::internal::finish_at_exit(run);
  return run;
}

// A new writer, as far as it is known before its journal is made.
WriterIdentity Run::new_writer() const {
  const Launch& plan = impl_->launch;
  WriterIdentity identity = this_process();
  identity.writer = Id128::random();
  identity.run = plan.run;
  identity.store = plan.store;
  identity.store_path = plan.store_path;
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
  Launch& plan = impl_->launch;
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
    impl_->warnings.say("journal place", fmt::format("{}: {}",
                                                     (*journal)->kind() == JournalKind::kMemory
                                                         ? "the journal is in private memory and dies with the process"
                                                         : "the journal is in " + parent_path(identity.journal_dir),
                                                     why));
  impl_->writer = std::make_shared<Writer>(
      std::move(*journal), identity,
      StoreTarget{plan.store_path, plan.run, plan.store_problem, plan.options.store_files, plan.max_disk});
  if (Status status = impl_->writer->start(); !status.ok()) {
    if (plan.options.strict) {
      impl_->writer->abandon();
      impl_->writer.reset();
      return status;
    }
    impl_->warnings.say("threads",
                        "no thread can be started (a limit on processes?); what is logged stays in the "
                        "journal, within its bound, until flush() or finish() stores it");
  }
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
  if (plan.mode == "online") say("mode=\"online\" but no server is known; the run is recorded locally");
  if (impl_->says_lines()) {
    std::string line = fmt::format("recording {}/{} in {}", plan.run.project, plan.run.id, plan.store_path);
    if (const StoreFilesChoice files = choose_store_files(plan.store_path, plan.options.store_files, false);
        plan.store_problem.ok() && !files.why.empty())
      line += fmt::format(" as .frames files until it ends ({})", files.why);
    if (plan.attempt > 1) line += fmt::format(" (attempt {})", plan.attempt);
    if (plan.resume_step) line += fmt::format(", from step {}", *plan.resume_step);
    if (plan.recovered_points > 0)
      line += fmt::format("; {} of a dead attempt recovered", points_text(plan.recovered_points));
    say(line);
  }
  return {};
}

// --- logging --------------------------------------------------------------------------------------------------------

void Run::count_no_memory(bool text) noexcept {
  const JournalUse use(hot_);
  if (use.get() != nullptr) use.get()->count_loss(text ? kTextLosses : 0, LossReason::kRingFull, 1);
  else count_late(hot_, text ? 0 : 1, text ? 1 : 0);
}

uint32_t Run::series_id(std::string_view name, ValueType type) noexcept try {
  const JournalUse use(hot_);
  if (use.get() == nullptr) {
    if (hot_->alive == 0) say_forked_once();
    else if (impl_->writer && check_key(name).ok()) count_late(hot_, 1);
    return 0;
  }
  std::string renamed;
  if (is_system_series(name)) {
    renamed = name_of_program(name);
    impl_->warnings.say("system series",
                        fmt::format("metrics named {0}... are what the tracker samples: '{1}' is stored as '{2}{1}'",
                                    kSystemPrefix, name.substr(0, 80), kProgramPrefix));
    name = renamed;
  }
  if (const Status status = check_key(name); !status.ok()) {
    count_rejected(name, status.message());
    return 0;
  }
  const uint32_t id = use.get()->series_id(name, type);
  if (id == 0) {
    use.get()->count_loss(0, LossReason::kKeyLimit, 1);
    impl_->warnings.say(
        "series limit",
        fmt::format("no more metrics can be defined ({} at most, and while the journal has room); points "
                    "of further ones are dropped and counted",
                    kSeriesMax));
  }
  return id;
} catch (const std::bad_alloc&) {
  count_no_memory(false);
  return 0;
}

int64_t Run::next_step() const { return hot_next_step(hot_); }
int64_t Run::step() const { return hot_step(hot_); }

void Run::count_rejected(std::string_view key, std::string_view why) noexcept try {
  const JournalUse use(hot_);
  if (use.get() == nullptr) return;
  use.get()->count_loss(0, LossReason::kRejected, 1);
  const std::string shown(key.substr(0, 80));
  impl_->warnings.say("key " + shown,
                      fmt::format("'{}' is not logged: {}; the other keys of the call are kept", shown, why));
} catch (const std::bad_alloc&) {}  // counted, and without memory not said

// Through the ring when it fits there, else through the bounded queue of large values.
Code Run::log_event(EventType type, const Value& payload, int64_t step, bool has_step) {
  const JournalUse use(hot_);
  if (use.get() == nullptr) {
    if (hot_->alive == 0) say_forked_once();
    else if (impl_->writer && !impl_->observed()) count_late(hot_, 0, type == EventType::kText ? 1 : 0);
    return Code::kClosed;
  }
  const uint32_t lost_as = type == EventType::kText ? kTextLosses : kEntryLosses;
  const DiskRoom room = impl_->writer->disk_room();
  if (room == DiskRoom::kOnlyTheEnd || (room == DiskRoom::kNoPoints && type == EventType::kText)) {
    use.get()->count_loss(lost_as, LossReason::kMaxDisk, 1);
    return Code::kLimit;
  }
  std::string bytes = encode_cbor(payload);
  // Of values that replace each other the last one must come last: behind one that waits there it goes through the
  // ring, where it survives a kill, and once more behind the other.
  const bool replaces = type == EventType::kConfig || type == EventType::kSummary || type == EventType::kAttribute ||
                        type == EventType::kMetric;
  const bool once_more = replaces && impl_->writer->has_large();
  if (bytes.size() <= kRingPayloadMax) {
    const Code code = use.get()->log_event(type, bytes, step, has_step);
    if (code == Code::kOk && once_more) (void)impl_->writer->push_large(type, std::move(bytes), step, has_step);
    if (code == Code::kLimit)
      impl_->warnings.say("ring full",
                          "more is logged than can be stored in time; texts, config or summary values that find no "
                          "room are dropped and counted");
    if (code != Code::kUnsupported) return code;
  }
  // Larger: it waits in memory for the drain thread, at most 100 ms (P1: "larger values once spooled").
  const Code code = impl_->writer->push_large(type, std::move(bytes), step, has_step);
  if (code == Code::kOk && has_step && type == EventType::kText) use.get()->raise_step(step);
  if (code == Code::kClosed && type == EventType::kText) count_late(hot_, 0, 1);
  if (code == Code::kLimit) {
    const bool disk = impl_->writer->disk_room() != DiskRoom::kEnough;  // which is said by the thread that looks
    use.get()->count_loss(lost_as, disk ? LossReason::kMaxDisk : LossReason::kTooLarge, 1);
    if (!disk)
      impl_->warnings.say(
          "large",
          fmt::format("more than {} MiB of texts and config wait for the disk; further ones are dropped and counted",
                      kLargeBytesMax >> 20));
  }
  return code;
}

Code Run::log_text(std::string_view key, std::string_view text, int64_t step, bool has_step) {
  if (const Status status = check_key(key); !status.ok()) {
    count_rejected(key, status.message());
    return Code::kInvalid;
  }
  uint64_t found = 0;
  const bool secret = is_secret_key(key);
  std::string clean = secret ? std::string(kRedacted) : redact_text(text, &found);
  found += secret;
  if (found > 0 && !impl_->forked()) {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->redacted += found;
  }
  return log_event(EventType::kText, Value::Map{{"key", std::string(key)}, {"text", std::move(clean)}}, step, has_step);
}

Code Run::set_entry(EventType type, std::string_view key, Value value) {
  if (!(type == EventType::kConfig && key.empty()))
    if (const Status status = check_key(key); !status.ok()) {
      count_rejected(key, status.message());
      return Code::kInvalid;
    }
  if (impl_->forked()) return Code::kClosed;
  const size_t slash = key.rfind('/');
  uint64_t redacted = 0;
  std::string given_twice;
  redact(slash == std::string_view::npos ? key : key.substr(slash + 1), &value, &redacted);
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->redacted += redacted;
    if (type == EventType::kSummary) impl_->summary.set(key, value);
    if (type == EventType::kConfig && !key.empty()) impl_->config.set_path(key, value);
    if (type == EventType::kConfig && key.empty() && value.as_map() != nullptr) {
      impl_->config.merge(value);  // leaf by leaf, as it is stored
      given_twice = impl_->config.given_twice();
    }
    if (type == EventType::kAttribute && key == "name" && value.as_text() != nullptr) impl_->name = *value.as_text();
  }
  if (!given_twice.empty())
    impl_->warnings.say("config twice", fmt::format("config has two values for '{}' (a '/' in a key leads into a dict "
                                                    "below it): the later one is kept",
                                                    given_twice));
  if (!impl_->writer || impl_->observed()) return Code::kOk;  // a gated rank keeps what was set
  return log_event(type, Value::Map{{"key", std::string(key)}, {"value", std::move(value)}}, 0, false);
}

Code Run::set_config(std::string_view key, Value value) { return set_entry(EventType::kConfig, key, std::move(value)); }
Code Run::set_summary(std::string_view key, Value value) {
  return set_entry(EventType::kSummary, key, std::move(value));
}
Code Run::set_attribute(std::string_view key, Value value) {
  return set_entry(EventType::kAttribute, key, std::move(value));
}

Status Run::define_metric(std::string_view name, std::string_view step_metric, const std::vector<std::string>& summary,
                          std::string_view goal) {
  auto definition = make_definition(name, step_metric, summary, goal);
  if (!definition.ok()) return definition.status();
  if (!impl_->writer || impl_->observed() || impl_->forked()) return {};
  bool room = true;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    room = impl_->defined.size() < kMetricDefinitionsMax || impl_->defined.count(std::string(name)) > 0;
    if (room) impl_->defined.emplace(name);
  }
  if (!room) {
    const std::string text = fmt::format("{} metrics and patterns are defined already", kMetricDefinitionsMax);
    impl_->warnings.say("definitions", text + "; further ones are not recorded");
    return Status(Code::kLimit, text);
  }
  const Value payload = Value::Map{{"key", std::string(name)}, {"value", definition->to_value()}};
  const Code code = log_event(EventType::kMetric, payload, 0, false);
  return code == Code::kOk ? Status() : Status(code, fmt::format("\"{}\" could not be defined", name));
}

Value Run::config() const {
  if (impl_->forked()) return impl_->config.value();  // as it was at the fork; nobody changes it here
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->config.value();
}

Value Run::explicit_summary() const {
  if (impl_->forked()) return impl_->summary.value();
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->summary.value();
}

// --- the end --------------------------------------------------------------------------------------------------------

Code Run::flush_code(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting) {
  if (!impl_->writer || impl_->forked()) return Code::kOk;
  if (!finished()) return impl_->writer->flush(timeout, keep_waiting) ? Code::kOk : Code::kTimeout;
  // The threads may have come to the end after finish() gave up. What was logged behind it is nowhere.
  const auto start = std::chrono::steady_clock::now();
  const bool ended = impl_->wait_finished(timeout).ok();
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  if (!ended && !impl_->writer->flush(timeout - std::min(timeout, waited), keep_waiting)) return Code::kTimeout;
  const bool late = hot_->late.load(std::memory_order_relaxed) + hot_->late_texts.load(std::memory_order_relaxed) > 0;
  return impl_->observed() || !late ? Code::kOk : Code::kClosed;
}

Status Run::finish(RunState state, int exit_code, std::string_view reason, std::chrono::milliseconds timeout,
                   std::chrono::milliseconds artifacts) {
  if (impl_->forked()) return Status(Code::kClosed, "the run belongs to the parent process");
  bool first = false;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    first = !std::exchange(impl_->finished, true);
  }
  if (!first) return impl_->wait_finished(timeout);
  try {
    return finish_first(state, exit_code, reason, timeout, artifacts);
  } catch (const std::exception&) {  // no memory: the next finish(), or the end of the process, begins again
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->finished = false;
    throw;
  }
}

// May be called again after an exception: each part that has ended stays so.
Status Run::finish_first(RunState state, int exit_code, std::string_view reason, std::chrono::milliseconds timeout,
                         std::chrono::milliseconds artifacts) {
  impl_->stop->end();
  Status status, left;
  if (impl_->artifacts) {
    const auto start = std::chrono::steady_clock::now();
    const bool share = artifacts < std::chrono::milliseconds(0);
    const auto budget = share ? timeout / kExitArtifactsShare : artifacts;
    if (impl_->source) impl_->source->end(budget / 2);
    const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    left = impl_->artifacts->close(budget - std::min(budget, spent));
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    if (share) timeout = std::max(timeout - took, std::min(timeout, kFinishLeast));
  }
  if (impl_->writer) {
    finish_alerts();
    if (!impl_->launch.options.quiet && !impl_->observed()) hot_->tells_late.store(1);
    if (impl_->monitor) impl_->monitor->stop();
    impl_->console->finish();
    uint64_t redacted = 0;
    const std::string end = encode_cbor(Value::Map{{"state", state_text(state)},
                                                   {"exit_code", static_cast<int64_t>(exit_code)},
                                                   {"reason", redact_text(reason.substr(0, 4096), &redacted)},
                                                   {"cost", cost_value(impl_->writer->cost())}});
    const auto begin = std::chrono::steady_clock::now();
    if (impl_->tensorboard) impl_->tensorboard->hold(timeout / kTensorBoardHoldShare);
    status = impl_->writer->finish(end, timeout);
    if (impl_->tensorboard) impl_->tensorboard->end(begin + timeout);
    say_end(state, status);
    if (status.ok()) status = left;
  }
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->finish_status = status;
    impl_->finish_done = true;
  }
  impl_->finish_changed.notify_all();
  return status;
}

void Run::say_end(RunState state, const Status& status) const {
  if (impl_->launch.options.quiet) return;
  const RunStatus counts = this->status();
  const uint64_t media = counts.media.dropped, artifacts = counts.artifacts_failed;
  const uint64_t entries = counts.entries_dropped;
  if (!impl_->says_lines() && status.ok() &&
      counts.points_dropped + counts.texts_dropped + entries + media + artifacts == 0)
    return;
  std::string lost = counts.points_dropped > 0 ? points_text(counts.points_dropped) : "";
  if (counts.texts_dropped > 0) lost += (lost.empty() ? "" : " and ") + texts_text(counts.texts_dropped);
  if (entries > 0) lost += (lost.empty() ? "" : " and ") + entries_text(entries);
  if (media > 0) lost += fmt::format("{}{} media", lost.empty() ? "" : " and ", media);
  if (artifacts > 0)
    lost += fmt::format("{}{} artifact{}", lost.empty() ? "" : " and ", artifacts, artifacts == 1 ? "" : "s");
  lost = lost.empty() ? "nothing lost" : lost + " lost";
  if (counts.points_pending > 0) lost += fmt::format(", {} pending", points_text(counts.points_pending));
  say(status.ok() ? fmt::format("{}/{} {}: {} stored, {}; tracker show {}", project(), id(), state_text(state),
                                points_text(counts.points_stored), lost, id())
                  : fmt::format("{}/{} {}: {} stored so far, {}: {}", project(), id(), state_text(state),
                                points_text(counts.points_stored), lost, status.to_string()));
}

void Run::set_exit_reason(RunState state, int exit_code, std::string_view reason) {
  if (impl_->forked()) return;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  impl_->exit_known = true;
  impl_->exit_state = state;
  impl_->exit_code = exit_code;
  impl_->exit_reason = reason;
}

void Run::finish_at_exit(int exit_code, std::chrono::milliseconds timeout) {
  RunState state = exit_code == 0 ? RunState::kFinished : RunState::kFailed;
  std::string reason;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    if (impl_->exit_known && (exit_code != 0 || impl_->exit_state != RunState::kFailed)) {
      state = impl_->exit_state;
      reason = impl_->exit_reason;
    }
  }
  (void)finish(state, exit_code, reason, timeout, std::chrono::milliseconds(-1));
}

bool Run::finished() const {
  if (impl_->forked()) return true;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->finished;
}

// --- facts ----------------------------------------------------------------------------------------------------------

const std::string& Run::id() const {
  const RunFolder* folder = impl_->writer ? impl_->writer->folder() : nullptr;
  return folder != nullptr ? folder->identity.id : impl_->launch.run.id;
}
const std::string& Run::uid() const { return impl_->uid_text; }
const std::string& Run::project() const { return impl_->launch.run.project; }
const std::string& Run::store_path() const { return impl_->launch.store_path; }
const std::string& Run::mode() const { return impl_->launch.mode; }
int Run::rank() const { return impl_->launch.rank.rank; }
int Run::world_size() const { return impl_->launch.rank.world_size; }
int64_t Run::attempt() const { return impl_->launch.attempt; }
bool Run::strict() const { return impl_->launch.options.strict; }
void Run::set_pause_for_testing(void (*drain)(), void (*store)()) {
  if (impl_->writer) impl_->writer->set_pause_for_testing(drain, store);
}

bool Run::recording() const { return impl_->writer != nullptr && !impl_->observed() && !finished(); }

std::string Run::name() const {
  if (impl_->forked()) return impl_->launch.run.id;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->name == impl_->launch.run.id ? id() : impl_->name;  // without one of its own it is called by its id
}

const std::string& Run::dir() const {
  // A gated rank's folder is made when somebody asks for it: code that writes files there must work on every rank.
  if (!impl_->launch.records && !impl_->forked()) {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    if (!impl_->dir_made) impl_->dir_made = make_dirs(impl_->launch.run_dir).ok();
  }
  const RunFolder* folder = impl_->writer ? impl_->writer->folder() : nullptr;
  return folder != nullptr ? folder->path : impl_->launch.run_dir;
}

}  // namespace tracker::internal
