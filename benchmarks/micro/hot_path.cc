// SPDX-License-Identifier: MIT
// Question: what does a log call cost the training thread? Informational in ns (the gate is benchmarks/gate/).
// Workloads: disabled run; one value by handle, by name, 20 values by trk_log; two threads; idle. Mode: bursts of at
// most 3/4 of the smallest ring, each followed by flush(), so that no call waits; and batches of 20 calls with a pause
// of 2 ms, as published tables of loggers have them. Burst rows are CPU time of the calling thread: a neighbour that
// takes the core away is not our cost, and the wall-clock rows beside them show it.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "harness.h"
#include "run/run.h"

namespace {

constexpr size_t kRingBytes = 256 << 10;
constexpr size_t kBurst = kRingBytes * 2 / 3 / 40;     // records of one value; a part of the ring is kept for texts
constexpr size_t kBurst20 = kRingBytes * 2 / 3 / 344;  // of twenty
constexpr int kBursts = 300;
constexpr int kBatches = 300;
constexpr int kBatchCalls = 20;

int64_t g_step = 0;
uint64_t g_points = 0;

tracker::Run open(const bench::TemporaryStore& store, const char* mode = "") {
  return tracker::init({.project = "bench", .mode = mode, .dir = store.path() + "/s", .quiet = true});
}

// CPU ns a call over bursts, each followed by a flush; wall ns a call beside it.
template <typename Call, typename Flush>
void bursts(bench::Report* report, const std::string& name, double target, size_t calls, const Call& call,
            const Flush& flush) {
  std::vector<double> cpu, wall;
  for (int i = 0; i < kBursts; ++i) {
    const uint64_t wall0 = bench::wall_ns(), cpu0 = bench::thread_cpu_ns();
    for (size_t c = 0; c < calls; ++c) call();
    const uint64_t cpu1 = bench::thread_cpu_ns(), wall1 = bench::wall_ns();
    flush();
    if (i < 10) continue;  // first touch of the ring's pages
    cpu.push_back(static_cast<double>(cpu1 - cpu0) / static_cast<double>(calls));
    wall.push_back(static_cast<double>(wall1 - wall0) / static_cast<double>(calls));
  }
  report->add({name, "ns cpu", cpu, target});
  report->add({name + ", wall", "ns", wall, 0});
}

// Each call timed by itself within batches of 20, 2 ms apart; the cost of an empty pair of clock readings is taken off.
template <typename Call>
void batches(bench::Report* report, const std::string& name, const Call& call) {
  std::vector<double> empty, each;
  const double tick_ns = [] {
    const uint64_t wall0 = bench::wall_ns(), tick0 = __builtin_ia32_rdtsc();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return static_cast<double>(bench::wall_ns() - wall0) / static_cast<double>(__builtin_ia32_rdtsc() - tick0);
  }();
  for (int i = 0; i < 1000; ++i) {
    const uint64_t t0 = __builtin_ia32_rdtsc();
    empty.push_back(static_cast<double>(__builtin_ia32_rdtsc() - t0) * tick_ns);
  }
  const double overhead = bench::median(empty);
  for (int batch = 0; batch < kBatches; ++batch) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int c = 0; c < kBatchCalls; ++c) {
      const uint64_t t0 = __builtin_ia32_rdtsc();
      call();
      each.push_back(std::max(0.0, static_cast<double>(__builtin_ia32_rdtsc() - t0) * tick_ns - overhead));
    }
  }
  report->add({name, "ns", each, 0});
}

void one_thread(bench::Report* report, const bench::TemporaryStore& store) {
  tracker::Run run = open(store);
  const tracker::Metric loss = run.metric("train/loss");
  const auto flush = [&] { bench::Report::require(run.flush(), "flush() returns true"); };
  const auto by_handle = [&] { loss.log(0.25, g_step++), ++g_points; };
  const auto by_name = [&] { run.log("train/loss", 0.25, g_step++), ++g_points; };
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("layer/" + std::to_string(i) + "/norm");
  std::vector<tracker::Point> points;
  for (const std::string& name : names) points.emplace_back(name, 0.5);
  const auto twenty = [&] { run.log(points, g_step++), g_points += 20; };

  bursts(report, "C++ handle", 12, kBurst, by_handle, flush);
  bursts(report, "C++ by name", 20, kBurst, by_name, flush);
  bursts(report, "20 values by trk_log", 0, kBurst20, twenty, flush);
  batches(report, "C++ handle, 20 calls each 2 ms", by_handle);
  batches(report, "C++ by name, 20 calls each 2 ms", by_name);
  flush();
  bench::Report::require(run.status().points_stored == g_points && run.status().points_dropped == 0,
                         "every point arrived");
}

