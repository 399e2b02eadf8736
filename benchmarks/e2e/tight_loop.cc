// SPDX-License-Identifier: MIT
// Question: what do threads lose that log without a pause? Workload: 4 threads, 1 M points each, one metric a thread.
// "wait" is the default of on_full; "busy": as many other threads as there are cores compute beside them.
#include <atomic>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"

namespace {

constexpr int kThreads = 4;
constexpr int64_t kPoints = 1'000'000;
constexpr int kRounds = 5;

class Busy {
 public:
  explicit Busy(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        for (uint64_t n = 0; !stop_.load(std::memory_order_relaxed); ++n) bench::keep(n);
      });
  }
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

void rounds(bench::Report* report, const std::string& on_full, unsigned busy) {
  std::vector<double> lost, each_ns;
  for (int round = 0; round < kRounds; ++round) {
    const bench::TemporaryStore store;
    tracker::Run run = tracker::init({.project = "bench", .dir = store.path(), .on_full = on_full, .quiet = true});
    const Busy others(busy);
    const uint64_t begin = bench::wall_ns();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&run, t] {
        const auto loss = run.metric("loss/" + std::to_string(t));
        for (int64_t step = 0; step < kPoints; ++step) loss.log(0.5 + static_cast<double>(step & 1023), step);
      });
    for (std::thread& thread : threads) thread.join();
    each_ns.push_back(static_cast<double>(bench::wall_ns() - begin) / (kThreads * kPoints));
    bench::Report::require(run.flush(std::chrono::seconds(60)), "flush() returns true");
    const tracker::Status status = run.status();
    bench::Report::require(status.points_logged == kThreads * kPoints &&
                               status.points_stored + status.points_dropped == status.points_logged,
                           "every point is in the account");
    lost.push_back(static_cast<double>(status.points_dropped));
    run.finish();
  }
  const std::string what = on_full + (busy > 0 ? ", busy" : "");
  report->add({what + ": points dropped of 4 M", "points", lost, 0});
  report->add({what + ": a point, wall", "ns", each_ns, 0});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("tight_loop", argc, argv);
  for (const char* on_full : {"wait", "block", "drop"}) {
    rounds(&report, on_full, 0);
    rounds(&report, on_full, std::thread::hardware_concurrency());
  }
  return report.write();
}
