// SPDX-License-Identifier: MIT
// A rank whose run nothing names waits for that of rank 0 (design 5, Ranks): the store thread looks for it as it looks
// for a store that cannot be written, and what the rank logs meanwhile is in its rings and in the spill file. It gives
// up after kRunAwaitMax, or when the run ends: then all of it is counted as dropped, and the journal is removed.
#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "pipeline/writer.h"

namespace tracker::internal {

std::chrono::seconds Writer::heartbeat_interval() const {
  return target_.awaited && Clock::now() < began_ + kRunAwaitMax ? kAwaitedHeartbeat : kHeartbeatInterval;
}

// False while it is not found. The journal is told first: a kill after that leaves points that recovery stores.
bool Writer::run_is_known() {
  if (!target_.find_run) return true;
  const auto now = Clock::now();
  if (now < next_look_) return false;
  next_look_ = now + look_pause_;
  look_pause_ = std::min(look_pause_ * 2, kAwaitLookMax);
  const auto store = Store::open_or_create(target_.store_path, identity_.store);
  const auto joined = store.ok() ? target_.find_run(*store) : std::nullopt;
  if (!joined) return false;
  identity_.store = store->id();
  identity_.run = joined->run;
  identity_.attempt = joined->attempt;
  identity_.run_dir = "runs/" + folder_name(joined->run.project) + "/" + folder_name(joined->run.id);
  if (!journal_->set_run(identity_).ok()) return false;
  target_.run = joined->run;
  target_.find_run = nullptr;
  return true;
}

// True when it is given up. The last look is after the end of the time.
bool Writer::wait_for_run() {
  look_at_disk();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto now = Clock::now();
    if (now < await_until_) {
      next_look_ = std::min(next_look_, await_until_);
      changed_.wait_for(lock, std::max(next_look_ - now, Clock::duration::zero()));
      return false;
    }
  }
  const bool quiescent = journal_->close();
  {
    std::unique_lock<std::mutex> lock(mutex_);
    quiescent_ = quiescent;
    stopping_ = true;
    if (!drained_all_) {
      journal_->wake();
      changed_.wait_for(lock, kDrainInterval);
      return false;
    }
  }
  give_up_run();
  return true;
}

void Writer::give_up_run() {
  uint64_t points = 0, texts = 0;
  {
    const std::lock_guard<std::mutex> together(hand_over_mutex_);
    const std::lock_guard<std::mutex> guard(mutex_);
    removed_by_series_.resize(stored_by_series_.size());
    for (const auto& queued : queue_) {
      for (const SeriesPoints& each : queued->points) {
        removed_by_series_[each.series] += each.points;
        if (!sample_series_.contains(each.series)) points += each.points;
      }
      texts += queued->texts;
    }
    points_removed_ += points;
    texts_removed_ += texts;
    queue_.clear();
    queue_bytes_ = 0;
    gave_up_ = fmt::format("{} found no run of rank 0 to record into", target_.waiting);
    degraded_ = true;
    last_error_ = gave_up_;
  }
  std::string dropped = points > 0 ? count_text(points, "point", "points") : "";
  if (texts > 0) dropped += (dropped.empty() ? "" : " and ") + count_text(texts, "text", "texts");
  say_once_.say("no run", fmt::format("{}{}; the same TRACKER_RUN_ID on all ranks names the run that they share",
                                      gave_up_, dropped.empty() ? "" : ": " + dropped + " dropped"));
  end_journal();
}

}  // namespace tracker::internal
