// SPDX-License-Identifier: MIT
// What is said about a run and its writers: identity, states, events. Documents are CBOR maps (value.h); unknown keys
// are ignored and not kept. docs/formats/ lists every key. Threads: values, no sharing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "model/value.h"

namespace tracker::internal {

// Kinds of event in a frame. On disk: do not change the numbers.
enum class EventType : uint8_t {
  kConfig = 1,     // {key: path, value: v}: set one value; key "" merges a map
  kSummary = 2,    // {key: path, value: v}: an explicit summary value; value null removes it
  kText = 3,       // {key: metric, text: t}: a text logged under a metric key, with a step
  kAttribute = 4,  // {key: name|notes|tags|group|job_type, value: v}
  kNote = 5,    // {kind: "clock_step"|"recovered"|"rings_replaced"|..., ...}: something that happened to the recording
  kEnd = 6,     // {state: finished|failed|interrupted|preempted, exit_code: n, reason: t}
  kMetric = 7,  // {key: name or pattern, value: {step_metric, summary, goal}}: define_metric()
  kArtifact = 8,      // {key: use and version, value: {use, project, name, version, ...}}: artifact/lineage.h
  kConsole = 9,       // {stream, line, text, ...}: lines that the process wrote to stdout or stderr
  kEnvironment = 10,  // {key: "host" | "git" | ..., value: {...}}: what the process runs on
  kMedia = 11,        // {key: metric, value: {kind, digest, bytes, ...}}: an image and the like, with a step (media.h)
  kAlert = 12,        // {level, title, text, ...}: an alert of the run's code (model/alert.h)
};
// Of these only the number is kept beside the log.
constexpr bool is_counted(EventType type) {
  return type == EventType::kText || type == EventType::kConsole || type == EventType::kMedia ||
         type == EventType::kAlert;
}
constexpr bool is_event_type(uint8_t type) { return type >= 1 && type <= 12; }
// The key that an alert event is counted under: "" an alert, "dropped" the word that some found no room.
std::string_view alert_key(const Value& payload);

// Why points were dropped. On disk: do not change the numbers.
enum class LossReason : uint8_t {
  kRingFull = 1,      // the ring was full and the wait had ended
  kKeyLimit = 2,      // more series than the limit
  kClosed = 3,        // logged after finish()
  kTooLarge = 4,      // a call or a text larger than its limit
  kDisk = 5,          // the bound of memory was reached while the store could not be written
  kRejected = 6,      // a bad value or key: never became a point; counted apart (LossAccount.rejected_values)
  kDamaged = 7,       // accepted, but the ring's bytes did not verify when they were read
  kMaxDisk = 8,       // the store had reached max_disk
  kDevice = 9,        // it was on its way from a device: too many were, or it has not come
  kFileChanged = 10,  // stored in a file that another program removed or changed; no ring counts it
};
constexpr uint8_t kRingLossReasonLast = 9;
const char* loss_reason_text(LossReason reason);

enum class RunState : uint8_t {
  kRunning,
  kFinished,
  kFailed,
  kInterrupted,
  kPreempted,
  kCrashed,
  kLostContact,
  kDamaged
};
// An attribute of a writer: why its run is preempted unless its end says so, "SIGTERM" or "" for a call.
constexpr std::string_view kPreemptedKey = "preempted", kSigterm = "SIGTERM";
std::string preempted_payload(std::string_view why);
const char* run_state_name(RunState state);  // "running", ..., "lost contact"

// The identity of a run: runs/<project>/<id>/run.json, made once by its first writer.
struct RunIdentity {
  Id128 uid;
  std::string project;
  std::string id;          // the label, unique in its project
  int64_t created_us = 0;  // since 1970, UTC
  Value to_value() const;
  static Result<RunIdentity> from_value(const Value& value);
};

// What the parts before a further part of a writer's files hold as long as they are whole. Points are those that the
// program has logged, without samples of the system.
struct PartsBefore {
  uint64_t seq = 0;  // number of the newest frame
  uint64_t points = 0, texts = 0;
  uint64_t dropped = 0;     // points that these parts count as lost
  uint64_t log_points = 0;  // all points, as LogPosition (storage/log/log_visitor.h) counts: the part begins there
};

// A writer: one process attached to one run. Written to the definitions file and to `meta` of its database.
struct WriterIdentity {
  Id128 writer;
  RunIdentity run;
  Id128 store;                                 // identity of the store (store.json)
  std::string store_path;                      // absolute, as the writer saw it
  uint64_t store_device = 0, store_inode = 0;  // of the store's folder; 0: the store could not be made yet
  std::string run_dir;                         // folder of the run, relative to the store
  std::string journal_dir;                     // absolute; "" for private memory
  std::string journal;                         // "shm" | "disk" | "memory"
  std::string host;
  std::string boot_id;
  int64_t pid = 0;
  int64_t pid_start = 0;  // field 22 of /proc/self/stat: distinguishes a reused pid
  uint64_t pid_namespace = 0;
  int64_t image = 0;    // another after each execve of the same pid, which `pid_start` outlives; 0: not known
  int64_t attempt = 1;  // 1 for the first writer of a run, +1 for each resume or elastic restart
  // The attempt whose curve this one goes on from: 0 for the first. With a step (resume_from="run@step") rows of
  // earlier attempts after it are shadowed; without one nothing is hidden.
  int64_t continues = 0;
  std::optional<int64_t> resume_step;
  int64_t rank = 0;
  int64_t world_size = 1;
  std::string launch;     // the same for the ranks of one launch and for no other; empty where that is not known
  bool observed = false;  // a rank of ranks="observe": it records no metrics
  bool received = false;  // its frames came over HTTP: whether its process lives is judged by its heartbeat alone
  int64_t started_us = 0;
  std::string version;      // of the library
  std::string files;        // what it wrote live: "sqlite" | "frames"; "" where it never came to that, or before 0.2
  std::string file_system;  // where: "local", "NFS", "FUSE", ...
  // How many out-of-memory kills its cgroup had counted when it began, and the file of that; empty: nothing counts.
  std::string oom_file;
  int64_t oom_kills = 0;
  // Number of the part whose file holds this identity (storage/database/writer_parts.h).
  int64_t part = 1;
  PartsBefore before;  // zeros for part 1
  Value to_value() const;
  static Result<WriterIdentity> from_value(const Value& value);
};

// Whether both name one process that has not exchanged its program since (execve keeps pid and start time, and ends
// every writer all the same).
bool is_same_process(const WriterIdentity& one, const WriterIdentity& other);

// What this process can say about itself and its machine (host, boot id, pid and so on filled; the rest empty).
WriterIdentity this_process();
// Field 22 (start time in clock ticks since boot) of the text of /proc/<pid>/stat; 0 when it is not that.
int64_t pid_start_of(std::string_view stat);
// The same text of a process that has ended and that its parent has not waited for yet: it has an entry, and no thread.
bool is_zombie(std::string_view stat);

}  // namespace tracker::internal
