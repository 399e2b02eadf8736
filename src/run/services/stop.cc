// SPDX-License-Identifier: MIT
#include "run/services/stop.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "pipeline/background.h"
#include "run/awaited_run.h"
#include "run/run_impl.h"
#include "storage/store/attempt_claim.h"

namespace tracker::internal {

StopWatch::StopWatch(StopPlace place) : place_(std::move(place)) {
  const bool may_be_found = place_.awaited != nullptr || (!place_.project_path.empty() && !place_.launch.empty());
  if (place_.run_path.empty() && !may_be_found) state_ = State::kWatching;
}

std::optional<StopRequest> StopWatch::request() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return request_;
}

void StopWatch::end() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void StopWatch::begin() {
  State idle = State::kIdle;
  if (state_.compare_exchange_strong(idle, State::kFirstLook)) {
    auto self = shared_from_this();
    if (!start_background_thread("trk-stop", [self] { self->loop(); })) state_ = State::kNoThread;
  }
  // What was asked before the first call is seen by it. Where the disk does not answer later calls wait no more.
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kStopFirstLook, [this] { return ended_ || is_watched(); });
  }
  end_first_look();
}

void StopWatch::end_first_look() {
  State first = State::kFirstLook;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    state_.compare_exchange_strong(first, State::kWatching);
  }
  changed_.notify_all();
}

void StopWatch::loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_) {
    lock.unlock();
    try {
      look();
    } catch (const std::exception&) {  // no memory: the next look may have some
    }
    end_first_look();
    lock.lock();
    changed_.wait_for(lock, pause_, [this] { return ended_; });
  }
}

void StopWatch::look() {
  if (place_.run_path.empty() && !find_run()) return;
  struct stat st{};
  if (::stat(join_path(place_.run_path, kStopFile).c_str(), &st) != 0) {
    // A disk that does not answer takes nothing back.
    if (errno == ENOENT && seen_ != Stamp()) seen_ = Stamp(), set(std::nullopt);
    return;
  }
  const Stamp now{int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec, st.st_size, st.st_ino};
  if (now == seen_) return;
  auto found = read_stop_request(place_.run_path);
  if (!found.ok()) return;  // of a newer version, or unreadable by now: read again
  seen_ = now;
  if (*found && (*found)->attempt != place_.attempt) found->reset();
  set(std::move(*found));
}

bool StopWatch::find_run() {
  pause_ = next_search_pause(pause_);
  if (!find_run_of_launch(&place_)) return false;
  pause_ = kStopLookInterval;
  return true;
}

std::vector<std::string> newest_run_folders(const std::string& project_path) {
  std::vector<std::pair<int64_t, std::string>> folders;
  const auto names = list_dir(project_path);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    struct stat st{};
    std::string path = join_path(project_path, name);
    if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
      folders.emplace_back(-st.st_mtim.tv_sec, std::move(path));
  }
  std::sort(folders.begin(), folders.end());
  if (folders.size() > kStopRunsMax) folders.resize(kStopRunsMax);
  std::vector<std::string> out;
  for (auto& [age, path] : folders) out.push_back(std::move(path));
  return out;
}

bool find_run_of_launch(StopPlace* place) {
  if (place->awaited != nullptr) {
    const AwaitedRun::Found* found = place->awaited->found();
    if (found == nullptr) return false;
    place->run_path = found->path;
    place->attempt = found->joined.attempt;
    return true;
  }
  for (const std::string& path : newest_run_folders(place->project_path))
    for (const AttemptClaim& claim : attempt_claims(path))
      if (claim.launch == place->launch) {
        place->run_path = path;
        place->attempt = claim.attempt;
        return true;
      }
  return false;
}

void StopWatch::set(std::optional<StopRequest> request) {
  const std::lock_guard<std::mutex> guard(mutex_);
  state_ = request ? State::kAsked : State::kWatching;
  if (request != request_) noted_ = false;
  request_ = std::move(request);
}

StopPlace stop_place(const InitPlan& plan) {
  if (plan.mode == "disabled") return {};
  if (plan.awaits) return {"", 1, "", "", plan.awaits};
  if (plan.records) return {plan.run_dir, plan.attempt, "", ""};
  return {"", 1, join_path(plan.store_path, "runs/" + folder_name(plan.options.project)), plan.launch_text};
}

bool Run::should_stop_waits() const { return !impl_->forked() && !impl_->stop->is_watched(); }

bool Run::should_stop() {
  if (impl_->forked()) return false;
  if (__builtin_expect(!impl_->stop->asked(), 1)) {
    if (impl_->stop->lacks_thread())
      impl_->warnings.warn_once("stop", "no thread can be started (a limit on processes?): should_stop() stays false");
    return false;
  }
  if (impl_->stop->is_first()) note_stop();
  return true;
}

// When the code of the run learns of the request, so that the run says why it ended early.
void Run::note_stop() {
  const std::optional<StopRequest> request = impl_->stop->request();
  if (!request || !impl_->writer || impl_->observed()) return;
  const Value note = Value::Map{{"kind", "stop_asked"},
                                {"by", request->by},
                                {"reason", request->reason},
                                {"requested_us", request->requested_us},
                                {"attempt", request->attempt}};
  (void)log_event(EventType::kNote, note, 0, false);
}

std::optional<std::string> Run::stop_reason() {
  if (!should_stop()) return std::nullopt;
  const std::optional<StopRequest> request = impl_->stop->request();
  return request ? std::optional(request->text()) : std::nullopt;
}

}  // namespace tracker::internal
