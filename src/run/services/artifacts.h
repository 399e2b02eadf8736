// SPDX-License-Identifier: MIT
// Artifacts that a run logs, on their way into the store: a queue and one thread, started by the first of them. A call
// of log_artifact() gives a draft here and goes on; what becomes of it is in its LoggedArtifact. Threads: any. Nothing
// here is joined: the thread owns what it uses, and ends after close(). Memory: the drafts that wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "artifact/artifact_store.h"
#include "artifact/held_files.h"
#include "artifact/lineage.h"
#include "pipeline/warnings.h"

namespace tracker::internal {

// Limit: artifacts of a run that wait to be stored. Beyond it: log_artifact waits, then refuses, counts and names it.
constexpr size_t kArtifactsWaitingMax = 64;
// Limit: files of all artifacts that wait. Beyond it: log_artifact waits, then refuses, counts and names it.
constexpr uint64_t kArtifactFilesWaitingMax = 100'000;
// Limit: time that log_artifact waits for room. Beyond it: the artifact is refused, counted and named.
constexpr std::chrono::milliseconds kArtifactQueueWait{2000};
// Limit: names of refused artifacts that a process remembers. Beyond it: use of an older version is not reported.
constexpr size_t kRefusedNamesMax = 1000;
// Limit: refused artifacts that a run keeps with number and aliases. Beyond it: the last of each name is kept; all are
// counted.
constexpr size_t kRefusalsKeptMax = 1000;
constexpr std::chrono::milliseconds kArtifactSaidWait{5000};  // for the run to have stored that it made the version
// For the one that has all its bytes on the disk when the time of finish() is over.
constexpr std::chrono::milliseconds kArtifactNamingWait{100};
// At the end of a process they have this part of its time, and the run the rest.
constexpr int kExitArtifactsShare = 2;

// What a run says of the artifacts that this process logged: logged = stored + pending + failed.
struct ArtifactCounts {
  uint64_t stored = 0, pending = 0, failed = 0;
};

struct LogArtifactOptions {
  std::vector<std::string> aliases, tags;
  std::optional<int64_t> ttl_s;
  ArtifactUse use = ArtifactUse::kOutput;  // kInput: what the run reads, stored with it
  std::string use_as;
  // A folder of the store with files that were written for this artifact alone: removed when that is stored. May be
  // empty.
  std::string staging;
  std::shared_ptr<NameLease> held;  // that folder's name; may be null
};

// download_into_store() for a run whose store has max_disk (0: no bound). kLimit: it has no room for what is not there
// yet, and nothing was written: points would be dropped for it.
Result<DownloadReport> download_into_bounded_store(const Store& store, const ArtifactInfo& info,
                                                   const ArtifactVersion& version, const DownloadChoice& choice,
                                                   uint64_t max_disk);

// kInvalid: the part that an input plays is no label; empty is none.
Status check_use_as(std::string_view use_as);
// kInvalid, kLimit: an alias or a tag that no version takes, or a part as above.
Status check_log_artifact(const LogArtifactOptions& options);

enum class ArtifactState : uint8_t { kPending, kStored, kFailed, kNotRecorded };

// One artifact that was logged. Threads: any; in a forked child it is what it was, and wait() returns at once.
class LoggedArtifact {
 public:
  LoggedArtifact(std::string project, ArtifactDraft draft, LogArtifactOptions options);
  // Ok: it is stored, the version and that the run made it too, or nothing is recorded here. kTimeout: not yet; else
  // why it was refused.
  Status wait(std::chrono::milliseconds timeout) const;
  ArtifactState state() const;
  std::optional<ArtifactVersion> version() const;  // of one that is stored
  uint64_t files_done() const { return files_done_.load(std::memory_order_relaxed); }
  uint64_t bytes_done() const { return bytes_done_.load(std::memory_order_relaxed); }

  const std::string project, name, type;
  const uint64_t files, bytes;  // as they were named
  uint64_t max_disk = 0;        // of the run that logged it; 0: no bound
  int64_t number = 0;           // of those that this process logged under that name, from 1

 private:
  friend class RunArtifacts;
  friend class Run;
  void settle(ArtifactState state, Status status, std::optional<ArtifactVersion> version = {});
  bool forked() const;

  ArtifactDraft draft_;  // of the thread's
  const LogArtifactOptions options_;
  const uint64_t generation_;
  std::atomic<uint64_t> files_done_{0}, bytes_done_{0};
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable changed_;
  ArtifactState state_ = ArtifactState::kPending;
  Status status_;
  std::optional<ArtifactVersion> version_;
};

class RunArtifacts : public std::enable_shared_from_this<RunArtifacts> {
 public:
  struct Target {
    std::string store_path;
    RunIdentity run;
    // The one of a rank that waits for it; null: `run`. nullptr while it is not known.
    std::function<const RunIdentity*()> awaited_run = nullptr;
    uint64_t max_disk = 0;  // 0: no bound
    // Gives the run an event without waiting; then waits until what it was given is stored.
    std::function<Code(const Value& event)> note;
    std::function<bool(std::chrono::milliseconds timeout)> flush;
  };
  explicit RunArtifacts(Target target) : target_(std::move(target)) {}

  // It is pending when this returns ok. kLimit: no room in the queue within kArtifactQueueWait, or no thread; kClosed:
  // the run has ended. Refused ones are counted, said once a name, and have failed.
  Status add(const std::shared_ptr<LoggedArtifact>& artifact);
  // Takes no more, waits at most `timeout` for those that are pending, and gives up the rest: each is counted as failed
  // and named on stderr. ok: there was none.
  Status close(std::chrono::milliseconds timeout);
  // Waits for the last one of that name that is pending. kTimeout says how far it is. Ok: it is not pending any
  // more, or none was; `refused` is then whether the newest of that name was refused.
  Status wait_for(std::string_view project, std::string_view name, std::chrono::milliseconds timeout, bool* refused);
  // kTimeout says how many are pending still.
  Status wait_all(std::chrono::milliseconds timeout);
  ArtifactCounts counts() const;
  // Says a line once a topic.
  void say_once(std::string_view topic, std::string_view text) { warnings_.warn_once(topic, text); }
  // Called before an artifact is stored, and when it is, before the run says so. May be nullptr.
  void set_pause_for_testing(void (*pause)(), void (*named)() = nullptr) { pause_ = pause, named_pause_ = named; }

 private:
  Status admit(const std::shared_ptr<LoggedArtifact>& artifact);
  bool has_room(uint64_t files) const;
  void work();
  void store(LoggedArtifact* artifact);
  Result<StoredArtifact> store_now(LoggedArtifact* artifact);
  LineageEdge edge_of(const LoggedArtifact& artifact) const;
  void refuse(LoggedArtifact* artifact, const Status& status);
  void fail(LoggedArtifact* artifact);
  RunIdentity run() const;
  Status wait_for_run();

  const Target target_;
  std::atomic<void (*)()> pause_{nullptr}, named_pause_{nullptr};
  std::atomic<bool> given_up_{false};
  Warnings warnings_{target_.run};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<LoggedArtifact>> queue_;  // the first one is being stored
  uint64_t files_waiting_ = 0;
  bool has_thread_ = false, closed_ = false;
  bool naming_ = false;  // the first of the queue has all its bytes on the disk
  ArtifactCounts counts_;
  std::set<std::string, std::less<>> refused_names_;  // "project/name"; at most kRefusedNamesMax
  std::map<std::string, int64_t> logged_;             // how many of a name; at most kRefusedNamesMax
  size_t refusals_ = 0;
};

}  // namespace tracker::internal
