// SPDX-License-Identifier: MIT
// From the arguments of init to the decision: does this process record, in which store, as which run and attempt?
// Threads: one (init). Cost: a few file operations, and a flush of runs of this process that record the same run; no
// network, no prompt.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "journal/live/journal.h"
#include "run/ranks.h"
#include "run/run.h"
#include "run/services/capture.h"
#include "storage/store/store.h"
#include "transport/known_server.h"

namespace tracker::internal {

class AwaitedRun;  // awaited_run.h

struct InitPlan {
  InitOptions options;  // with the environment applied
  bool project_given = false;
  std::string mode = "local";
  KnownServer server;      // of mode online; without a url none is known
  bool records = true;     // this process is a writer
  bool observed = false;   // ranks="observe" and not rank 0: a writer that records no metrics
  std::string why_not;     // why nothing, or no metric, is recorded here
  std::string gated_line;  // what is written to stderr of that; empty: nothing
  RankInfo rank;
  OnFull on_full = OnFull::kWait;
  uint64_t max_disk = 0;  // bytes; 0: no bound
  CapturePlan capture;

  std::string tensorboard;  // absolute; empty: no event file is written by this process

  std::string store_path;
  Id128 store;  // zero when the store could not be opened
  RunIdentity run;
  std::string run_dir;   // absolute
  Status store_problem;  // not ok: the run goes on in memory

  std::string launch_text;  // WriterIdentity.launch

  // Nothing names the run that the ranks share: rank 0 makes it, and the others wait for it.
  bool awaited = false;                // by them
  std::shared_ptr<AwaitedRun> awaits;  // null on rank 0
  std::string group_key;  // under which rank 0 gives it in the store of the process group; empty: by its claim alone

  // A resumed run's past.
  bool resumed = false;
  int64_t attempt = 1;
  int64_t continues = 0;
  std::optional<int64_t> resume_step;
  int64_t step_base = INT64_MIN;
  uint64_t recovered_points = 0;
  Value config = Value::map();
  Value summary = Value::map();
};

// kInvalid: an option; kNotFound: resume="must" and no such run; kIo only with strict.
Result<InitPlan> plan_init(const InitOptions& options);

}  // namespace tracker::internal
