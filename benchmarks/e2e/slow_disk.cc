// SPDX-License-Identifier: MIT
// Question: what does a log call cost while the disk is busy, and while every fsync takes 5 s (F18)? Informational.
// Workload: one thread, 4,000 calls through a handle, then a pause of 100 ms (40,000 points/s), each call timed by the
// cycle counter with the cost of an empty pair of readings taken off; 15 s with the disk as it is, 15 s beside a
// process that writes and syncs 64 MiB over and over, 15 s with the slow one, which libc's calls taken over make
// (tests/support/faulty_disk.h). A sample is a second's percentile: what a neighbour on the core does to one
// second does not hide the others. With bursts of 200 calls and 5 ms between them the first call after each pause, some
// 2 us of cold caches, is the p99.9.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"
#include "support/faulty_disk.h"

namespace {

constexpr int kSeconds = 15;
constexpr int kSecondsOfNothing = 5;
constexpr int kBurst = 4000;  // 3/5 of the first ring
constexpr int kPauseMs = 100;
constexpr int kFsyncMs = 5000;
constexpr uint64_t kSecondNs = 1'000'000'000;

double ns_a_tick() {
  const uint64_t wall = bench::wall_ns(), tick = __builtin_ia32_rdtsc();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return static_cast<double>(bench::wall_ns() - wall) / static_cast<double>(__builtin_ia32_rdtsc() - tick);
}

double empty_pair_ns(double tick_ns) {
  std::vector<double> out;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t before = __builtin_ia32_rdtsc();
    out.push_back(static_cast<double>(__builtin_ia32_rdtsc() - before) * tick_ns);
  }
  return bench::median(out);
}

struct Phase {
  std::vector<double> p50, p999, p9999, longest;
  uint64_t calls = 0;
};

template <typename Call>
Phase call_for_seconds(int seconds, const Call& call) {
  const double tick_ns = ns_a_tick(), overhead = empty_pair_ns(tick_ns);
  Phase out;
  for (int second = 0; second < seconds; ++second) {
    std::vector<double> calls;
    for (const uint64_t end = bench::wall_ns() + kSecondNs; bench::wall_ns() < end;) {
      for (int i = 0; i < kBurst; ++i) {
        const uint64_t before = __builtin_ia32_rdtsc();
        call();
        calls.push_back(std::max(0.0, static_cast<double>(__builtin_ia32_rdtsc() - before) * tick_ns - overhead));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
    }
    std::sort(calls.begin(), calls.end());
    out.p50.push_back(calls[calls.size() / 2]);
    out.p999.push_back(calls[calls.size() - 1 - calls.size() / 1000]);
    out.p9999.push_back(calls[calls.size() - 1 - calls.size() / 10'000]);
    out.longest.push_back(calls.back() / 1e3);
    out.calls += calls.size();
  }
  return out;
}

Phase log_for_seconds(const tracker::Metric& metric, int64_t* step) {
  return call_for_seconds(kSeconds, [&] { metric.log(0.25, (*step)++); });
}

// A process that keeps the disk of `folder` busy until it is killed. Made before there is a run: it never returns.
pid_t start_writer(const std::string& folder) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const std::vector<char> megabyte(1 << 20, 'x');
  const int file = ::open((folder + "/busy").c_str(), O_RDWR | O_CREAT, 0600);
  for (;;) {
    ::raise(SIGSTOP);  // until it is wanted
    for (int round = 0; round < 1'000'000; ++round) {
      for (int i = 0; i < 64; ++i)
        if (::pwrite(file, megabyte.data(), megabyte.size(), static_cast<off_t>(i) << 20) < 0) ::_exit(1);
      if (::fsync(file) != 0) ::_exit(1);
    }
  }
}

void add(bench::Report* report, const std::string& what, const Phase& phase, double target) {
  report->add({what + ", p50 of a second", "ns", phase.p50, 0});
  report->add({what + ", p99.9 of a second", "ns", phase.p999, target});
  report->add({what + ", p99.99 of a second", "ns", phase.p9999, 0});
  report->add({what + ", longest of a second", "us", phase.longest, 0});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("slow_disk", argc, argv);
  const bench::TemporaryStore store;
  const pid_t writer = start_writer(store.path());
  bench::Report::require(writer > 0, "a process can be started");
  tracker::internal::set_faulty_folder(store.path());
  tracker::internal::FaultyDisk& disk = tracker::internal::faulty_disk();
  tracker::Run run = tracker::init({.project = "bench", .dir = store.path() + "/s", .quiet = true});
  const tracker::Metric metric = run.metric("train/loss");
  int64_t step = 0;
  add(&report, "no call at all", call_for_seconds(kSecondsOfNothing, [] {}), 0);
  add(&report, "the disk as it is", log_for_seconds(metric, &step), 0);
  ::kill(writer, SIGCONT);
  add(&report, "a busy disk", log_for_seconds(metric, &step), 100);
  int ended = 0;
  bench::Report::require(::waitpid(writer, &ended, WNOHANG) == 0, "the disk was kept busy");
  ::kill(writer, SIGKILL);
  (void)::waitpid(writer, &ended, 0);
  disk.fsyncs = 0;
  disk.fsync_ms = kFsyncMs;
  add(&report, "every fsync 5 s", log_for_seconds(metric, &step), 100);
  bench::Report::require(disk.fsyncs >= 2, "fsyncs were slow meanwhile");
  disk.fsync_ms = 0;
  bench::Report::require(run.flush(std::chrono::seconds(30)), "flush() returns true");
  bench::Report::require(run.status().points_stored == static_cast<uint64_t>(step) && run.status().points_dropped == 0,
                         "every point arrived and none was dropped");
  run.finish();
  return report.write();
}
