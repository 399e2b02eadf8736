// SPDX-License-Identifier: MIT
// What a Run holds. For the files of Run alone (run.cc names them). Threads: the mutex guards the fields after it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "journal/ring/wipe_memory.h"
#include "model/alert.h"
#include "model/value_tree.h"
#include "pipeline/sigterm.h"
#include "pipeline/warnings.h"
#include "pipeline/writer.h"
#include "run/awaited_run.h"
#include "run/init_plan.h"
#include "run/run.h"
#include "run/services/artifacts.h"
#include "run/services/console.h"
#include "run/services/monitor.h"
#include "run/services/source.h"
#include "run/services/stop.h"
#include "run/services/tensorboard.h"
#include "run/services/upload.h"

namespace tracker::internal {

StopPlace stop_place(const InitPlan& plan);

struct Run::Impl {
  explicit Impl(InitPlan decided)
      : plan(std::move(decided)),
        uid_text(plan.run.uid.is_zero() ? "" : plan.run.uid.hex()),
        stop(std::make_shared<StopWatch>(stop_place(plan))),
        config(plan.config),
        summary(plan.summary),
        name(plan.options.name.empty() ? plan.run.id : plan.options.name) {}

  InitPlan plan;
  std::shared_ptr<Writer> writer;               // null when nothing is recorded here
  std::unique_ptr<RunConsole> console;          // null with it
  std::shared_ptr<RunArtifacts> artifacts;      // null with it, and on an observed rank
  std::shared_ptr<RunMonitor> monitor;          // null where it records nothing
  std::vector<std::string> missing_facts;       // of the surroundings, at the end
  std::shared_ptr<RunSource> source;            // null where it is not asked for
  std::shared_ptr<RunTensorBoard> tensorboard;  // null where none is asked for, and on every rank but the first
  std::shared_ptr<RunUpload> upload;            // null unless mode is online and a server is known
  uint64_t generation = process_generation();
  std::string uid_text;
  std::atomic<uint64_t> steps_changed{0};
  HotRun* observer_hot = nullptr;  // of an observed rank: its journal takes no metrics, so the run's own hot_ has none
  Warnings warnings{plan.run};
  SigtermMark* sigterm = nullptr;   // null: the signal is left alone
  std::shared_ptr<StopWatch> stop;  // never null

  // Null until the run that this rank waits for is found, and where it waits for none.
  const AwaitedRun::Found* awaited() const { return plan.awaits ? plan.awaits->found() : nullptr; }
  bool observed() const { return plan.observed; }
  // One line at start and end a run, not a rank: the others speak only when something is wrong.
  bool says_lines() const { return !plan.options.quiet && plan.rank.is_first; }

  mutable std::mutex mutex;  // guards what follows
  ValueTree config, summary;
  std::string name;
  std::set<std::string> defined;  // names and patterns of define_metric()
  bool finished = false;          // finish() was called
  bool finish_done = false;       // and has returned
  std::condition_variable finish_changed;
  Status finish_status;
  RunState exit_state = RunState::kFinished;
  int exit_code = 0;
  bool exit_known = false;
  std::string exit_reason;
  bool preempting = false;  // mark_preempting() was called
  uint64_t redacted = 0;
  MediaCounts media;
  std::map<std::string, uint64_t> media_reasons;  // why they were dropped
  uint64_t media_calls = 0;
  AlertRoom alerts;
  mutable bool dir_made = false;

  // What the finish() that was called says, waiting at most `timeout` for it when another thread is in it.
  Status wait_finished(std::chrono::milliseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex);
    if (finish_changed.wait_for(lock, timeout, [this] { return finish_done; })) return finish_status;
    return Status(Code::kTimeout, "another thread is finishing the run");
  }

  // In a forked child nothing here may be touched: locks may be held by threads that do not exist there.
  bool forked() const { return generation != process_generation(); }
};

}  // namespace tracker::internal
