// SPDX-License-Identifier: MIT
// The program that hot_calls.py runs under callgrind: `gate_calls handle|name|disabled`. Collection is on within
// measured_*() alone and its counters are zeroed by begin(), so neither the other threads nor the first call of a
// thread are counted.
#include <cstdio>
#include <cstring>
#include <tracker/tracker.hpp>

extern "C" {
__attribute__((noinline)) void begin() { asm volatile(""); }

__attribute__((noinline)) void measured_handle(const tracker::Metric& metric, int calls) {
  begin();
  for (int i = 0; i < calls; ++i) metric.log(0.5, i);
}
__attribute__((noinline)) void measured_name(const tracker::Run& run, int calls) {
  begin();
  for (int i = 0; i < calls; ++i) run.log("train/loss", 0.5, i);
}
}

// A run that records nothing: the cost of leaving the calls in.
static int disabled(const char* store, int calls) {
  tracker::Run run = tracker::init({.mode = "disabled", .dir = store, .quiet = true});
  const tracker::Metric metric = run.metric("train/loss");
  metric.log(0.5, 0);
  measured_handle(metric, calls);
  std::printf("%d\n", run.status().points_logged == 0 ? calls : 0);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int calls = std::atoi(argv[3]);  // a warm-up and these fill less than half of the first ring
  if (std::strcmp(argv[1], "disabled") == 0) return disabled(argv[2], calls);
  tracker::Run run = tracker::init({.project = "gate", .dir = argv[2], .quiet = true});
  const tracker::Metric metric = run.metric("train/loss");
  for (int i = 0; i < 50; ++i) metric.log(0.5, i), run.log("train/loss", 0.5, i);
  if (std::strcmp(argv[1], "handle") == 0) measured_handle(metric, calls);
  else measured_name(run, calls);
  const bool arrived =
      run.flush(std::chrono::minutes(2)) && run.status().points_stored == static_cast<uint64_t>(calls) + 100;
  std::printf("%d\n", arrived ? calls : 0);
  return arrived ? 0 : 1;
}
