// SPDX-License-Identifier: MIT
// How a run ends: flush(), finish(), what is said of it, and what the exit handler does.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/shell_word.h"
#include "model/alert.h"
#include "model/redact/redact.h"
#include "pipeline/background.h"
#include "query/runs/run_record.h"
#include "run/run_impl.h"
#include "storage/catalog/catalog_intake.h"

namespace tracker::internal {

Code Run::flush_code(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting) {
  if (!impl_->writer || impl_->forked()) return Code::kOk;
  if (!finished()) return impl_->writer->flush(timeout, keep_waiting) ? Code::kOk : Code::kTimeout;
  // The threads may have come to the end after finish() gave up. What was logged after it is not stored.
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

namespace {

// At its end a run waits so long for the row that it leaves for the next listing.
// Limit: time of the end of a run to write its row for listings. Beyond it: the next listing reads the run.
constexpr std::chrono::milliseconds kRowWait{100};

// With how much of it is missing, where that is anything.
std::string end_reason(std::string_view reason, uint64_t* redacted) {
  uint64_t cut = 0;
  const size_t kept = alert_part(reason, kEndReasonBytesMax, &cut).size();
  const std::string out = alert_part(redact_text(reason, redacted, kept), kEndReasonBytesMax, &cut);
  return cut > 0 ? fmt::format("{} (and {} bytes more)", out, cut) : out;
}

}  // namespace

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
    if (!impl_->plan.options.quiet && !impl_->observed()) hot_->tells_late.store(1);
    const auto stop_begin = std::chrono::steady_clock::now();
    const std::chrono::milliseconds facts_wait = std::min(kFactsWaitMax, timeout / 2);
    if (impl_->monitor) impl_->missing_facts = impl_->monitor->stop(facts_wait);
    const auto stop_took = std::chrono::steady_clock::now() - stop_begin;
    timeout = std::max(timeout - std::chrono::duration_cast<std::chrono::milliseconds>(stop_took),
                       std::min(timeout, kFinishLeast));
    impl_->console->finish();
    uint64_t redacted = 0;
    if (preempting()) {
      state = RunState::kPreempted;
      if (reason.empty() && impl_->sigterm != nullptr && impl_->sigterm->seen) reason = kSigterm;
    }
    const std::string end = encode_cbor(Value::Map{{"state", run_state_name(state)},
                                                   {"exit_code", static_cast<int64_t>(exit_code)},
                                                   {"reason", end_reason(reason, &redacted)},
                                                   {"cost", cost_value(impl_->writer->cost())}});
    const auto begin = std::chrono::steady_clock::now();
    if (impl_->tensorboard) impl_->tensorboard->hold(timeout / kHoldShare);
    if (impl_->upload) impl_->upload->hold(timeout / kHoldShare);
    status = impl_->writer->finish(end, timeout);
    if (impl_->tensorboard) impl_->tensorboard->end(begin + timeout);
    if (impl_->sigterm != nullptr) unwatch_sigterm(impl_->sigterm);
    say_end(state, status);
    if (status.ok()) leave_row();
    const bool at_exit = artifacts < std::chrono::milliseconds(0);
    finish_upload(at_exit ? begin + timeout : std::chrono::steady_clock::now() + artifacts);
    if (status.ok()) status = left;
    if (status.ok() && impl_->plan.options.strict && waits_for_run())
      status = Status(Code::kNotFound, impl_->plan.rank.why + " found no run of rank 0 to record into");
  }
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->finish_status = status;
    impl_->finish_done = true;
  }
  impl_->finish_changed.notify_all();
  return status;
}

