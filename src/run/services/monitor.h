// SPDX-License-Identifier: MIT
// The threads that record a run's surroundings: one that says once what machine, packages and code it runs on, one
// that samples machine and process each interval, and one that asks the GPU driver. None is ever joined; init() waits
// for none of them, finish() and the end of the process for the first one alone, and not long. Threads: any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/value.h"
#include "monitor/host/gpu.h"
#include "pipeline/writer.h"
#include "run/services/capture.h"

namespace tracker::internal {

struct MonitorInput {
  CapturePlan plan;
  std::string store_path;
  std::string program_folder;            // where the program lies; empty: not known
  std::string folder;                    // the working directory of init()
  Value python;                          // what Python says of itself; null from C and C++
  std::vector<std::string> python_path;  // sys.path
  Value launcher;                        // launcher_variables()
  GpuOptions gpu;                        // GpuOptions::from_env()
  Value variables;                       // environment_variables(), where they are asked for
};

// Every variable of this process as a map, redacted by name and by known forms, within kVariablesBytesMax. Call it
// where no other thread changes the environment.
// Limit: bytes of all variables. Beyond it: left out and counted.
constexpr size_t kVariablesBytesMax = 256 * 1024;
Value environment_variables(uint64_t* redacted);

// What finish() waits for the facts of a short run: within its 2 s for the disk, half of them at most.
// Limit: time that the end of a run waits for facts of its environment. Beyond it: the last line names what the run is
// without.
constexpr std::chrono::milliseconds kFactsWaitMax{1'000};

class RunMonitor {
 public:
  // Starts what the input asks for. Where the system gives no thread nothing is recorded.
  static std::shared_ptr<RunMonitor> start(std::shared_ptr<Writer> writer, MonitorInput input);
  // Waits at most `facts` for what is said once, for a run may be over before that. What is being read then is not
  // recorded any more. Returns what is missing: "git commit", "packages", ...
  std::vector<std::string> stop(std::chrono::milliseconds facts);
  uint64_t redacted() const;

 private:
  explicit RunMonitor(std::shared_ptr<Writer> writer, MonitorInput input);
  void describe();
  void settle(const char* fact);  // it is recorded, or there is none
  void end_facts();
  void sample_loop();
  void gpu_loop();
  void watch_gpu();
  void note_gpu_stuck();
  void note_gpu_crash(const char* call);
  void put(const char* key, Value value);
  bool wait_until(std::chrono::steady_clock::time_point when);  // false: stopped
  bool stopped() const;

  const std::shared_ptr<Writer> writer_;
  const MonitorInput input_;
  std::atomic<int64_t> gpu_call_since_{0};  // monotonic ns: a call of the driver that has not come back; 0: none
  std::atomic<const char*> gpu_call_{""};   // its name
  std::atomic<bool> gpu_begun_{false}, gpu_known_{false}, gpu_stuck_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  bool describing_ = false;           // the thread that says the facts is at it
  std::vector<std::string> missing_;  // facts neither recorded nor known to be absent
  uint64_t redacted_ = 0;
};

}  // namespace tracker::internal
