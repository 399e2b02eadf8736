// SPDX-License-Identifier: MIT
// Whether the library of a GPU driver is safe to load: its calls are made in a process of its own first, which it may
// crash. Threads: one that no other waits for. Cost: the start of an interpreter, and the calls.
#pragma once

#include <chrono>
#include <functional>

#include "monitor/host/gpu.h"

namespace tracker::internal {

// A driver that is not kept loaded takes seconds a GPU to begin.
// Limit: time for the trial of the GPU driver in a process of its own. Beyond it: that process is ended, and GPUs are
// not sampled.
constexpr std::chrono::milliseconds kGpuTrialMax{60'000};

enum class GpuTrial {
  kPassed,
  kNotMade,  // there is no program for it, it did not come so far, or the library is in use here already
  kCrashed,
  kStopped,  // it took longer than kGpuTrialMax, or `stopped` said so
};

struct GpuTrialResult {
  GpuTrial verdict = GpuTrial::kNotMade;
  const char* call = "";  // the one that was made last
};

// Starts options.trial with the library's name, in options.environment, and reads what it says of its calls (see
// python/tracker/_recording/gpu_trial.py), each of which `watch` gets. The trial is no child of this process.
// `stopped` is asked each 100 ms.
GpuTrialResult try_gpu_library(const GpuOptions& options, const GpuSampler::Watch& watch,
                               const std::function<bool()>& stopped);

}  // namespace tracker::internal
