// SPDX-License-Identifier: MIT
// Question: how much memory does the tracker take in the training's process? Largest resident memory beyond what the
// process had with the library loaded, ring pages included, by /proc/self/status after its peak was reset. Each
// workload in a process of its own: an open run; 100 metrics at 10 Hz; 4 threads at full speed; 100,000 metrics; the
// same three while the disk is stuck (every fsync takes minutes, see tests/support/faulty_disk.h). Each ends with a
// check that logged = stored + dropped + pending.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"
#include "support/faulty_disk.h"

namespace {

constexpr double kSteadyMib = 16, kAnyLoadMib = 64;
constexpr int kStuckMs = 600'000;
constexpr int kThreads = 4;
constexpr int kLoadSeconds = 5;
constexpr int kManySeries = 100'000;
constexpr int kRounds = 3;
using Workload = std::function<void(tracker::Run&)>;

double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  return 0;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void open_only(tracker::Run&) { sleep_ms(1500); }

void hundred_metrics(tracker::Run& run) {
  std::vector<tracker::Metric> metrics;
  for (int i = 0; i < 100; ++i) metrics.push_back(run.metric("metric/" + std::to_string(i)));
  for (int tenth = 0; tenth < kLoadSeconds * 20; ++tenth, sleep_ms(100))
    for (const tracker::Metric& metric : metrics) metric.log(0.5 * tenth, tenth);
}

void full_speed(tracker::Run& run) {
  std::vector<std::thread> threads;
  const uint64_t end = bench::wall_ns() + kLoadSeconds * uint64_t{1'000'000'000};
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&run, end, t] {
      const tracker::Metric metric = run.metric("thread/" + std::to_string(t));
      for (int64_t step = 0; bench::wall_ns() < end; ++step)
        for (int i = 0; i < 100; ++i) metric.log(0.1 * static_cast<double>(step), step);
    });
  for (std::thread& thread : threads) thread.join();
}

void many_series(tracker::Run& run) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.emplace_back();
  for (int64_t round = 0; round < 3; ++round)
    for (int first = 0; first < kManySeries; first += 100) {
      std::vector<tracker::Point> points;
      for (int i = 0; i < 100; ++i) {
        names[static_cast<size_t>(i)] = "layer/" + std::to_string(first + i) + "/gradient/norm";
        points.emplace_back(names[static_cast<size_t>(i)], 0.25 * i);
      }
      run.log(points, round);
    }
  sleep_ms(1500);
}

// MiB of one workload in a child.
double measure(const Workload& work, bool stuck) {
  const bench::TemporaryStore store;
  auto* result =
      static_cast<double*>(::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = ::fork();
  if (child == 0) {
    tracker::internal::set_faulty_folder(store.path());
    std::ofstream("/proc/self/clear_refs") << 5;
    const double before = peak_mib();
    tracker::Run run = tracker::init({.project = "bench", .dir = store.path() + "/s", .quiet = true});
    run.log("first", 1.0, 0);
    bench::Report::require(run.flush(), "flush() returns true");
    if (stuck) tracker::internal::faulty_disk().fsync_ms = kStuckMs;
    work(run);
    *result = peak_mib() - before;
    const auto status = run.status();
    bench::Report::require(status.points_logged == status.points_stored + status.points_dropped + status.points_pending,
                           "logged = stored + dropped + pending");
    if (!stuck) run.finish();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  bench::Report::require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the workload ends well");
  const double mib = *result;
  ::munmap(result, sizeof(double));
  return mib;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("guest_memory", argc, argv);
  const struct {
    const char* name;
    Workload work;
    bool stuck;
    double target;
  } rows[] = {{"an open run", open_only, false, kSteadyMib},
              {"100 metrics at 10 Hz", hundred_metrics, false, kSteadyMib},
              {"4 threads at full speed", full_speed, false, kAnyLoadMib},
              {"100,000 metrics", many_series, false, kAnyLoadMib},
              {"100 metrics at 10 Hz, disk stuck", hundred_metrics, true, kAnyLoadMib},
              {"4 threads at full speed, disk stuck", full_speed, true, kAnyLoadMib},
              {"100,000 metrics, disk stuck", many_series, true, kAnyLoadMib}};
  for (const auto& row : rows) {
    std::vector<double> samples;
    for (int round = 0; round < kRounds; ++round) samples.push_back(measure(row.work, row.stuck));
    report.add({row.name, "MiB", samples, row.target});
  }
  return report.write();
}
