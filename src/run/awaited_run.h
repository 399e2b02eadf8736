// SPDX-License-Identifier: MIT
// The run that rank 0 makes and another rank records into, where nothing names it: found by the claim that rank 0's run
// carries, or given by the process group of torch.distributed (design 5, Ranks). No call waits for it: what the rank
// logs is in its journal until the store thread finds the run. Threads: look() is of one thread, all else of any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/writer.h"
#include "run/ranks.h"
#include "storage/store/store.h"

namespace tracker::internal {

// An attempt that a rank joins began at most so long before or after the rank's own process.
// Limit: time between the start of a rank and of the run that it joins. Beyond it: not joined.
constexpr std::chrono::minutes kClaimAgeMax{10};

// When this process began, by the clock of its host.
int64_t process_began_us();
// What loopback addresses belong to: boot and network namespace. Empty where the kernel does not say.
std::string loopback_place();

// The newest run whose newest attempt has this claim, whatever its age, unless its rank 0 is seen to live: what rank 0
// goes on with where it resumes and nothing names the run.
std::optional<RunFolder> run_of_claim(const Store& store, const std::string& project, const std::string& launch);

class AwaitedRun {
 public:
  struct Claim {
    std::string project;
    std::string launch;  // WriterIdentity.launch of rank 0's run; empty: the run is given
    int64_t rank = 0, world_size = 0;
    int64_t began_us = 0;  // process_began_us()
  };
  explicit AwaitedRun(Claim claim) : claim_(std::move(claim)) {}

  // The run, where it was given; else the newest one whose newest attempt has this claim, began about when this process
  // did, was seen to live and has no writer of this rank. nullopt: not yet.
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
    std::string path, claim_file;
    int64_t attempt = 1, began_us = 0;
  };
  std::vector<Candidate> candidates(const Store& store) const;
  bool is_live(const Candidate& run);
  bool has_place(const Store& store, const Candidate& run) const;
  JoinedRun keep(const Store& store, JoinedRun joined);

  const Claim claim_;
  std::mutex mutex_;
  std::optional<JoinedRun> told_;  // guarded by it
  std::atomic<const Found*> found_{nullptr};

  // The looking thread's own.
  Found kept_;
  bool looked_ = false;
  std::map<std::pair<Id128, int64_t>, int64_t> first_signs_;  // of life, by run and attempt
};

}  // namespace tracker::internal
