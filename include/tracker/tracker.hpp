// SPDX-License-Identifier: MIT
// The C++ API: header-only over the C ABI, so that it works with any compiler, both libstdc++ ABIs, C++17 and later,
// and with -fno-exceptions -fno-rtti. Link tracker::tracker (or pkg-config tracker).
//
//   auto run = tracker::init({.project = "mnist", .config = {{"lr", 0.1}}});
//   auto loss = run.metric("train/loss");
//   loss.log(0.25, step);
//   run.log({{"train/loss", 0.25}, {"train/acc", 0.9}}, step);
//
// Threads: any thread may call anything of a Run or a Metric, except that finish(), the destructor, a move and the use
// of a moved-from Run need the others to have stopped. After fork() both are inert in the child: calls return
// Code::kClosed until attach(). Cost: log() takes no lock, makes no system call and allocates nothing in steady state,
// and is noexcept: what cannot be kept is dropped and counted in Status, and the returned code, which may be ignored,
// says so. Texts allocate.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "artifact.hpp"
#include "error.hpp"
#include "tracker.h"
#include "value.hpp"

namespace tracker {
inline namespace TRACKER_INLINE_NAMESPACE {

/// "1 + the run's largest step": the step of log() without a step; of calls at the same time each gets a step of its
/// own. Every other int64 is an ordinary step.
inline constexpr int64_t kAutoStep = TRK_STEP_AUTO;

/// Options of init(), to be written with designated initialisers, in this order. Empty means the default that is named.
struct InitOptions {
  std::optional<std::string> project = {};  ///< TRACKER_PROJECT, else "default"; never empty
  std::string name = {};                    ///< shown to people; the id
  Config config = {};                       ///< {{"lr", 0.1}, {"optimizer/name", "adam"}}
  std::vector<std::string> tags = {};
  std::string group = {};
  std::string job_type = {};
  std::string notes = {};
  std::string id = {};           ///< unique in its project; TRACKER_RUN_ID, else made up ("brisk-otter-417")
  std::string resume = {};       ///< "never", the default | "allow" | "must"
  std::string mode = {};         ///< "local" | "online" | "offline" | "disabled"; TRACKER_MODE, else "local"
  std::string dir = {};          ///< the store; TRACKER_DIR, the nearest .tracker upward, else ./.tracker
  std::string ranks = {};        ///< "first", the default: one run, written by rank 0 | "observe" | "all"
  bool strict = false;           ///< a store that cannot be written is an error of init(), not a degraded run
  std::string journal = {};      ///< "shm" | "disk" | "memory"; the best that the machine offers
  std::string on_full = {};      ///< "wait", the default: a while, then drop and count | "drop" | "block"
  bool quiet = false;            ///< no line at start and end on stderr
  int rank = -1;                 ///< -1, and 0 without a world_size: from the launcher's environment
  int world_size = 0;            ///< 0: as rank
  std::string resume_from = {};  ///< "run@step": what that run logged after the step is shadowed; "run": nothing is
  /// the row that readers see of a step logged twice: "last", the default | "first"
  std::string duplicate_policy = {};
  /// "10GB", "512MiB": at this size the store accepts no new points; TRACKER_MAX_DISK, else no limit
  std::string max_disk = {};
  std::string capture =
      {};  ///< "none", or on request some of "command", "environment", "diff", "source"; TRACKER_CAPTURE
  double system_interval = 0;  ///< seconds between samples of the system; 0: 15; below 0: none
  std::string tensorboard =
      {};  ///< a folder: a TensorBoard event file is written live in <folder>/<project>/<id>/ (docs/exchange.md)
  std::string on_sigterm = {};  ///< "mark": SIGTERM marks the run as preempted and then calls the previous handler
  std::string on_exit = {};     ///< "finish", the default: exit() finishes the run | "leave": as if it were killed
  std::string host = {};        ///< of mode "online": the server; TRACKER_HOST, else that of login()
  std::string token = {};       ///< for the host; TRACKER_TOKEN, else that of login(); stored in no run
};

/// The arguments of define_metric(); empty means "not set".
struct MetricOptions {
  std::string step_metric = {};  ///< the default x of readers
  std::vector<std::string> summary =
      {};                 ///< of "last", "min", "max", "mean", "best"; the first under the metric's name
  std::string goal = {};  ///< "minimize" | "maximize"; "best" needs it
};

/// The cost of the tracker in this process. A copy.
struct Cost {
  std::chrono::nanoseconds in_calls{};    ///< in calls that log: an estimate from samples
  std::chrono::nanoseconds thread_cpu{};  ///< CPU of the background threads
  uint64_t memory_bytes = 0;              ///< rings, spill file and data that waits for the disk, now
  uint64_t memory_bytes_max = 0;          ///< and the largest, sampled ten times a second
  uint64_t bytes_written = 0;             ///< passed to the kernel for the store's disk; 0 on tmpfs
};

/// The state of one metric's points: logged = stored + dropped + pending, all of one moment. A copy.
struct SeriesStatus {
  uint64_t points_logged = 0;
  uint64_t points_stored = 0;
  uint64_t points_dropped = 0;
  uint64_t points_pending = 0;
};

/// The state of this process's points: logged = stored + dropped + pending. A copy; it does not change.
struct Status {
  uint64_t points_logged = 0;
  uint64_t points_stored = 0;    ///< committed to the database
  uint64_t points_dropped = 0;   ///< counted, never stored
  uint64_t points_pending = 0;   ///< accepted, not yet committed
  uint64_t values_rejected = 0;  ///< bad values and keys; they never became points
  uint64_t bytes_stored = 0;
  bool survives_process = false;    ///< whether an accepted point survives right now: kill -9, abort, out of memory
  bool survives_container = false;  ///< the loss of the container with its tmpfs, except the last 100 ms
  bool survives_power = false;      ///< power loss, except the last 1 s and one fsync
  bool degraded = false;            ///< the store cannot be written now; see last_error
  bool recording = false;           ///< false: disabled, gated, finished or a forked child; see last_error
  int rank = 0;                     ///< -1: only a local or a node rank is known
  std::string journal;              ///< "shm", "disk", "memory" or "none"
  std::string last_error;
  bool disk_full = false;         ///< the store has reached max_disk: new points are dropped and counted
  uint64_t artifacts_stored = 0;  ///< of those that this process logged
  uint64_t artifacts_pending = 0;
  uint64_t artifacts_failed = 0;  ///< refused or given up; the reason was written to stderr
  Cost cost;
  uint64_t texts_logged = 0;  ///< texts under a metric's name, which are not points: = stored + dropped + pending
  uint64_t texts_stored = 0;
  uint64_t texts_dropped = 0;
  uint64_t texts_pending = 0;
  uint64_t entries_dropped = 0;  ///< of config, summary, attributes, definitions, alerts: counted, not recorded
};

/// A metric resolved once: the shortest way to the ring. Trivially copyable; valid as long as its run; threads may
/// share it. A default-constructed one, and one with a bad name, log nothing and return Code::kInvalid.
class Metric {
 public:
  Metric() noexcept = default;
  explicit Metric(trk_metric* metric) noexcept : metric_(metric) {}

  /// Appends one number; its type is kept. Equal, missing, rewound and negative steps are all kept.
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Code log(T value, int64_t step = kAutoStep) const noexcept {
    trk_code code = TRK_OK;
    if constexpr (std::is_same_v<T, bool>) {
      code = trk_metric_log_bool(metric_, value ? 1 : 0, step);
    } else if constexpr (std::is_same_v<T, float>) {
      code = trk_metric_log_f32(metric_, value, step);
    } else if constexpr (std::is_floating_point_v<T>) {
      code = trk_metric_log_f64(metric_, static_cast<double>(value), step);
    } else {
      const trk_value number = Value(value).c_value();
      code = number.type == TRK_I64 ? trk_metric_log_i64(metric_, number.as.i64, step)
                                    : trk_metric_log_f64(metric_, number.as.f64, step);
    }
    return static_cast<Code>(code);
  }
  /// False for a bad name: empty, too long, not UTF-8.
  bool ok() const noexcept { return metric_ != nullptr; }

 private:
  trk_metric* metric_ = nullptr;
};
static_assert(std::is_trivially_copyable_v<Metric>);

/// A run that this process records, made by init(). Move-only. The destructor ends a run that was not finished:
/// finished, or failed if an exception ends its scope.
class Run {
 public:
  /// Records nothing; ok() is false.
  Run() noexcept = default;
  Run(Run&& other) noexcept { swap(other); }
  Run& operator=(Run&& other) noexcept {
    if (this != &other) {
      release();
      swap(other);
    }
    return *this;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { release(); }

  /// False if init() failed without exceptions, and for a default-constructed or moved-from run; every verb then does
  /// nothing. A run whose store cannot be written is ok(): see status().
  bool ok() const noexcept { return run_ != nullptr; }
  Code code() const noexcept { return code_; }
  /// What was expected; empty if ok().
  const std::string& error() const noexcept { return error_; }

  /// In a forked child: from now on the inherited run records there too, as a writer of its own, and so do its metrics.
  /// Call it before other threads of the child use the run. kInvalid in the process that has opened the run, and for a
  /// run that recorded nothing there; strict: kIo. `error` has the reason. Cost: that of init().
  Code attach(std::string* error = nullptr) const {
    trk_error what = TRK_ERROR_INIT;
    const trk_code code = trk_attach(run_, &what);
    if (error != nullptr) *error = what.message;
    return static_cast<Code>(code);
  }

  // --- logging ------------------------------------------------------------------------------------------------------

  /// A handle for one metric. Cost: a lock and a look-up; keep it. A bad name gives a handle whose ok() is false.
  Metric metric(std::string_view name) const noexcept {
    return Metric(trk_metric_open(run_, name.data(), name.size(), nullptr));
  }
  /// Several values under one step and one time. A bad one is counted and named once on stderr, the others are kept.
  Code log(std::initializer_list<Point> points, int64_t step = kAutoStep) const noexcept {
    return log(points.begin(), points.size(), step);
  }
  Code log(const std::vector<Point>& points, int64_t step = kAutoStep) const noexcept {
    return log(points.data(), points.size(), step);
  }
  Code log(const Point* points, size_t count, int64_t step) const noexcept {
    return static_cast<Code>(trk_log(run_, points, count, step));
  }
  /// One value by name: about 10 ns more than through a handle.
  Code log(std::string_view name, const Value& value, int64_t step = kAutoStep) const noexcept {
    const trk_value& given = value.c_value();
    if (given.type == TRK_F64)
      return static_cast<Code>(trk_log_f64(run_, name.data(), name.size(), given.as.f64, step));
    const Point point(name, value);
    return static_cast<Code>(trk_log(run_, &point, 1, step));
  }

  /// One encoded value, such as the bytes of a PNG file: trk_log_media. Waits for the disk.
  Code log_media(std::string_view name, const char* kind, std::string_view bytes, const char* extension,
                 int64_t step = kAutoStep, const char* metadata_json = nullptr) const noexcept {
    return static_cast<Code>(trk_log_media(run_, name.data(), name.size(), step, kind, bytes.data(), bytes.size(),
                                           extension, metadata_json));
  }

  // --- config and summary -------------------------------------------------------------------------------------------

  /// Sets one value of the config; `key` nests by "/". Cost: a lock and allocations. kInvalid for a bad key.
  Code set_config(std::string_view key, const Value& value) const noexcept {
    return static_cast<Code>(trk_config_set(run_, key.data(), key.size(), &value.c_value()));
  }
  /// Sets several; returns the code of the first that was refused.
  Code set_config(const Config& config) const noexcept {
    Code worst = Code::kOk;
    for (const Entry& entry : config) {
      const trk_value value = entry.c_value();
      const Code code = static_cast<Code>(trk_config_set(run_, entry.key().data(), entry.key().size(), &value));
      if (worst == Code::kOk) worst = code;
    }
    return worst;
  }
  /// An explicit value of the summary overrides the last logged one and is kept. Cost and errors: as set_config().
  Code set_summary(std::string_view key, const Value& value) const noexcept {
    return static_cast<Code>(trk_summary_set(run_, key.data(), key.size(), &value.c_value()));
  }

  /// Defines a metric, or all metrics whose names match a pattern: "*" any bytes, "?" one. A metric's own definition
  /// beats patterns, of which the last counts. kInvalid: `error` has what was expected.
  Code define_metric(const std::string& name, const MetricOptions& options, std::string* error = nullptr) const {
    std::string kinds;
    for (const std::string& kind : options.summary) kinds += (kinds.empty() ? "" : ",") + kind;
    trk_error what = TRK_ERROR_INIT;
    const trk_code code =
        trk_define_metric(run_, name.c_str(), options.step_metric.c_str(), kinds.c_str(), options.goal.c_str(), &what);
    if (error != nullptr) *error = what.message;
    return static_cast<Code>(code);
  }

  // --- artifacts ----------------------------------------------------------------------------------------------------

  /// Stores the present content of the artifact as a version that this run made, and returns at once: a thread of the
  /// run reads its files, and artifact.wait() returns the result. A file that changes meanwhile, a disk error and a
  /// queue that stays full fail the artifact, never the run: counted in status(), reported once on stderr. Does nothing
  /// if nothing is recorded. kInvalid, kLimit: a bad alias or tag, which artifact.error() names.
  Code log_artifact(Artifact& artifact, const ArtifactOptions& options = {}) const {
    std::vector<const char*> aliases, tags;
    for (const std::string& alias : options.aliases) aliases.push_back(alias.c_str());
    for (const std::string& tag : options.tags) tags.push_back(tag.c_str());
    trk_artifact_options given = TRK_ARTIFACT_OPTIONS_INIT;
    given.aliases = aliases.data();
    given.alias_count = aliases.size();
    given.tags = tags.data();
    given.tag_count = tags.size();
    given.ttl_s = static_cast<int64_t>(options.ttl.count());
    given.is_input = options.is_input ? 1 : 0;
    given.use_as = options.use_as.c_str();
    return artifact.verb([&](trk_error* what) { return trk_log_artifact(run_, artifact.artifact_, &given, what); });
  }
  /// The version with the name `name`: "data", "data:latest", "data:v3", "data@<digest>", each with "project/" in front
  /// or not; and records that the run uses it. Works also if nothing is recorded. Waits at most 10 s for what this
  /// process has just logged under that name; if that is refused, the older version is returned, which is reported on
  /// stderr. ok() is false if no version is found, and error() names the existing ones; kTimeout: it is not stored yet,
  /// wait() for it first.
  Artifact use_artifact(const std::string& name, const std::string& use_as = {}) const {
    Artifact out;
    trk_error what = TRK_ERROR_INIT;
    out.artifact_ = trk_use_artifact(run_, name.c_str(), use_as.c_str(), &what);
    if (out.artifact_ == nullptr) out.note(static_cast<trk_code>(what.code), what);
    return out;
  }
  /// The versions that this run has used, and made, as far as they are stored: flush() first. Empty if nothing is
  /// recorded. `code`: kOk if the list is complete, else `error` has the reason. Cost: reads the run's databases.
  std::vector<ArtifactUse> inputs(Code* code = nullptr, std::string* error = nullptr) const {
    return uses(true, code, error);
  }
  std::vector<ArtifactUse> outputs(Code* code = nullptr, std::string* error = nullptr) const {
    return uses(false, code, error);
  }
  /// Waits until all artifacts that this process logged are stored or refused. False: not yet.
  bool wait_artifacts(std::chrono::milliseconds timeout) const noexcept {
    return trk_wait_artifacts(run_, static_cast<int64_t>(timeout.count())) == TRK_OK;
  }

  /// Reports an alert during the run: stored with the time and the run's largest step. Title and text are cut at 256
  /// bytes and 16 KiB. kLimit: more than 60 a minute or 1,000 of this process; counted, and the count is recorded in
  /// the run. kInvalid: `level` is none of "info", "warn", "error". Cost: allocations and one record.
  Code alert(std::string_view title, std::string_view text = "", const std::string& level = "info") const noexcept {
    const char* first = title.data() != nullptr ? title.data() : "";
    return static_cast<Code>(trk_alert(run_, first, title.size(), text.data(), text.size(), level.c_str()));
  }
  /// Whether `tracker stop` has asked this attempt to stop: leave the loop and finish. Noticed about a second later.
  /// Cost: two loads; the first call starts a thread that reads one file a second, and waits at most 100 ms for its
  /// first reading: so it notices an earlier request.
  bool should_stop() const noexcept { return trk_should_stop(run_) != 0; }
  /// The machine is about to end the process: the run's state is "preempted" then, however it ends. kClosed after the
  /// end. Not in a signal handler: on_sigterm="mark" is for that.
  Code mark_preempting() const noexcept { return static_cast<Code>(trk_mark_preempting(run_)); }
  /// Why, by whom and when; empty without a request.
  std::string stop_reason() const {
    std::string out(trk_stop_reason(run_, nullptr, 0), '\0');
    const size_t now = out.empty() ? 0 : trk_stop_reason(run_, out.data(), out.size() + 1);
    if (now < out.size()) out.resize(now);
    return out;
  }

  // --- ends ---------------------------------------------------------------------------------------------------------

  /// Waits until everything that this process logged before is committed and fsynced. False if that took longer
  /// (nothing is lost), and if something was logged after finish() and so dropped.
  bool flush(std::chrono::milliseconds timeout = std::chrono::seconds(10)) const noexcept {
    return trk_flush(run_, static_cast<int64_t>(timeout.count())) == TRK_OK;
  }
  /// Ends the run: finished, or failed if exit_code is not 0, with `reason`. Commits, fsyncs, leaves plain files; waits
  /// at most 10 s for artifacts, gives up the rest, and 2 s for the disk. The second call does nothing. kIo, kTimeout:
  /// what was not stored is kept for recovery.
  Code finish(int exit_code = 0, const char* reason = nullptr) const noexcept {
    return static_cast<Code>(trk_finish(run_, exit_code, reason));
  }
  /// Sends what is stored of the run to the server, in any mode and after finish() too. Waits while bytes flow, gives
  /// up after 30 s without progress (kTimeout: `tracker sync` sends the rest). kNotFound: the server has no project
  /// `folder`, unless make_folder; kUnsupported: no server is known.
  Code upload(const std::string& folder = {}, bool make_folder = false) const noexcept {
    return static_cast<Code>(trk_upload(run_, folder.empty() ? nullptr : folder.c_str(), make_folder ? 1 : 0, nullptr));
  }
  Status status() const {
    trk_status now = TRK_STATUS_INIT;
    Status out;
    if (trk_get_status(run_, &now) != TRK_OK) {
      out.journal = "none";
      out.last_error = error_;
      return out;
    }
    out.points_logged = now.points_logged;
    out.points_stored = now.points_stored;
    out.points_dropped = now.points_dropped;
    out.points_pending = now.points_pending;
    out.values_rejected = now.values_rejected;
    out.bytes_stored = now.bytes_stored;
    out.survives_process = (now.survives & TRK_SURVIVES_PROCESS) != 0;
    out.survives_container = (now.survives & TRK_SURVIVES_CONTAINER) != 0;
    out.survives_power = (now.survives & TRK_SURVIVES_POWER) != 0;
    out.degraded = now.degraded != 0;
    out.recording = now.recording != 0;
    out.rank = now.rank;
    out.journal = now.journal;
    out.last_error = now.last_error;
    out.disk_full = now.disk_full != 0;
    out.artifacts_stored = now.artifacts_stored;
    out.artifacts_pending = now.artifacts_pending;
    out.artifacts_failed = now.artifacts_failed;
    out.cost.in_calls = std::chrono::nanoseconds(now.cost_call_ns);
    out.cost.thread_cpu = std::chrono::nanoseconds(now.cost_thread_cpu_ns);
    out.cost.memory_bytes = now.cost_memory_bytes;
    out.cost.memory_bytes_max = now.cost_memory_bytes_max;
    out.cost.bytes_written = now.cost_bytes_written;
    out.texts_logged = now.texts_logged;
    out.texts_stored = now.texts_stored;
    out.texts_dropped = now.texts_dropped;
    out.texts_pending = now.texts_pending;
    out.entries_dropped = now.entries_dropped;
    return out;
  }
  /// Of one metric; nothing if this process has not logged it. Cost: a pass over the data that is not stored yet.
  std::optional<SeriesStatus> series_status(std::string_view name) const {
    trk_series_status now = TRK_SERIES_STATUS_INIT;
    if (trk_get_series_status(run_, name.data() != nullptr ? name.data() : "", name.size(), &now) != TRK_OK)
      return std::nullopt;
    return SeriesStatus{now.points_logged, now.points_stored, now.points_dropped, now.points_pending};
  }

  // --- facts; the text is valid as long as the run ------------------------------------------------------------------

  std::string_view id() const noexcept { return trk_run_id(run_); }
  std::string_view uid() const noexcept { return trk_run_uid(run_); }
  std::string_view name() const noexcept { return trk_run_name(run_); }
  std::string_view project() const noexcept { return trk_run_project(run_); }
  std::string_view dir() const noexcept { return trk_run_dir(run_); }
  /// The largest step of this run so far; kAutoStep (INT64_MIN) before the first.
  int64_t step() const noexcept { return trk_run_step(run_); }
  /// For functions that only the C ABI has.
  trk_run* c_run() const noexcept { return run_; }

 private:
  friend Run try_init(const InitOptions& options);

  std::vector<ArtifactUse> uses(bool inputs, Code* code, std::string* error) const {
    trk_error what = TRK_ERROR_INIT;
    trk_code answer = TRK_OK;
    std::vector<ArtifactUse> out = Artifact::uses(inputs, [&](trk_artifact_use_visitor take, void* taken) {
      answer = trk_run_visit_artifacts(run_, take, taken, &what);
    });
    if (code != nullptr) *code = static_cast<Code>(answer);
    if (error != nullptr) *error = what.message;
    return out;
  }
  void swap(Run& other) noexcept {
    std::swap(run_, other.run_);
    std::swap(code_, other.code_);
    std::swap(exceptions_, other.exceptions_);
    error_.swap(other.error_);
  }
  void release() noexcept {
    if (run_ == nullptr) return;
    // Only an exception that was not in flight when the run was made can be the one that ends its scope.
    if (std::uncaught_exceptions() > exceptions_) finish(1, "an exception left the scope of the run");
    trk_free(run_);
    run_ = nullptr;
  }

  trk_run* run_ = nullptr;
  Code code_ = Code::kInvalid;
  int exceptions_ = 0;
  std::string error_;
};

inline std::string Artifact::new_file(const Run& run, const std::string& path) {
  std::string file(kPathBytes, '\0');
  const Code code = verb([&](trk_error* what) {
    return trk_artifact_new_file(run.c_run(), artifact_, path.c_str(), file.data(), file.size(), what);
  });
  return code == Code::kOk ? file.c_str() : "";
}

/// As init(), but an error is a run whose ok() is false, also with exceptions.
inline Run try_init(const InitOptions& options = {}) {
  Run run;
  const auto text = [&run](const std::string& given) {
    if (given.find('\0') != std::string::npos)
      run.error_ = "an option holds a NUL character: \"" + std::string(given.c_str()) + "\", and more after it";
    return given.empty() ? nullptr : given.c_str();
  };
  std::vector<const char*> tags;
  tags.reserve(options.tags.size());
  for (const std::string& tag : options.tags) text(tag), tags.push_back(tag.c_str());

  trk_init_options given = TRK_INIT_OPTIONS_INIT;
  if (options.project) text(*options.project), given.project = options.project->c_str();
  given.name = text(options.name);
  given.id = text(options.id);
  given.group = text(options.group);
  given.job_type = text(options.job_type);
  given.notes = text(options.notes);
  given.tags = tags.data();
  given.tag_count = tags.size();
  given.dir = text(options.dir);
  given.mode = text(options.mode);
  given.resume = text(options.resume);
  given.ranks = text(options.ranks);
  given.journal = text(options.journal);
  given.on_full = text(options.on_full);
  given.resume_from = text(options.resume_from);
  given.duplicate_policy = text(options.duplicate_policy);
  given.max_disk = text(options.max_disk);
  given.capture = text(options.capture);
  given.system_interval = options.system_interval;
  given.tensorboard = text(options.tensorboard);
  given.on_sigterm = text(options.on_sigterm);
  given.on_exit = text(options.on_exit);
  given.host = text(options.host);
  given.token = text(options.token);
  given.rank = options.rank;
  given.world_size = options.world_size;
  given.strict = options.strict ? 1 : 0;
  given.quiet = options.quiet ? 1 : 0;

  if (!run.error_.empty()) return run;
  trk_error error = TRK_ERROR_INIT;
  run.code_ = static_cast<Code>(trk_init(&given, &run.run_, &error));
  run.exceptions_ = std::uncaught_exceptions();
  if (run.code_ == Code::kOk) run.set_config(options.config);
  else run.error_ = error.message[0] != 0 ? error.message : to_string(run.code_);
  return run;
}

/// Saves a server and its token in the user's login file, for runs of mode "online"; "" is TRACKER_HOST, TRACKER_TOKEN.
/// kTimeout: saved, but the server could not be reached. kInvalid: refused, and nothing is saved.
inline Code login(const std::string& host, const std::string& token) noexcept {
  return static_cast<Code>(
      trk_login(host.empty() ? nullptr : host.c_str(), token.empty() ? nullptr : token.c_str(), nullptr));
}

/// Opens a run and makes it ready for logging; at most about 10 ms on a local disk, never waits for a network. If this
/// process already records the run, it waits for that one's flush, at most 2 s. A store that cannot be written is not
/// an error unless strict: the run is recorded in memory, reports that once, and is stored when the disk works again.
/// Errors: kInvalid (an option; the message has what was expected), kNotFound (resume="must" and no such run), kIo
/// (strict). Thrown as Error; without exceptions the run's ok() is false and error() has the message.
inline Run init(const InitOptions& options = {}) {
  Run run = try_init(options);
#if TRACKER_EXCEPTIONS
  if (!run.ok()) throw Error(run.code(), run.error());
#endif
  return run;
}

}  // namespace TRACKER_INLINE_NAMESPACE
}  // namespace tracker
