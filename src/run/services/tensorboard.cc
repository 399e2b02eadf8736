// SPDX-License-Identifier: MIT
#include "run/services/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/shell_word.h"
#include "pipeline/background.h"
#include "run/run_impl.h"

namespace tracker::internal {

std::shared_ptr<RunTensorBoard> RunTensorBoard::start(std::shared_ptr<Writer> writer, std::string folder,
                                                      LiveEventsPlan plan) {
  std::shared_ptr<RunTensorBoard> self(new RunTensorBoard(std::move(writer), std::move(folder), plan));
  return start_background_thread("trk-board", [self] { self->loop(); }) ? self : nullptr;
}

void RunTensorBoard::hold(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  order_ = Order::kHold;
  changed_.notify_all();
  changed_.wait_for(lock, timeout, [this] { return !looking_; });
}

void RunTensorBoard::end(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  order_ = Order::kEnd;
  changed_.notify_all();
  const auto least = std::chrono::steady_clock::now() + kFinishLeast;
  changed_.wait_until(lock, std::max(deadline, least), [this] { return done_; });
  if (whole_ || given_up_) return;
  const RunFolder* folder = writer_->folder();
  lock.unlock();
  if (folder == nullptr) return;  // it was never stored, which is said elsewhere
  warnings_.warn_once("end",
                      fmt::format("the TensorBoard file in {} lacks what was logged last; the run has it: tracker "
                                  "export {} --format tensorboard -o FOLDER writes all",
                                  folder_, shell_word(folder->identity.project + "/" + folder->identity.id)));
}

bool RunTensorBoard::may_go_on() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return order_ != Order::kHold;
}

void RunTensorBoard::loop() {
  uint64_t cpu = 0;
  for (bool last = false; !last;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, pause_, [this] { return order_ == Order::kEnd; });
      if (order_ == Order::kHold) continue;
      last = order_ == Order::kEnd;
      looking_ = true;
    }
    bool whole = false;
    try {
      whole = look();
    } catch (const std::exception&) {  // no memory: the next look may have some
    }
    const uint64_t now = thread_cpu_ns();
    writer_->add_monitor_cpu(now - std::exchange(cpu, now));
    const std::lock_guard<std::mutex> guard(mutex_);
    looking_ = false;
    whole_ = whole;
    last = last || given_up_;
    if (last) events_.close();  // a run that has ended holds no descriptor
    done_ = last;
    changed_.notify_all();
  }
}

// True: all that is stored by now is in the file.
bool RunTensorBoard::look() {
  const RunFolder* folder = writer_->folder();
  if (folder == nullptr) return false;
  // A new view is made each time: one that stays open would keep the databases from becoming plain files.
  auto view = RunView::open(*folder);
  Status status = view.status();
  if (view.ok())
    status = events_.follow(LiveEvents::path_of(folder_, **view), view->get(), [this] { return may_go_on(); });
  if (status.ok()) {
    pause_ = kTensorBoardInterval;
    return may_go_on();
  }
  const bool final_word =
      status.code() == Code::kNotFound || status.code() == Code::kLimit || status.code() == Code::kBusy;
  const std::string how = final_word ? "nothing more is written to it; tracker export writes a new one"
                                     : "what is missing is written when that is fixed";
  warnings_.warn_once("events",
                      fmt::format("the TensorBoard file cannot be written: {}; the run goes on and loses nothing, {}",
                                  status.message(), how));
  pause_ = next_tensorboard_pause(pause_);
  if (!final_word) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  return given_up_ = true, false;
}

void Run::start_tensorboard() {
  const InitPlan& plan = impl_->plan;
  if (plan.tensorboard.empty() || plan.observed || !plan.rank.is_first) return;
  LiveEventsPlan events{plan.rank.rank, plan.attempt, plan.resume_step};
  impl_->tensorboard = RunTensorBoard::start(impl_->writer, plan.tensorboard, events);
  if (!impl_->tensorboard)
    impl_->warnings.warn_once(
        "tensorboard",
        "no thread can be started (a limit on processes?): no TensorBoard file is written; tracker "
        "export --format tensorboard writes one");
}

}  // namespace tracker::internal
