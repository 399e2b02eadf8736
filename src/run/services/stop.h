// SPDX-License-Identifier: MIT
// Whether this run was asked to stop: a thread of its own reads one file each second, and the process reads an atomic.
// The thread starts with the first question, so that runs which never ask cost nothing. That question waits for the
// thread's first read, kStopFirstLook at most; else neither a stuck disk nor a slow network file system holds up any
// thread but it. Threads: any. A forked child uses none of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/store/stop_request.h"

namespace tracker::internal {

class AwaitedRun;  // run/awaited_run.h

constexpr std::chrono::milliseconds kStopLookInterval{1000};
// Limit: time that the first should_stop() waits for the disk. Beyond it: the request is seen when the disk answers.
constexpr std::chrono::milliseconds kStopFirstLook{100};
// A rank that records nothing searches for the run of its launch: among so many folders, the newest, and less and less
// often.
// Limit: newest runs that a rank without a run of its own searches. Beyond it: it sees no request to stop; it finds no
// run.
constexpr size_t kStopRunsMax = 1'000;
constexpr std::chrono::milliseconds kStopSearchMax{60'000};
// The pause after a search without success, from the pause before it.
constexpr std::chrono::milliseconds next_search_pause(std::chrono::milliseconds last) {
  return std::min(last * 2, kStopSearchMax);
}

// Which run to watch.
struct StopPlace {
  std::string run_path;  // empty: it is found by what follows
  int64_t attempt = 1;
  std::string project_path, launch;                // WriterIdentity.launch
  std::shared_ptr<const AwaitedRun> awaited = {};  // the run that this rank waits for; may be null
};

// Folders of runs by the time of their last change, newest first, at most kStopRunsMax.
std::vector<std::string> newest_run_folders(const std::string& project_path);
// Puts in the run of this launch, which another rank records. False: it is not among the newest kStopRunsMax folders.
bool find_run_of_launch(StopPlace* place);

class StopWatch : public std::enable_shared_from_this<StopWatch> {
 public:
  // Of an empty place nothing is ever asked.
  explicit StopWatch(StopPlace place);

  // Cost: a load, but for the first call, which starts the thread and waits for its first look.
  bool asked() {
    if (__builtin_expect(!is_watched(), 0)) begin();
    return state_.load(std::memory_order_relaxed) == State::kAsked;
  }
  bool is_watched() const { return state_.load(std::memory_order_relaxed) > State::kFirstLook; }  // asked() won't wait
  std::optional<StopRequest> request() const;                                                     // that is in force
  bool is_first() { return !noted_.exchange(true); }
  // Without it what is asked is never seen.
  bool lacks_thread() const { return state_.load() == State::kNoThread; }
  void end();  // nothing is read any more; what was seen stays

 private:
  enum class State : uint8_t { kIdle, kFirstLook, kWatching, kAsked, kNoThread };
  struct Stamp {  // of the file that was read last
    int64_t mtime_ns = 0, size = -1;
    uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };

  void begin();
  void end_first_look();
  void loop();
  void look();
  bool find_run();
  void set(std::optional<StopRequest> request);

  std::atomic<State> state_{State::kIdle};
  std::atomic<bool> noted_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<StopRequest> request_;
  bool ended_ = false;

  // The thread's own.
  StopPlace place_;
  std::chrono::milliseconds pause_ = kStopLookInterval;
  Stamp seen_;
};

}  // namespace tracker::internal