// The same record written with the caller's time, which no interface offers yet.
void without_timestamp(bench::Report* report, const bench::TemporaryStore& store) {
  namespace in = tracker::internal;
  in::InitOptions options;
  options.project = "bench";
  options.dir = store.path() + "/t";
  options.quiet = true;
  const auto run = in::Run::init(options);
  bench::Report::require(run.ok(), "init");
  in::HotRun* hot = (*run)->hot();
  const uint32_t id = (*run)->series_id("loss", in::ValueType::kFloat64);
  const in::ValuePair pair{in::bits_of(0.25), id, 0};
  uint64_t points = 1;
  in::log_pairs(hot, &pair, 1, 0);  // attaches the thread
  in::HotRing* ring = hot->table[in::hot_slot(in::thread_pointer())].load();
  const uint64_t tick = in::ticks();
  const auto call = [&] {
    if (ring->position + 40 > ring->check_at.load(std::memory_order_relaxed)) {
      in::log_pairs(hot, &pair, 1, g_step++);
      ring = hot->table[in::hot_slot(in::thread_pointer())].load();
    } else {
      in::publish_pairs(ring, &pair, 1, g_step++, true, tick);
    }
    ++points;
  };
  bursts(report, "record without its own timestamp", 3, kBurst, call, [&] { (*run)->flush(std::chrono::seconds(10)); });
  bench::Report::require((*run)->status().points_stored == points, "every point arrived");
  (void)(*run)->finish(in::RunState::kFinished);
}

void two_threads(bench::Report* report, const bench::TemporaryStore& store) {
  tracker::Run run = open(store);
  const tracker::Metric loss = run.metric("train/loss");
  const auto work = [&](std::vector<double>* cpu) {
    for (int i = 0; i < kBursts; ++i) {
      const uint64_t cpu0 = bench::thread_cpu_ns();
      for (size_t c = 0; c < kBurst; ++c) loss.log(0.25, static_cast<int64_t>(c));
      const uint64_t cpu1 = bench::thread_cpu_ns();
      run.flush();
      if (i >= 10) cpu->push_back(static_cast<double>(cpu1 - cpu0) / static_cast<double>(kBurst));
    }
  };
  std::vector<double> alone, first, second;
  work(&alone);
  std::thread other(work, &second);
  work(&first);
  other.join();
  run.flush();
  bench::Report::require(run.status().points_stored == 3 * kBursts * kBurst, "every point of both threads arrived");
  first.insert(first.end(), second.begin(), second.end());
  report->add({"C++ handle, two threads", "ns cpu", first, 0});
  report->add({"C++ handle, two threads / one", "x", {bench::median(first) / bench::median(alone)}, 1.3});
}

void disabled(bench::Report* report, const bench::TemporaryStore& store) {
  tracker::Run run = open(store, "disabled");
  const tracker::Metric loss = run.metric("train/loss");
  bursts(report, "C++ handle of a disabled run", 0, kBurst, [&] { loss.log(0.25, g_step++); }, [] {});
}

void idle(bench::Report* report, const bench::TemporaryStore& store) {
  tracker::Run run = open(store);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::vector<double> idle, busy;
  for (int second = 0; second < 5; ++second) {
    const bench::LibraryCpu cpu;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    idle.push_back(cpu.ns() / 1e7);
  }
  std::vector<tracker::Metric> metrics;
  for (int i = 0; i < 100; ++i) metrics.push_back(run.metric("m/" + std::to_string(i)));
  for (int second = 0; second < 10; ++second) {
    const bench::LibraryCpu cpu;
    const uint64_t wall0 = bench::wall_ns();
    for (int tenth = 0; tenth < 10; ++tenth) {
      for (const tracker::Metric& metric : metrics) metric.log(0.5, second * 10 + tenth);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    busy.push_back(cpu.ns() / static_cast<double>(bench::wall_ns() - wall0) * 100);
  }
  report->add({"our threads, idle", "% core", idle, 0});
  report->add({"our threads, 100 metrics at 10 Hz", "% core", busy, 0.5});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("hot_path", argc, argv);
  const bench::TemporaryStore store;
  disabled(&report, store);
  idle(&report, store);
  one_thread(&report, store);
  without_timestamp(&report, store);
  two_threads(&report, store);
  return report.write();
}
