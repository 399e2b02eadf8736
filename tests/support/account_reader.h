// SPDX-License-Identifier: MIT
// A second process that reads the account of a run while a first one logs: made by fork before the first has threads,
// so that it sees the same mounts, and asked whenever the test wants to know.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>

#include "query/view/run_view.h"
#include "storage/store/store.h"
#include "support/child.h"
#include "tracker/tracker.h"

namespace tracker::internal {

struct SeenAccount {
  uint64_t logged, stored, dropped, pending;  // of the run
  uint64_t metric_stored, metric_dropped, metric_pending;
  uint64_t by_reason;  // summed up
};

class AccountReader {
 public:
  // Of the only run in the store at `path`, which need not be there yet, and of its metric "x".
  explicit AccountReader(const std::string& path) {
    child_ = start_child([this, path] {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int answers = 1;; ++answers) {
        while (talk_->asked.load() < answers) sleep_ms(1);
        talk_->seen = read(path);
        talk_->answered = answers;
      }
      return 0;
    });
  }
  ~AccountReader() {
    ::kill(child_, SIGKILL);
    (void)wait_child(child_);
  }
  AccountReader(const AccountReader&) = delete;
  AccountReader& operator=(const AccountReader&) = delete;

  SeenAccount look() {
    const int number = ++talk_->asked;
    while (talk_->answered.load() < number) sleep_ms(1);
    return talk_->seen;
  }

  // Whether a reader's counts of the run and of its only metric equal those of the logging process, in each of many
  // readings: the writer meanwhile tries again to store what waits.
  bool agrees_with(const trk_status& status) {
    for (int looks = 0; looks < kLooks; ++looks) {
      const SeenAccount seen = look();
      if (agree(seen, status)) continue;
      std::fprintf(stderr,
                   "%llu logged, %llu stored, %llu dropped, %llu pending; for a reader at look %d %llu, %llu, %llu, "
                   "%llu\n",
                   ull(status.points_logged), ull(status.points_stored), ull(status.points_dropped),
                   ull(status.points_pending), looks, ull(seen.logged), ull(seen.stored), ull(seen.dropped),
                   ull(seen.pending));
      return false;
    }
    return true;
  }

 private:
  static constexpr int kLooks = 40;

  struct Talk {
    std::atomic<int> asked, answered;
    SeenAccount seen;
  };

  static bool agree(const SeenAccount& seen, const trk_status& status) {
    return seen.logged == status.points_logged && seen.dropped == status.points_dropped &&
           seen.stored + seen.pending == status.points_stored + status.points_pending &&
           seen.by_reason == seen.dropped && seen.metric_dropped == seen.dropped && seen.metric_stored == seen.stored &&
           seen.metric_pending == seen.pending;
  }

  static unsigned long long ull(uint64_t number) { return number; }

  static SeenAccount read(const std::string& path) {
    SeenAccount out{};
    auto store = Store::open(path);
    if (!store.ok() || store->list_runs().size() != 1) return out;
    auto view = RunView::open(store->list_runs().at(0));
    if (!view.ok()) return out;
    const LossAccount account = (*view)->losses();
    out.logged = account.logged, out.stored = account.stored;
    out.dropped = account.dropped, out.pending = account.pending;
    for (const auto& [reason, count] : account.by_reason) out.by_reason += count;
    for (const MetricAccount& metric : (*view)->losses_by_metric())
      if (metric.metric == "x")
        out.metric_stored = metric.stored, out.metric_dropped = metric.dropped, out.metric_pending = metric.pending;
    return out;
  }

  Shared<Talk> talk_;
  pid_t child_ = -1;
};

}  // namespace tracker::internal
