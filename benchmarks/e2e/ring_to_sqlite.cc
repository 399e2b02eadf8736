// SPDX-License-Identifier: MIT
// Question: how fast do points go from the rings to committed SQLite, and what does that take? Informational.
// Workload: 20 values a call. "one core": points over the CPU seconds of the library's threads, while one thread logs
// as fast as on_full="block" lets it. "1 M points/s": the same, paced.
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"

namespace {

constexpr int kKeys = 20;
constexpr int kRounds = 5;
constexpr int64_t kCallsARound = 300'000;  // 6 M points

struct Load {
  std::vector<std::string> names;
  std::vector<tracker::Point> points;
  double phase = 0;

  Load() {
    for (int i = 0; i < kKeys; ++i) names.push_back("layer/" + std::to_string(i) + "/loss");
    for (const std::string& name : names) points.emplace_back(name, 0.0f);
  }
  void next() {  // noise that no encoder foresees
    for (tracker::Point& point : points) {
      phase = phase * 1.000001 + 0.7310585;
      if (phase > 1) phase -= std::floor(phase);
      point.value.as.f32 = static_cast<float>(phase);
    }
  }
};

void sustained(bench::Report* report, const bench::TemporaryStore& store) {
  std::vector<double> a_core, wall, bytes;
  for (int round = 0; round < kRounds; ++round) {
    Load load;
    tracker::Run run = tracker::init(
        {.project = "bench", .dir = store.path() + "/" + std::to_string(round), .on_full = "block", .quiet = true});
    const bench::LibraryCpu cpu;
    const uint64_t wall0 = bench::wall_ns();
    for (int64_t step = 0; step < kCallsARound; ++step) {
      load.next();
      run.log(load.points, step);
    }
    bench::Report::require(run.flush(std::chrono::seconds(60)), "flush() returns true");
    const double points = static_cast<double>(kCallsARound) * kKeys;
    a_core.push_back(points / cpu.ns() * 1e3);
    wall.push_back(points / static_cast<double>(bench::wall_ns() - wall0) * 1e3);
    const tracker::Status status = run.status();
    bench::Report::require(status.points_stored == static_cast<uint64_t>(points) && status.points_dropped == 0,
                           "every point arrived");
    bytes.push_back(static_cast<double>(status.bytes_stored) / points);
    run.finish();
  }
  report->add({"ring to SQLite, by CPU of our threads", "M pts/s", a_core, 10});
  report->add({"ring to SQLite, wall, logging included", "M pts/s", wall, 0});
  report->add({"bytes a point, noisy float32, uncompacted", "B", bytes, 0});
}

void paced(bench::Report* report, const bench::TemporaryStore& store) {
  Load load;
  tracker::Run run =
      tracker::init({.project = "bench", .dir = store.path() + "/paced", .on_full = "block", .quiet = true});
  std::vector<double> share;
  int64_t step = 0;
  for (int second = 0; second < 5; ++second) {
    const bench::LibraryCpu cpu;
    const uint64_t wall0 = bench::wall_ns();
    for (int slice = 0; slice < 100; ++slice) {
      for (int call = 0; call < 500; ++call) {
        load.next();
        run.log(load.points, step++);
      }
      const uint64_t due = wall0 + static_cast<uint64_t>(slice + 1) * 10'000'000;
      const uint64_t now = bench::wall_ns();
      if (now < due) std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
    }
    share.push_back(cpu.ns() / static_cast<double>(bench::wall_ns() - wall0) * 100);
  }
  bench::Report::require(run.flush(std::chrono::seconds(60)), "flush() returns true");
  bench::Report::require(run.status().points_stored == static_cast<uint64_t>(step) * kKeys, "every point arrived");
  report->add({"our threads at 1 M points/s", "% core", share, 10});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("ring_to_sqlite", argc, argv);
  const bench::TemporaryStore store;
  sustained(&report, store);
  paced(&report, store);
  return report.write();
}
