// SPDX-License-Identifier: MIT
// A rank whose run nothing names waits for that of rank 0 (design 5, Ranks): the store thread searches for it as it
// tries a store that cannot be written, and what the rank logs meanwhile is in its rings and in the spill file. It
// gives up after kRunAwaitMax, or when the run ends: then all of it is counted as dropped, and the journal is removed.
#include <fmt/format.h>

#include "pipeline/store_thread.h"

namespace tracker::internal {

using std::chrono::steady_clock;

// False while it is not there. The journal gets it first: a kill after that leaves points that recovery stores.
bool StoreThread::find_run() {
  if (files_.is_run_known()) return true;
  const TimePoint now = steady_clock::now();
  if (now < next_search_) return false;
  next_search_ = now + search_pause_.take();
  const auto identity = files_.find_run();
  if (!identity || !journal_.set_run(*identity).ok()) return false;
  files_.set_run(*identity);
  return true;
}

// True when it is given up. The last search is after the end of the time.
bool StoreThread::wait_for_run() {
  measure_disk();
  const TimePoint now = steady_clock::now(), until = await_until_;
  if (now < until) {
    next_search_ = std::min(next_search_, until);
    queue_.wait(std::max(next_search_ - now, Duration::zero()));
    return false;
  }
  pipeline_.quiescent = journal_.close();
  pipeline_.inbox.close();
  queue_.stop_drain();
  if (!queue_.drained_all()) {
    journal_.wake();
    queue_.wait(kDrainInterval);
    return false;
  }
  give_up_run();
  return true;
}

void StoreThread::give_up_run() {
  const Logged gone = queue_.give_up();
  const std::string text = fmt::format("{} found no run of rank 0 to record into", files_.waiting());
  pipeline_.health.note_gave_up(text);
  std::string dropped = gone.points > 0 ? count_text(gone.points, "point", "points") : "";
  if (gone.texts > 0) dropped += (dropped.empty() ? "" : " and ") + count_text(gone.texts, "text", "texts");
  pipeline_.warnings.warn_once(
      "no run", fmt::format("{}{}; the same TRACKER_RUN_ID on all ranks names the run that they share", text,
                            dropped.empty() ? "" : ": " + dropped + " dropped"));
  end_journal();
}

}  // namespace tracker::internal
