// SPDX-License-Identifier: MIT
// Run: what a training process holds. init() decides who this process is (ranks, resume, mode), opens journal and
// store, and starts two threads; logging goes through hot() and never waits for either (docs/design.md, the way of a
// point). Threads: any, unless a function says otherwise. After fork() everything here is inert in the child.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/ring/hot_path.h"
#include "model/key.h"
#include "model/number.h"
#include "model/records.h"
#include "model/value.h"
#include "pipeline/run_cost.h"

namespace tracker::internal {

enum class ConsoleStream : uint8_t;  // run/services/console.h
class ArtifactDraft;                 // artifact/draft.h
struct FoundArtifact;                // artifact/reference.h
class LoggedArtifact;                // run/services/artifacts.h
struct LogArtifactOptions;
struct MediaFile;      // run/services/media_folder.h
struct UploadRequest;  // run/services/upload.h
struct ListedFile;     // artifact/file_list.h

// Arguments of init(). Empty text means "not given": the environment, then the default decides (docs/environment.md).
struct InitOptions {
  std::string project, name, id, group, job_type, notes;
  std::vector<std::string> tags;
  Value config = Value::map();
  std::string dir;               // store folder
  std::string mode;              // local | online | offline | disabled
  std::string host, token;       // of the server, for mode online; the token is stored in no run
  std::string resume;            // never | allow | must
  std::string resume_from;       // run@step, or a run alone
  std::string duplicate_policy;  // last | first
  std::string ranks;             // first | observe | all
  std::string journal;           // shm | disk | memory
  std::string on_full;           // wait | drop | block
  std::string on_sigterm;        // mark; empty: the signal is left alone
  std::string on_exit;           // finish | leave
  std::string store_files;       // of the environment alone: auto | sqlite | frames
  std::string max_disk;          // bytes of the store at most, as parse_byte_size() takes them
  int rank = -1;                 // explicit rank; -1: from the environment
  int world_size = -1;
  // What torch.distributed says when the Python layer found it initialised in sys.modules; -1 otherwise.
  int torch_rank = -1, torch_world_size = -1;
  // What is recorded of the surroundings (run/services/capture.h). capture: none, or some of command, environment,
  // diff, source, with commas. system_interval: seconds between samples, 0: none; NaN: not given.
  std::string capture;
  double system_interval = std::numeric_limits<double>::quiet_NaN();
  std::string source_folder;             // where the program lies: whose source, commit and diff; empty: not known
  std::string tensorboard;               // folder below which a TensorBoard event file is written live; empty: none
  Value python;                          // what Python says of itself; null from C and C++
  std::vector<std::string> python_path;  // sys.path, where its packages are searched for
  std::vector<std::string> gpu_trial;  // a program that tries the GPU driver's library first (monitor/host/gpu_trial.h)
  bool strict = false;
  bool quiet = false;
  bool process_group = false;  // torch.distributed is initialised, and its store can give ranks the run
  bool child_of_run = false;   // a multiprocessing child of a process that has a run; gated with a sign of ranks
  int64_t attach_attempt = 0;  // attach(): join this attempt of the run called `id` as a further writer
};

// Values, not files: logged = stored + dropped + pending.
struct MediaCounts {
  uint64_t logged = 0, stored = 0, dropped = 0;
};
constexpr std::string_view kMediaAccountKey = "media_account";  // an attribute (docs/formats/records.md)

struct RunStatus {
  uint64_t points_logged = 0;  // = stored + dropped + pending
  uint64_t points_stored = 0;  // committed
  uint64_t points_dropped = 0;
  uint64_t points_pending = 0;  // accepted, not yet committed
  // Texts under a metric's key, which are no points: the same account.
  uint64_t texts_logged = 0, texts_stored = 0, texts_dropped = 0, texts_pending = 0;
  uint64_t entries_dropped =
      0;  // of config, summary, attributes, definitions, alerts, facts of the surroundings, notes
  uint64_t values_rejected = 0;  // bad values and keys; never became points
  uint64_t values_redacted = 0;
  uint64_t steps_changed = 0;  // calls whose step was no whole number of int64
  MediaCounts media;
  uint64_t alerts_dropped = 0;     // beyond their bounds: counted, not recorded
  uint64_t console_cut_bytes = 0;  // written to stdout and stderr, not recorded: too much at once
  uint64_t bytes_stored = 0;
  uint64_t journal_bytes = 0;  // memory of rings and spill file
  std::string journal;         // shm | disk | memory | none
  std::string store_files;     // sqlite | frames | none: not opened yet, or nothing is recorded
  std::string file_system;     // what they lie on: "local", "NFS", ...
  int store_parts = 0;         // files of the database; more than 1: a reader has kept a WAL from being emptied
  bool survives_process = false, survives_container = false, survives_power = false;
  bool degraded = false;  // the store cannot be written now
  bool recording = false;
  std::string why_not_recording;  // "rank 3 of 8 (from SLURM_PROCID)", "mode=disabled", "finished", "forked child"
  std::string last_error;         // one line; stays until the store works again
  uint64_t recovered_points = 0;  // replayed at init from a dead attempt of this run
  uint64_t max_disk = 0;          // 0: no bound
  bool disk_full = false;         // the store has reached it: new points are dropped and counted
  // Of those that this process logged; a refused one counts as failed.
  uint64_t artifacts_stored = 0, artifacts_pending = 0, artifacts_failed = 0;
  RunCost cost;
};

// The same for one metric. Points lost for no metric in particular (more metrics than the limit, more metrics with
// losses than a ring counts apart, a damaged journal, logged after finish) are under the empty name.
struct SeriesStatus {
  std::string name;
  uint64_t points_stored = 0, points_dropped = 0, points_pending = 0;
  uint64_t points_logged() const { return points_stored + points_dropped + points_pending; }
};

// Limit: time that finish() waits for the disk, at exit for all runs together. Beyond it: the rest is recovered by the
// next process that opens the store.
constexpr std::chrono::milliseconds kFinishLocalMax{2000};
// Limit: time that finish() waits for artifacts, and use_artifact() for one just logged. Beyond it: given up, counted
// and named; use_artifact() raises.
constexpr std::chrono::milliseconds kFinishArtifactsMax{10'000};
// Limit: bytes of the reason of finish(), such as the last line of a traceback. Beyond it: cut; the text says how much.
constexpr size_t kEndReasonBytesMax = 4096;
// Limit: least time that each run has to finish at exit.
constexpr std::chrono::milliseconds kFinishLeast{20};

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
  uint32_t series_id(std::string_view name, ValueType type) noexcept;
  void count_no_memory(bool text) noexcept;  // a point or a text: dropped and counted
  int64_t next_step() const;                 // 1 + the run's largest step, 0 before the first
  void raise_step(
      int64_t step);  // something is logged at it that is not recorded yet: the next automatic step is larger
  // Values of a metric that are not recorded because what waits for a device is full, or has not come: counted as lost.
  void drop_values(std::string_view name, ValueType type, uint64_t values, std::string_view why) noexcept;
  int64_t step() const;  // the largest step, INT64_MIN before the first
  // The step of a call was no whole number: counted; `text`, once a topic on stderr, says what it became.
  void count_changed_step(std::string_view topic, std::string_view text) noexcept;
  void say_once(std::string_view topic, std::string_view text) noexcept;
  // `count` bad values, the first at `key`: counted, named once a key on stderr.
  // `is_entry`: of config or summary, of which `why` says all.
  void count_rejected(std::string_view key, std::string_view why, uint64_t count = 1, bool is_entry = false) noexcept;

  // --- the rest of the verbs ------------------------------------------------------------------------------------
  // kText: payload {key, text}. Texts up to 64 KiB go through the ring; larger ones through a bounded queue.
  Code log_text(std::string_view key, std::string_view text, int64_t step, bool has_step = true);
  // What the process has written to one of its streams: folded into lines (monitor/console/console_lines.h) and
  // recorded. It never waits; lines that find no room are counted (RunStatus.console_cut_bytes). Does nothing where
  // nothing is recorded; an observed rank records it.
  void write_console(ConsoleStream stream, std::string_view bytes);
  bool takes_console() const;
  // Media (model/media.h, run/services/media.cc): counted as they are logged, stored as they come, or dropped and
  // counted. begin_media: `values` of them are logged under `key` at `step`; kInvalid (counted) for a bad key, kClosed
  // where nothing is recorded. Each then ends in log_media() with what is said of it, or in drop_media(). `call` is
  // next_media_call() for the values of one call. store_media*: their files (run/services/media_folder.h); wait for the
  // disk.
  Code begin_media(std::string_view key, int64_t step, uint64_t values);
  uint64_t next_media_call();
  Result<MediaFile> store_media(std::string_view bytes, std::string_view extension);
  Result<MediaFile> store_media_file(const ListedFile& file, std::string_view extension);
  Result<MediaFile> store_media_unsynced(std::string_view head, std::string_view bytes, std::string_view extension,
                                         std::chrono::milliseconds limit);
  void sync_media(std::string_view digest, std::string_view extension) const;
  // A text on its way into a file, without its secrets (model/redact/redact.h), which are counted.
  std::string redact_document(std::string_view text, std::string_view extension);
  Status log_media(std::string_view key, int64_t step, uint64_t call, int64_t time_us, Value value);
  // `reason` is one of a few words that the account of the run keeps, `detail` what is said once on stderr.
  void drop_media(std::string_view key, std::string_view reason, std::string_view detail, uint64_t values);
  // All of it for one encoded value: kInvalid (counted as rejected) for a kind or an extension that is none.
  Code put_media(std::string_view key, int64_t step, std::string_view kind, std::string_view bytes,
                 std::string_view extension, Value description);
  bool takes_media() const;
  // config and summary: `key` is a path with "/", "" merges a map. Redacted before they go anywhere.
  Code set_config(std::string_view key, Value value);
  Code set_summary(std::string_view key, Value value);    // null removes the explicit value
  Code set_attribute(std::string_view key, Value value);  // name, notes, tags, group, job_type
  // define_metric(): `name` may be a pattern (model/metric_definition.h). kInvalid says what was expected, kLimit:
  // kMetricDefinitionsMax names have one. Where nothing is recorded it only checks.
  Status define_metric(std::string_view name, std::string_view step_metric, const std::vector<std::string>& summary,
                       std::string_view goal);
  // Gives the artifact to the thread that stores it (run/services/artifacts.h) and returns: a version of this content,
  // in this run's project, made by the run (or, as the options say, used by it). What the disk refuses, a file that
  // changes meanwhile, or a queue that stays full fails it: counted, said once a name, in its wait(); with strict what
  // is known at once is returned. Where nothing is recorded it is checked and left. kInvalid, kLimit: bad options.
  // Cost: at most kArtifactQueueWait where the queue is full.
  Result<std::shared_ptr<LoggedArtifact>> log_artifact(ArtifactDraft draft, LogArtifactOptions options);
  // The version that `name` says ("data:latest", artifact/reference.h), and that the run uses it. One of that name that
  // this run has just logged is waited for. kTimeout: it is not stored yet, and "latest" or an alias may be it; for one
  // that was refused the older version is given, which is said. Works on gated ranks and where nothing is recorded too;
  // then it only looks. Errors: as find_artifact(), and of the store. Cost: reads the artifact's documents.
  Result<FoundArtifact> use_artifact(std::string_view name, std::string_view use_as = "",
                                     std::chrono::milliseconds timeout = kFinishArtifactsMax);
  // Waits until all artifacts logged before are stored, refused or given up. kTimeout.
  Status wait_artifacts(std::chrono::milliseconds timeout);
  void set_artifact_pause_for_testing(void (*pause)(), void (*named)() = nullptr);
  // Shown to people while the run goes on; stored with the time and the largest step. `level`: info, warn or error, ""
  // for info. Title and text are cut at kAlertTitleBytesMax and kAlertTextBytesMax (model/alert.h), which the alert
  // says. kInvalid: no such level; kLimit: beyond kAlertsMax or kAlertsAMinute, counted (RunStatus.alerts_dropped);
  // kClosed. A gated rank records nothing and answers kOk.
  Status alert(std::string_view title, std::string_view text, std::string_view level);
  // Whether `tracker stop` has asked this attempt of the run to stop; a request that is taken back counts no more. The
  // code decides. Seen within about kStopLookInterval (run/services/stop.h), on a network file system when its client
  // looks again; what was asked before, by the first call. False in a forked child. Cost: two loads; the first call
  // starts a thread and waits for its first look, kStopFirstLook at most.
  bool should_stop();
  bool should_stop_waits() const;  // it is the first call
  // Why, by whom and when, in one line; none: no request.
  std::optional<std::string> stop_reason();
  Value config() const;                            // as set here and by earlier attempts
  Value config_entry(std::string_view key) const;  // a map of that entry alone, or an empty one
  Value explicit_summary() const;

  // kOk: all logged before is committed and fsynced. kTimeout: not yet. kClosed: something was logged after the end.
  // `keep_waiting`: asked each kFlushAskInterval meanwhile, on this thread and without a lock; false ends the wait.
  Code flush_code(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting = {});
  bool flush(std::chrono::milliseconds timeout) { return flush_code(timeout) == Code::kOk; }
  // state: kFinished, kFailed, kInterrupted or kPreempted. Local commit at most `timeout`. Before it artifacts that are
  // not stored yet have `artifacts` (below 0: a part of `timeout`); what is left then is given up, counted and named on
  // stderr. After it an upload has `artifacts` too (below 0: what is left of `timeout`); the rest stays local. The
  // second call does nothing and answers what the first one does, for which it waits at most as long.
  Status finish(RunState state, int exit_code = 0, std::string_view reason = "",
                std::chrono::milliseconds timeout = kFinishLocalMax,
                std::chrono::milliseconds artifacts = kFinishArtifactsMax);
  // The process is about to be stopped by its machine: unless it goes on under this attempt its end is kPreempted, and
  // so is its state when it is killed. kClosed after the end. Where nothing is recorded it does nothing.
  Code mark_preempting();
  bool ends_with_process() const;  // not with on_exit="leave"
  // For the exit handler of the binding: what finish() at process exit should say if it was not called before.
  void set_exit_reason(RunState state, int exit_code, std::string_view reason);
  void finish_at_exit(int exit_code, std::chrono::milliseconds timeout);  // called by the exit handler
  bool finished() const;
  bool disk_full() const;  // as RunStatus.disk_full
  RunStatus status() const;
  // By name, all at one moment, without samples of the system: what was logged before the call is in it. Cost: a pass
  // over what waits to be stored, and a read of each metric.
  std::vector<SeriesStatus> series_status() const;
  // kNotFound: this process has not logged it. "": those lost for no metric in particular.
  Result<SeriesStatus> series_status(std::string_view name) const;

  // --- facts ------------------------------------------------------------------------------------------------------
  // Where the server shows the run; empty unless mode is online and a server is known.
  std::string url() const;
  // Sends what is stored by now, after the end too, and waits as upload_run() does, whose errors it has. kClosed:
  // nothing is recorded here. `go_on` is asked meanwhile; false ends it (kClosed).
  Status upload(const UploadRequest& request, const std::function<bool()>& go_on);
  // Called by the drain and the store thread before each round (Writer::set_pause_for_testing).
  void set_pause_for_testing(void (*drain)(), void (*store)());
  // id() and dir(): once a store could be opened that could not when the run began, what the run got there. id() and
  // uid() are empty while this process waits for the run of rank 0.
  const std::string& id() const;
  const std::string& uid() const;  // 32 hex digits
  std::string name() const;
  const std::string& project() const;
  const std::string& dir() const;  // the run's folder; a real folder on gated ranks too
  const std::string& store_path() const;
  // What `tracker show` takes for this run: project/id, with --dir where a command here would find another store.
  std::string command_words() const;
  uint64_t max_disk() const;  // bytes of the store; 0: no bound
  const std::string& mode() const;
  int rank() const;
  // This process as a writer of the run, one more: with an id of its own.
  WriterIdentity new_writer() const;
  int world_size() const;
  int64_t attempt() const;
  // Where nothing names the run that ranks share and torch.distributed is initialised: the key of its store under which
  // rank 0 gives its run, and what it gives; empty elsewhere. A rank that waits for the run gets it by tell_run().
  std::string group_key() const;
  std::string group_text() const;
  Status tell_run(std::string_view text);
  bool waits_for_run() const;  // and has not found it
  bool recording() const;
  bool strict() const;

 private:
  struct Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  Status start();
  void start_artifacts();
  void start_monitor();
  void start_source();
  void start_tensorboard();
  void start_upload();
  void finish_upload(std::chrono::steady_clock::time_point deadline);
  void mark_at_sigterm();
  Status finish_first(RunState state, int exit_code, std::string_view reason, std::chrono::milliseconds timeout,
                      std::chrono::milliseconds artifacts);
  bool preempting() const;
  void say_end(RunState state, const Status& status) const;
  void leave_row() const;
  Code log_event(EventType type, const Value& payload, int64_t step, bool has_step);
  bool log_console(const std::string& payload);
  Status has_media_folder() const;
  Status log_media_payload(const std::string& payload, int64_t step);
  void note_media();
  void log_dropped_alerts(uint64_t count);
  void finish_alerts();
  void note_stop();
  void reject_long_paths(std::string_view key, Value* value);
  Code set_entry(EventType type, std::string_view key, Value value);
  std::unique_ptr<Impl> impl_;
  HotRun* hot_;
};

}  // namespace tracker::internal
