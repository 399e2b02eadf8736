// SPDX-License-Identifier: MIT
// Run: what a training process holds. init() decides who this process is (ranks, resume, mode), opens journal and
// store, and starts two threads; logging goes through hot() and never waits for either (ARCHITECTURE.md, the way of a
// point). Threads: any, unless a function says otherwise. After fork() everything here is inert in the child.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/hot_path.h"
#include "model/key.h"
#include "model/number.h"
#include "model/records.h"
#include "model/value.h"

namespace tracker::internal {

// Arguments of init(). Empty text means "not given": the environment, then the default decides (docs/environment.md).
struct InitOptions {
  std::string project, name, id, group, job_type, notes;
  std::vector<std::string> tags;
  Value config = Value::map();
  std::string dir;               // store folder
  std::string mode;              // local | online | offline | disabled
  std::string resume;            // never | allow | must
  std::string resume_from;       // run@step, or a run alone
  std::string duplicate_policy;  // last | first
  std::string ranks;             // first | observe | all
  std::string journal;           // shm | disk | memory
  std::string on_full;           // wait | drop | block
  std::string store_files;       // of the environment alone: auto | sqlite | frames
  int rank = -1;                 // explicit rank; -1: from the environment
  int world_size = -1;
  // What torch.distributed says when the Python layer found it initialised in sys.modules; -1 otherwise.
  int torch_rank = -1, torch_world_size = -1;
  bool strict = false;
  bool quiet = false;
  bool child_of_run = false;   // a multiprocessing child of a process that has a run (Python says so): gated
  int64_t attach_attempt = 0;  // attach(): join this attempt of the run called `id` as a further writer
};

struct RunStatus {
  uint64_t points_logged = 0;  // = stored + dropped + pending
  uint64_t points_stored = 0;  // committed
  uint64_t points_dropped = 0;
  uint64_t points_pending = 0;   // accepted, not yet committed
  uint64_t values_rejected = 0;  // bad values and keys; never became points
  uint64_t values_redacted = 0;
  uint64_t bytes_stored = 0;
  uint64_t journal_bytes = 0;  // memory of rings and spill file
  std::string journal;         // shm | disk | memory | none
  std::string store_files;     // sqlite | frames | none: not opened yet, or nothing is recorded
  std::string file_system;     // what they lie on: "local", "NFS", ...
  int store_parts = 0;         // files the database stands in; more than 1: a reader has kept a WAL from being emptied
  bool survives_process = false, survives_container = false, survives_power = false;
  bool degraded = false;  // the store cannot be written now
  bool recording = false;
  std::string why_not_recording;  // "rank 3 of 8 (from SLURM_PROCID)", "mode=disabled", "finished", "forked child"
  std::string last_error;         // one line; stays until the store works again
  uint64_t recovered_points = 0;  // replayed at init from a dead attempt of this run
};

class Run : public std::enable_shared_from_this<Run> {
 public:
  // kInvalid: an option is wrong; the message says what was expected. kNotFound: resume="must" and no such run. Nothing
  // else fails: what the disk refuses degrades the run (status()), with strict it is returned as kIo.
  static Result<std::shared_ptr<Run>> init(const InitOptions& options);
  ~Run();
  // In a forked child: from now on this run records here, as a writer of its own of the same attempt and rank; hot()
  // stays what it is, ids of series do not. Call it before other threads of the child use the run. kInvalid in the
  // process that has opened it and for a run that recorded nothing there; else what init() returns. Cost: an init().
  Status attach();

  // --- hot path -------------------------------------------------------------------------------------------------
  HotRun* hot() const {
    return hot_;
  }  // never null: a run that records nothing has a HotRun whose calls return kClosed
  // The id of a metric logged as `type`; 0 when the key is bad (counted, named once on stderr), the limit of series is
  // reached, or nothing is recorded here. Called for a point that is logged, which is counted when the run has ended.
  // Cost: a lock and a hash look-up; callers cache it.
  uint32_t series_id(std::string_view name, ValueType type);
  int64_t next_step() const;                                        // 1 + the run's largest step, 0 before the first
  int64_t step() const;                                             // the largest step, INT64_MIN before the first
  void count_rejected(std::string_view key, std::string_view why);  // a bad value: counted, named once a key on stderr

  // --- the rest of the verbs ------------------------------------------------------------------------------------
  // kText: payload {key, text}. Texts up to 64 KiB go through the ring; larger ones through a bounded queue.
  Code log_text(std::string_view key, std::string_view text, int64_t step, bool has_step = true);
  // config and summary: `key` is a path with "/", "" merges a map. Redacted before they go anywhere.
  Code set_config(std::string_view key, Value value);
  Code set_summary(std::string_view key, Value value);    // null removes the explicit value
  Code set_attribute(std::string_view key, Value value);  // name, notes, tags, group, job_type
  // define_metric(): `name` may be a pattern (model/metric_definition.h). kInvalid says what was expected, kLimit:
  // kMetricDefinitionsMax names have one. Where nothing is recorded it only checks.
  Status define_metric(std::string_view name, std::string_view step_metric, const std::vector<std::string>& summary,
                       std::string_view goal);
  Value config() const;  // as set here and by earlier attempts
  Value explicit_summary() const;

  // kOk: all logged before is committed and fsynced. kTimeout: not yet. kClosed: something was logged after the end.
  Code flush_code(std::chrono::milliseconds timeout);
  bool flush(std::chrono::milliseconds timeout) { return flush_code(timeout) == Code::kOk; }
  // state: kFinished, kFailed, kInterrupted or kPreempted. Local commit at most 2 s. The second call does nothing and
  // answers what the first one does, for which it waits at most as long.
  Status finish(RunState state, int exit_code = 0, std::string_view reason = "");
  // For the exit handler of the binding: what finish() at process exit should say if nobody calls it before.
  void set_exit_reason(RunState state, int exit_code, std::string_view reason);
  void finish_at_exit(int exit_code);  // called by the exit handler
  bool finished() const;
  RunStatus status() const;

  // --- facts ------------------------------------------------------------------------------------------------------
  // Called by the drain and the store thread before each round (Writer::set_pause_for_testing).
  void set_pause_for_testing(void (*drain)(), void (*store)());
  const std::string& id() const;
  const std::string& uid() const;  // 32 hex digits
  std::string name() const;
  const std::string& project() const;
  const std::string& dir() const;  // the run's folder; a real folder on gated ranks too
  const std::string& store_path() const;
  const std::string& mode() const;
  int rank() const;
  int world_size() const;
  int64_t attempt() const;
  bool recording() const;
  bool strict() const;

 private:
  struct Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  Status start();
  void say_end(RunState state, const Status& status) const;
  Code log_event(EventType type, const Value& payload, int64_t step, bool has_step);
  Code set_entry(EventType type, std::string_view key, Value value);
  std::unique_ptr<Impl> impl_;
  HotRun* hot_;
};

}  // namespace tracker::internal
