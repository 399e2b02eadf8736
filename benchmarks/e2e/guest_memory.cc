// SPDX-License-Identifier: MIT
// Question: how much memory does the tracker take in the training's process? Largest resident memory beyond what the
// process had with the library loaded, ring pages included, by /proc/self/status after its peak was reset. Each
// workload in a process of its own: an open run; 100 metrics at 10 Hz; 4 threads at full speed; 100,000 metrics; the
// same three while the disk is stuck (every fsync takes minutes, see tests/support/faulty_disk.h); 200,000 metrics by
// calls of 100; 100,000 and 262,144 in one call; 40 texts of 1 MiB while an fsync takes 3 s, and until they are
// stored; the same by 4 threads that log numbers at full speed. Each ends with a check that logged = stored + dropped +
// pending. What the workload itself holds (names, points, texts) is there before the measurement begins.
// Arguments in front of others: parts of the names of the rows to measure, once each; none: all.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
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
constexpr size_t kManySeries = 100'000;
constexpr uint32_t kSeriesLimit = 262'144;  // kSeriesMax
constexpr int kRounds = 3;
constexpr int kSlowMs = 3'000;
constexpr int kTexts = 40;
constexpr size_t kTextBytes = 1 << 20;
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

// What workloads log, held from before the measurement on.
struct Given {
  std::vector<std::string> names;
  std::vector<tracker::Point> points;
  std::string text = std::string(kTextBytes, 't');

  Given() {
    for (uint32_t i = 0; i < kSeriesLimit; ++i) names.push_back("layer/" + std::to_string(i) + "/gradient/norm");
    for (uint32_t i = 0; i < kSeriesLimit; ++i) points.emplace_back(names[i], 0.25 * (i % 100));
  }
};
const Given* g_given = nullptr;

// Three values each.
void log_series(tracker::Run& run, size_t series, size_t a_call) {
  for (int64_t round = 0; round < 3; ++round)
    for (size_t first = 0; first < series; first += a_call) {
      run.log(g_given->points.data() + first, std::min(a_call, series - first), round);
    }
  sleep_ms(1500);
}

void many_series(tracker::Run& run) { log_series(run, kManySeries, 100); }

void large_texts(tracker::Run& run) {
  for (int i = 0; i < kTexts; ++i, sleep_ms(50)) run.log("text", g_given->text, i);
  tracker::internal::faulty_disk().fsync_ms = 0;  // that one still takes its time
  run.flush(std::chrono::seconds(60));
}

void numbers_and_texts(tracker::Run& run, void (*log_numbers)(tracker::Run& run)) {
  std::thread numbers(log_numbers, std::ref(run));
  large_texts(run);
  numbers.join();
}

// MiB of one workload in a child.
double measure(const Workload& work, int fsync_ms) {
  const bench::TemporaryStore store;
  auto* result =
      static_cast<double*>(::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = ::fork();
  if (child == 0) {
    tracker::internal::set_faulty_folder(store.path());
    const Given given;
    g_given = &given;
    std::ofstream("/proc/self/clear_refs") << 5;
    const double before = peak_mib();
    tracker::Run run = tracker::init({.project = "bench", .dir = store.path() + "/s", .quiet = true});
    run.log("first", 1.0, 0);
    bench::Report::require(run.flush(), "flush() returns true");
    tracker::internal::faulty_disk().fsync_ms = fsync_ms;
    work(run);
    *result = peak_mib() - before;
    const auto status = run.status();
    bench::Report::require(status.points_logged == status.points_stored + status.points_dropped + status.points_pending,
                           "logged = stored + dropped + pending");
    if (fsync_ms < kStuckMs) run.finish();
    *result = std::max(*result, peak_mib() - before);
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
  const int rounds = argc > 1 && argv[1][0] != '-' ? 1 : kRounds;  // a look at a few rows
  const struct {
    const char* name;
    Workload work;
    int fsync_ms;
    double target;
  } rows[] = {
      {"an open run", open_only, 0, kSteadyMib},
      {"100 metrics at 10 Hz", hundred_metrics, 0, kSteadyMib},
      {"4 threads at full speed", full_speed, 0, kAnyLoadMib},
      {"100,000 metrics", many_series, 0, kAnyLoadMib},
      {"100 metrics at 10 Hz, disk stuck", hundred_metrics, kStuckMs, kAnyLoadMib},
      {"4 threads at full speed, disk stuck", full_speed, kStuckMs, kAnyLoadMib},
      {"100,000 metrics, disk stuck", many_series, kStuckMs, kAnyLoadMib},
      {"200,000 metrics, 100 a call", [](tracker::Run& run) { log_series(run, 200'000, 100); }, 0, kAnyLoadMib},
      {"100,000 metrics in a call", [](tracker::Run& run) { log_series(run, 100'000, 100'000); }, 0, kAnyLoadMib},
      {"262,144 metrics in a call", [](tracker::Run& run) { log_series(run, kSeriesLimit, kSeriesLimit); }, 0,
       kAnyLoadMib},
      {"40 texts of 1 MiB, the disk away for 3 s", large_texts, kSlowMs, kAnyLoadMib},
      {"100 metrics at 10 Hz and the texts, the disk away for 3 s",
       [](tracker::Run& run) { numbers_and_texts(run, hundred_metrics); }, kSlowMs, kAnyLoadMib},
      {"4 threads and the texts, the disk away for 3 s", [](tracker::Run& run) { numbers_and_texts(run, full_speed); },
       kSlowMs, kAnyLoadMib}};
  for (const auto& row : rows) {
    // Names are apart from the report's own arguments: they begin with no dash.
    bool named = false, wanted = false;
    for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
      named = true;
      wanted |= std::string_view(row.name).find(argv[i]) != std::string_view::npos;
    }
    if (named && !wanted) continue;
    std::vector<double> samples;
    for (int round = 0; round < rounds; ++round) samples.push_back(measure(row.work, row.fsync_ms));
    report.add({row.name, "MiB", samples, row.target});
  }
  return report.write();
}
