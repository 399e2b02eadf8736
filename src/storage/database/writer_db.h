// SPDX-License-Identifier: MIT
// The database of one writer, open for writing: <run>/<writer>.db (docs/formats/database.md). One process writes it,
// always.
//
// Frames are appended in transactions; with each go the ring positions up to which the rings are contained, so that
// the rings may be released by COMMIT alone (design 2). While it is open for writing, OFD read locks on descriptors
// of our own keep a second SQLite copy in this process from deleting the WAL (design 3). Threads: one at a time (the
// store thread).
// Cost: append blocks on the disk; never called by a thread that logs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/log/writer_store.h"

namespace tracker::internal {

// Limit: bytes of a WAL that a reader keeps from being emptied. Beyond it: the writer continues in the next part.
constexpr uint64_t kWalBytesMax = 256ull << 20;
uint64_t wal_bytes_max();
void set_wal_bytes_max_for_testing(uint64_t bytes);

class WriterDb : public WriterStore {
 public:
  // A new database in `run_path` for `identity`, the part that it says (writer_parts.h). kExists if it is there.
  static Result<std::unique_ptr<WriterDb>> create(const std::string& run_path, const WriterIdentity& identity);
  // The same, or the one that is there. kCorrupt where that cannot be read as it was written.
  static Result<std::unique_ptr<WriterDb>> open_or_create(const std::string& run_path, const WriterIdentity& identity);
  // A file that nobody else knows yet (create_detached_database): no WAL, no locks, nothing is durable; finish() only
  // completes its tables.
  static Result<std::unique_ptr<WriterDb>> open_detached(const std::string& path, const WriterIdentity& identity);
  ~WriterDb() override;  // closes without finish(): the WAL stays
  WriterDb(const WriterDb&) = delete;
  WriterDb& operator=(const WriterDb&) = delete;

  StoreFiles kind() const override { return StoreFiles::kSqlite; }
  const std::string& path() const override;
  uint64_t last_seq() const override;
  uint64_t durable_seq() const override;
  const std::vector<RingPosition>& positions() const override;
  uint64_t points_stored() const override;
  uint64_t bytes_stored() const override;
  PartChange change() const override;
  Result<std::vector<FrameRecord>> not_durable() override;

  // One transaction; `durable`: synchronous=FULL. On failure nothing of the call is stored; after an I/O error the
  // connection is reopened by itself.
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {}) override;
  Status append_segment(std::string_view bytes) override;
  Status heartbeat(int64_t now_us) override;
  void for_the_dead() override;
  void set_cost(std::string cbor) override;
  bool compact(uint64_t up_to) override;  // a step of compaction.h
  bool compaction_due(uint64_t up_to) const override;
  // All steps that are due, without a bound of time: for files that nobody waits for. `at_end`: nothing more comes.
  Status compact_all(bool at_end);
  void set_disk_gate(DiskGate gate) override;
  void shrink() override;
  // Compacts what it can in kCompactAtEndNs, checkpoints, sets journal_mode=DELETE, releases the locks, closes: the run
  // is plain files. Waits at most `timeout_ms` for readers; on kTimeout or kBusy the data is safe in the WAL and the
  // next reader or recovery finishes the job.
  Status finish(int timeout_ms = 2000) override;

 private:
  struct Impl;
  explicit WriterDb(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<WriterDb>> open_there(const std::string& path, const WriterIdentity& identity);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
