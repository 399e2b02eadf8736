// SPDX-License-Identifier: MIT
// Uploads of a server: batches become durable in ingest.db, all waiting ones in one commit, and are then moved into the
// files of their runs by append_log(). At any moment, what was acknowledged is in ingest.db or in the run's files, so a
// server that is killed loses none of it; both accept a number once, so nothing is stored twice.
//
// Threads: any; units are moved by two threads of its own, and by a reader that needs a run. Lock order: load_mutex_
// before mutex_; mutex_, commit_mutex_ and read_mutex_ alone.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "server/ingest_db.h"
#include "server/run_index.h"
#include "storage/log/writer_store.h"

namespace tracker::internal {

// Limit: bytes of batches that wait in ingest.db. Beyond it: 503, the client waits.
constexpr uint64_t kIngestBytesMax = 512 << 20;
constexpr uint64_t kApplyBytesMax = 16 << 20;  // of one transaction of a run's database
// Limit: open databases of runs, and 1/20 of the descriptors. Beyond it: the one used longest ago is closed.
constexpr size_t kOpenWritersMax = 1024;
constexpr size_t kDescriptorsAWriter = 20;  // for each so many of RLIMIT_NOFILE one writer may be open
// Limit: writers that a server remembers. Beyond it: they are read again.
constexpr size_t kKnownWritersMax = 65'536;
constexpr int64_t kIdleNs = 90'000'000'000;  // after this idle time a writer's database becomes a plain file
constexpr int64_t kApplyRetryNs = 1'000'000'000;
constexpr int kAppliers = 2;

struct RejectedUnit {
  uint64_t first = 0, last = 0;
  const char* code = "";
};

struct BatchAnswer {
  uint64_t acked_seq = 0;
  std::vector<RejectedUnit> rejected;
};

class Ingest {
 public:
  // Takes the store's server.lock and moves the units of ingest.db. kBusy: another server has the store.
  static Result<std::unique_ptr<Ingest>> open(const Store& store, RunIndex* runs);
  // Completes the current move; the other units stay in ingest.db.
  ~Ingest();

  // Stores a batch; when it returns, the acknowledged units are on the disk. kCorrupt: damaged on its way; kInvalid: a
  // unit that breaks the rules, or of another run; kVersion; kLimit; kBusy: too much waits. Cost: an fsync, shared with
  // others.
  Result<BatchAnswer> post(const Id128& uid, std::string_view project, std::string_view body);
  // For each writer of the run, the highest number up to which the server has frames.
  Result<std::map<Id128, uint64_t>> acked(const Id128& uid);
  // Call before the run is read: moves its waiting units. Waits at most kStoreWaitingMs.
  void store_waiting(const Id128& uid);
  // How many units of the run are in quarantine.
  uint64_t quarantined(const Id128& uid);

 private:
  struct Writer;
  struct Job;
  using WriterPtr = std::shared_ptr<Writer>;

  Ingest(const Store& store, RunIndex* runs, IngestDb db, IngestDb reading, Fd lock);
  Status load_waiting();
  bool lacks_file(const WriterPtr& writer);
  void check_file(const WriterPtr& writer);
  Status start_again(Writer* writer, uint64_t held);
  void drop_store(Writer* writer);
  void release(const WriterPtr& writer);  // with mutex_: after `applying`
  Result<WriterPtr> find_writer(const RunFolder& run, const WriterIdentity& identity);
  void take_heartbeat(Writer* writer, int64_t said_us);
  void enqueue(const WriterPtr& writer);  // with mutex_

  Status commit(Job* job);
  Status commit_all(std::vector<Job*> jobs);
  Status stage(Job* job, std::map<Writer*, uint64_t>* acked);
  Result<bool> differs(const Writer& writer, const BatchUnit& unit);

  void apply_loop();
  void apply(const WriterPtr& writer);  // by the thread that has set `applying`
  Status apply_units(Writer* writer);
  Status append(Writer* writer, const std::vector<WaitingUnit>& units);
  Status open_store(Writer* writer);
  void close_if_ended(Writer* writer);
  void close_idle();

  const Store store_;
  RunIndex* const runs_;
  Fd lock_;
  size_t open_max_ = kOpenWritersMax;

  std::mutex load_mutex_;

  std::mutex commit_mutex_;
  std::condition_variable committed_;
  std::vector<Job*> jobs_;
  bool is_committing_ = false;
  IngestDb db_;  // of the thread that commits

  std::mutex read_mutex_;
  IngestDb reading_;

  std::mutex mutex_;
  std::condition_variable work_, applied_;
  std::map<std::pair<Id128, Id128>, WriterPtr> writers_;  // by run and writer
  std::deque<WriterPtr> queue_;
  uint64_t waiting_bytes_ = 0;
  size_t open_stores_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> appliers_;
};

}  // namespace tracker::internal
