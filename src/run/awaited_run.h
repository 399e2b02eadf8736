// SPDX-License-Identifier: MIT
// The run that rank 0 makes and another rank records into, where nothing names it: found by the claim that rank 0's run
// carries, or told by the process group of torch.distributed (design 5, Ranks). Nobody waits for it: what the rank logs
// is in its journal until the store thread finds the run. Threads: look() is of one thread, all else of any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/writer.h"
#include "run/ranks.h"
#include "storage/store/store.h"

namespace tracker::internal {

// A run that a rank joins began at most so long before or behind the rank's own process.
constexpr std::chrono::minutes kClaimAgeMax{10};

// When this process began, by the clock of its host.
int64_t process_began_us();
// What loopback addresses belong to: boot and network namespace. Empty where the kernel does not say.
std::string loopback_place();

class AwaitedRun {
 public:
  struct Claim {
    std::string project;
    std::string launch;  // WriterIdentity.launch of rank 0's run; empty: the run is told
    int64_t rank = 0, world_size = 0;
    int64_t began_us = 0;  // process_began_us()
  };
  explicit AwaitedRun(Claim claim) : claim_(std::move(claim)) {}

  // The run, where it was told; else the newest one with this claim that began about when this process did, that was
  // seen to live and that has no writer of this rank. nullopt: not yet.
  std::optional<JoinedRun> look(const Store& store);
  // "uid attempt id", as rank 0 gives it. kInvalid: something else.
  Status tell(std::string_view text);
  static std::string text_of(const JoinedRun& run);

  // Null until look() has found it.
  struct Found {
    JoinedRun joined;
    std::string uid, path;  // of the folder that the run had in the store
  };
  const Found* found() const { return found_.load(std::memory_order_acquire); }

 private:
  struct Candidate {
    RunIdentity run;
    std::string path;
  };
  std::vector<Candidate> candidates(const Store& store) const;
  bool is_live(const Candidate& run);
  std::optional<int64_t> attempt_in(const Store& store, const Candidate& run) const;
  JoinedRun keep(const Store& store, JoinedRun joined);

  const Claim claim_;
  std::mutex mutex_;
  std::optional<JoinedRun> told_;  // guarded by it
  std::atomic<const Found*> found_{nullptr};

  // The looking thread's own.
  Found kept_;
  bool looked_ = false;
  std::map<Id128, int64_t> first_signs_;  // signs of life of runs that the first look has seen
};

}  // namespace tracker::internal
