// SPDX-License-Identifier: MIT
// Uploads of a server: batches become durable in ingest.db, all that wait in one commit, and are then moved into the
// files of their runs by append_log(). What was acknowledged is in ingest.db or in the run's files at any moment, so a
// server that is killed loses none of it; both take a number once, so nothing is stored twice.
//
// Threads: any; two threads of its own move units, and a reader who wants a run. Lock order: load_mutex_ before mutex_;
// mutex_, commit_mutex_ and read_mutex_ alone.
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
constexpr size_t kDescriptorsAWriter = 20;  // of RLIMIT_NOFILE there are so many for each open writer
// Limit: writers that a server remembers. Beyond it: they are read again.
constexpr size_t kKnownWritersMax = 65'536;
constexpr int64_t kIdleNs = 90'000'000'000;  // then a writer's database becomes a plain file
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
  // Takes the store's server.lock and moves what ingest.db holds. kBusy: another server has the store.
  static Result<std::unique_ptr<Ingest>> open(const Store& store, RunIndex* runs);
  // Finishes what is being moved; the rest waits in ingest.db.
  ~Ingest();

  // Stores a batch; what the answer acknowledges is on the disk. kCorrupt: damaged on its way; kInvalid: a unit that
  // breaks the rules, or another run's; kVersion; kLimit; kBusy: too much waits. Cost: an fsync, shared with others.
  Result<BatchAnswer> post(const Id128& uid, std::string_view project, std::string_view body);
  // The highest number of each writer of the run from which frames are here.
  Result<std::map<Id128, uint64_t>> acked(const Id128& uid);
  // Before somebody reads the run: moves what waits for it. Waits at most kSettleMs.
  void settle(const Id128& uid);
  // Units that were kept aside, of the run.
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
