// SPDX-License-Identifier: MIT
// The run that the processes of one launch share, and which attempt of it a process belongs to (design 5, Ranks).
// All of them decide for themselves and none waits for another. Threads: one (init). Cost: a few file operations, and
// in a run that exists one opened database a writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/ranks.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/store.h"

namespace tracker::internal {

// What a process knows of its launch without asking anybody.
struct LaunchFacts {
  std::optional<std::string> key;  // launch_key(); none: nothing names the launch
  std::string text;                // written into WriterIdentity.launch; empty without a key and a claim
  int restarts = 0;
  int ordinal = 1;  // of this init in its process: the second run of a script is the second one after a restart too
};
// The same for what launch_claim() says; empty for nothing.
std::string claim_text(const GetEnv& env, const RankInfo& rank, int ordinal);
// Counts the inits of this process: called once an init.
LaunchFacts facts_of_launch(const GetEnv& env);

// Limit: runs of one launch, or of one label that ranks share. Beyond it: an error of init.
constexpr int kGenerationsMax = 10'000;

// The members of a run and the process that asks: what decides whether it joins the newest attempt or begins one.
struct JoinRequest {
  int64_t rank = 0;
  int64_t world_size = 0;  // 0: not known
  std::string launch = {};
  int restarts = 0;
  std::optional<int64_t> resume_step = {};  // of resume_from="run@step"
  int generations_max = kGenerationsMax;
};
// What is known of the attempts of a run: who has stored something or lives, and which numbers are taken.
struct TakenAttempts {
  std::vector<WriterIdentity> writers;
  std::vector<AttemptClaim> claims;
  int64_t newest() const;  // 0: none
};
// The attempt a process belongs to: the newest one while it has no writer of this rank and is of the same launch and
// world size, else the next one; after `restarts` elastic restarts at least restarts + 1. 1 in an empty run.
int64_t attempt_to_join(const TakenAttempts& taken, const JoinRequest& request);
// Limit: tries of an init to get a number of an attempt, each lost to another process. Beyond it: the number may not be
// its own.
constexpr int kClaimTriesMax = 10'000;
// The number of a new attempt, larger than all that are taken and than `after`, and claimed: no other process gets it.
// With `shared` the one of attempt_to_join(). A disk that takes no file gives a number without a claim, and so do
// kClaimTriesMax tries that were all lost.
int64_t take_attempt(const std::string& run_path, std::vector<WriterIdentity> writers, const JoinRequest& request,
                     bool shared, int64_t after,
                     Status (*claim)(const std::string&, const AttemptClaim&) = claim_attempt);

// The run of this launch by its key; `shared`: every rank records. After an elastic restart the newest one of the key;
// else the first one that is free, or (shared) that a rank of this launch made before.
Result<RunFolder> run_of_launch(Store* store, const std::string& project, const LaunchFacts& facts,
                                const JoinRequest& request, bool shared);
// The run called `label`, or where an earlier launch holds it, or it cannot be read, "label-2" and so on: every rank
// gets the same. resumed_run_of_label(): the run of that very label whichever launch it is of, and only where that one
// cannot be read as above.
Result<RunFolder> run_of_label(Store* store, const std::string& project, const std::string& label,
                               const JoinRequest& request);
Result<RunFolder> resumed_run_of_label(Store* store, const std::string& project, const std::string& label,
                                       const JoinRequest& request);

// The writers of a run: those of its databases that can be read.
std::vector<WriterIdentity> writers_of(const RunFolder& run);

}  // namespace tracker::internal
