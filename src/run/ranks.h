// SPDX-License-Identifier: MIT
// Which process of a distributed job is this, and does it record? Read at init, never at import (design 5, Ranks).
// Threads: pure functions of their arguments.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"

namespace tracker::internal {

using GetEnv = std::function<const char*(const char*)>;

struct RankRequest {
  int rank = -1, world_size = -1;              // arguments of init
  int torch_rank = -1, torch_world_size = -1;  // torch.distributed, when it is initialised
  bool child_of_run = false;
};

struct RankInfo {
  int rank = 0;            // -1: not known, as only a local or a node rank is
  int world_size = 1;      // 0: not known
  bool size_known = true;  // false: world_size is 0, or 1 for rank 0
  std::string source;      // "RANK", "SLURM_PROCID", ...; empty when nothing says that this is a job of several
  bool is_first = true;    // this process records in ranks="first"
  // The line for a gated process: `rank 3 of 8 (from SLURM_PROCID) records nothing; ...`. Empty when is_first.
  std::string gated_line() const;
  std::string why;     // "rank 3 of 8 (from SLURM_PROCID)"
  std::string folder;  // of what a gated process writes: "rank-3", "LOCAL_RANK-2"
  // One line where a launcher's variable is set and makes no sense: which one, and what was assumed instead.
  std::string warning;
  // Whether its number is known: a local rank, or a child of a process that has a run, says only "not the first".
  bool is_numbered() const { return rank >= 0 && !source.empty() && source != "multiprocessing"; }
};

// Whether something says that this process is one of several that do the same: torch.distributed is initialised, RANK,
// LOCAL_RANK, MASTER_ADDR or a variable of a launcher is set. Without it a worker of a pool is no rank.
bool has_sign_of_ranks(const RankRequest& request, const GetEnv& env);
// kInvalid when an explicit rank or TRACKER_RANK is no number or not below its world size.
Result<RankInfo> resolve_rank(const RankRequest& request, const GetEnv& env);

// What all processes of one launch share and no other launch does, or nullopt: TORCHELASTIC_RUN_ID unless it is
// torchrun's default "none", Slurm job and step, or, where all ranks are on one node, the launcher's boot id, pid and
// start time. `launcher` describes the parent process ("<boot id>/<pid>/<start>").
std::optional<std::string> launch_key(const GetEnv& env, const std::string& launcher);
// What the processes of a launch that nothing names say of it alike, and the next launch under the same variables says
// too: MASTER_ADDR, MASTER_PORT and the world size. `place`: what a loopback address belongs to; nullopt where that is
// empty, and without one of the three.
std::optional<std::string> launch_claim(const GetEnv& env, const RankInfo& rank, const std::string& place);
// TORCHELASTIC_RESTART_COUNT: > 0 is a new attempt of the same run.
int restart_count(const GetEnv& env);

}  // namespace tracker::internal
