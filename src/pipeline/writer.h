// SPDX-License-Identifier: MIT
// The background half of a run, as its callers use it: a drain thread (rings -> frames), a store thread (frames ->
// SQLite or a .frames file), the queue between them and the run's files.
//
// Neither thread is ever joined: finish() waits a bounded time for them to be done, and both keep the Writer alive by
// themselves. All signals are blocked in them. Threads: public functions from any thread. Lock order: lock_order.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "journal/live/journal.h"
#include "pipeline/drain_thread.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_files.h"
#include "pipeline/store_thread.h"

namespace tracker::internal {

// Limit: time since the last commit after which status() names the container no more.
constexpr std::chrono::milliseconds kCommitLate{300};

struct WriterStatus {
  JournalCounts counts;
  uint64_t points_stored = 0, texts_stored = 0;
  uint64_t bytes_stored = 0;
  bool degraded = false;
  std::string last_error;
  // Of what was logged until now nothing waits for its commit longer than kCommitLate, nor for that and its fsync
  // longer than 3 s: the promises for container and power hold.
  bool committed_lately = false, synced_lately = false;
  std::string files;        // "sqlite", "frames"; empty before the store was opened
  std::string file_system;  // what they lie on: "NFS", "local", …
  int parts = 0;            // files the database has gone on in
  std::string gave_up;      // the run that this rank was to record into was not found: nothing is recorded any more
};

struct NamedValue {
  std::string name;  // of a series
  double value = 0;
};

class Writer : public std::enable_shared_from_this<Writer> {
 public:
  Writer(std::unique_ptr<Journal> journal, WriterIdentity identity, const StoreTarget& target);
  // Starts both threads. kIo when the system does not give two (a limit on processes): then none runs, what fits the
  // rings waits in the journal for the next command, the rest is counted, and flush() and finish() return at once.
  Status start();
  // Instead of finish(), when the run does not begin: nothing of the journal is left.
  void abandon();

  Journal* journal() { return pipeline_.journal.get(); }
  const WriterIdentity& identity() const { return identity_; }  // as the run began
  const std::string& store_path() const { return files_.store_path(); }
  const RunFolder* folder() const { return files_.folder(); }    // RunFiles::folder()
  uint64_t durable_seq() const { return files_.durable_seq(); }  // RunFiles::durable_seq()
  DiskRoom disk_room() const { return pipeline_.disk.room(); }

  // A value too large for a ring: queued in memory, committed within the next intervals. kLimit: over the bound,
  // counted; in `store_behind` whether over the one that it shares with rings and frames. `at_end`: lines of output may
  // take all of it.
  Code push_large(EventType type, std::string payload, int64_t step, bool has_step, bool at_end = false,
                  bool* store_behind = nullptr);
  // Before a file of so many bytes is written beside the databases. False: max_disk has no room for it now.
  bool take_disk(uint64_t bytes);
  bool has_large() const { return pipeline_.inbox.large_waiting() > 0; }  // some wait for the drain thread
  // From the run's monitor, any thread; nothing of it waits. Samples that find no room are recorded by a note, facts
  // are counted as entries lost. A sample is one row without a step; `payload` is that of an environment event.
  void push_sample(const std::vector<NamedValue>& values);
  void push_environment(std::string payload) { push_fact(EventType::kEnvironment, std::move(payload)); }
  void push_note(const Value& note) { push_fact(EventType::kNote, encode_cbor(note)); }
  void watch_sigterm(const SigtermMark* mark) { drain_.watch_sigterm(mark); }
  void add_monitor_cpu(uint64_t ns) { pipeline_.meter.add_monitor(ns); }

  // False at the time-out, or when `keep_waiting` returns false; it is called each kFlushAskInterval without a lock.
  bool flush(std::chrono::milliseconds timeout, const std::function<bool()>& keep_waiting = {});
  // Ends the log with `end` (CBOR of an end record), commits, turns the database into plain files. kTimeout: the
  // threads go on by themselves and the journal stays, so nothing is lost.
  Status finish(std::string end, std::chrono::milliseconds timeout);
  WriterStatus status() const;
  RunCost cost() const { return pipeline_.cost(); }
  // By series id, all of one moment: logged = stored + dropped + pending. Cost: a pass over what waits in rings and
  // queue; the drain thread waits for it.
  SeriesCounts series_counts() const;

  // For tests of F8 and F18: called by the drain and the store thread before each round.
  void set_pause_for_testing(void (*drain)(), void (*store)());

 private:
  void push_fact(EventType type, std::string payload);

  const WriterIdentity identity_;
  Pipeline pipeline_;
  RunFiles files_;
  DrainThread drain_;
  StoreThread store_;
  std::atomic<bool> samples_left_out_{false};  // some were, and the run has a note of it
};

}  // namespace tracker::internal