namespace {

std::string list_text(const std::vector<std::string>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return out;
}

struct Counted {
  uint64_t count;
  const char *one, *many;
};

// "1 point and 2 texts lost", "" where there is nothing.
std::string counts_text(std::initializer_list<Counted> counts, const char* what) {
  std::vector<std::string> parts;
  for (const Counted& each : counts)
    if (each.count > 0) parts.push_back(count_text(each.count, each.one, each.many));
  return parts.empty() ? "" : list_text(parts) + what;
}

uint64_t media_pending(const MediaCounts& media) {
  return media.logged - std::min(media.logged, media.stored + media.dropped);
}

// ", 3 values not taken (...)", ", nothing lost": what is not stored, and whether that is all.
std::string missing_text(const RunStatus& now, bool ok, const std::vector<std::string>& facts) {
  std::string out;
  const auto add = [&out](const std::string& part) {
    if (!part.empty()) out += ", " + part;
  };
  add(counts_text({{now.points_dropped, "point", "points"},
                   {now.texts_dropped, "text", "texts"},
                   {now.entries_dropped, "entry", "entries"},
                   {now.media.dropped, "medium", "media"},
                   {now.alerts_dropped, "alert", "alerts"},
                   {now.artifacts_failed, "artifact", "artifacts"}},
                  " lost"));
  add(counts_text({{now.points_pending, "point", "points"},
                   {now.texts_pending, "text", "texts"},
                   {media_pending(now.media), "medium", "media"}},
                  " pending"));
  add(counts_text({{now.values_rejected, "value", "values"}},
                  " not taken (their keys are named above; strict=True raises)"));
  // After a failure this is not known: the file may be damaged.
  if (out.empty() && ok) out = ", nothing lost";
  add(counts_text({{now.steps_changed, "step", "steps"}}, " changed to whole numbers"));
  if (!facts.empty()) add("without " + list_text(facts));
  return out;
}

}  // namespace

// On a thread of its own, for a disk may hang. What it does not do in time is left to the listing.
void Run::leave_row() const {
  const RunFolder* folder = impl_->writer->folder();
  if (folder == nullptr) return;
  struct Done {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto done = std::make_shared<Done>();
  const auto work = [done, path = impl_->plan.store_path, run = *folder, writer = impl_->writer->identity().writer] {
    if (auto store = Store::open(path); store.ok()) (void)leave_intake(*store, run, writer, read_run_record);
    const std::lock_guard<std::mutex> guard(done->mutex);
    done->done = true;
    done->changed.notify_all();
  };
  if (!start_background_thread("trk-row", work)) return;
  std::unique_lock<std::mutex> lock(done->mutex);
  done->changed.wait_for(lock, kRowWait, [&done] { return done->done; });
}

std::string Run::command_words() const {
  const std::string run = shell_word(project() + "/" + id());
  return store_path() == Store::resolve("") ? run : run + " --dir " + shell_word(store_path());
}

void Run::say_end(RunState state, const Status& status) const {
  if (impl_->plan.options.quiet || waits_for_run()) return;  // what it gave up is said
  const RunStatus now = this->status();
  const uint64_t wrong = now.points_dropped + now.texts_dropped + now.entries_dropped + now.media.dropped +
                         media_pending(now.media) + now.artifacts_failed;
  if (!impl_->says_lines() && status.ok() && wrong == 0) return;
  std::vector<std::string> parts{count_text(now.points_stored, "point", "points")};
  if (now.media.stored > 0) parts.push_back(count_text(now.media.stored, "medium", "media"));
  if (now.artifacts_stored > 0) parts.push_back(count_text(now.artifacts_stored, "artifact", "artifacts"));
  const std::string stored = list_text(parts);
  const std::string missing = missing_text(now, status.ok(), impl_->missing_facts);
  const std::string run = fmt::format("{}/{} {}", project(), id(), run_state_name(state));
  print_line(status.ok() ? fmt::format("{}: {} stored{}; tracker show {}", run, stored, missing, command_words())
                         : fmt::format("{}: {} stored so far{}: {}", run, stored, missing, status.to_string()));
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

void Run::mark_at_sigterm() {
  impl_->sigterm = watch_sigterm(impl_->writer->identity().journal_dir);
  if (impl_->sigterm != nullptr) return impl_->writer->watch_sigterm(impl_->sigterm);
  impl_->warnings.warn_once(
      "on_sigterm",
      "on_sigterm=\"mark\": another handler of SIGTERM is in front of the tracker's; where it does not "
      "call that one it is to call mark_preempting()");
}

Code Run::mark_preempting() {
  if (impl_->forked() || !impl_->writer) return Code::kOk;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    if (impl_->finished) return Code::kClosed;
    if (std::exchange(impl_->preempting, true)) return Code::kOk;
  }
  if (impl_->observed()) return Code::kOk;
  return log_event(EventType::kAttribute, Value::Map{{"key", std::string(kPreemptedKey)}, {"value", std::string()}}, 0,
                   false);
}

bool Run::preempting() const {
  if (impl_->sigterm != nullptr && impl_->sigterm->seen) return true;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->preempting;
}

bool Run::ends_with_process() const { return impl_->plan.options.on_exit != "leave"; }

bool Run::finished() const {
  if (impl_->forked()) return true;
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->finished;
}

}  // namespace tracker::internal
