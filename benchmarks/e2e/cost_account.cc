// SPDX-License-Identifier: MIT
// Question: is what the tracker says it takes in calls (status().cost) what a clock around these calls says? Workloads:
// a handle and calls of 20 keys, without a pause, in bursts of 100 each 4 ms, and one call each ms. Measured: the
// median of a clock around blocks of 1,000, around bursts, around single calls, without the clock's own time. Said: the
// account at the end without that of the first call, by the number of calls. cost_account.py adds the same from Python.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"

namespace {

constexpr int kRounds = 3;
constexpr double kFactorMax = 2;

struct Pace {
  const char* name;
  int block, blocks;  // calls timed together, and how often
  int pause_us;       // after each
};
// A flush after each block of the first: a full ring is waited for, which is no cost of a call.
constexpr Pace kPaces[] = {
    {"no pause", 1000, 300, 0}, {"bursts of 100 each 4 ms", 100, 300, 4000}, {"one each ms", 1, 1500, 1000}};

double clock_ns(int pause_us) {
  std::vector<double> samples;
  for (int i = 0; i < 201; ++i) {
    const uint64_t begin = bench::wall_ns();
    samples.push_back(static_cast<double>(bench::wall_ns() - begin));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));  // not read for a while it takes longer
  }
  return bench::median(samples);
}

struct Found {
  double said, measured;  // ns a call
};

Found measure(const Pace& pace, int keys) {
  const bench::TemporaryStore store;
  tracker::Run run = tracker::init({.project = "bench", .dir = store.path(), .quiet = true, .capture = "none"});
  const tracker::Metric metric = run.metric("train/loss");
  std::vector<std::string> names;
  for (int i = 0; i < keys; ++i) names.push_back("train/metric" + std::to_string(i));
  std::vector<tracker::Point> points;
  for (const std::string& name : names) points.push_back({name, 0.5});
  const auto call = [&](int64_t step) {
    if (keys == 1) metric.log(0.5, step);
    else run.log(points, step);
  };
  int64_t step = 0;
  call(step++);
  const auto said_before = run.status().cost.in_calls;
  const double clock = clock_ns(pace.pause_us);
  std::vector<double> samples;
  for (int block = 0; block < pace.blocks; ++block) {
    const uint64_t begin = bench::wall_ns();
    for (int i = 0; i < pace.block; ++i) call(step++);
    const auto took = static_cast<double>(bench::wall_ns() - begin) - clock;
    samples.push_back(took / pace.block);
    if (pace.pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pace.pause_us));
    else (void)run.flush(std::chrono::minutes(1));
  }
  const auto said = static_cast<double>((run.status().cost.in_calls - said_before).count());
  run.finish();
  return {said / static_cast<double>(step - 1), bench::median(samples)};
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("cost_account", argc, argv);
  for (const int keys : {1, 20})
    for (const Pace& pace : kPaces) {
      std::vector<double> said, measured, factor;
      for (int round = 0; round < kRounds; ++round) {
        const Found found = measure(pace, keys);
        said.push_back(found.said);
        measured.push_back(found.measured);
        factor.push_back(std::max(found.said / found.measured, found.measured / found.said));
      }
      const std::string what = "C++, " + std::to_string(keys) + (keys == 1 ? " key, " : " keys, ") + pace.name;
      report.add({what + ": said", "ns", said});
      report.add({what + ": measured", "ns", measured});
      report.add({what + ": off by a factor of", "x", factor, kFactorMax});
    }
  return report.write();
}
