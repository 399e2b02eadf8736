// SPDX-License-Identifier: MIT
// The database of one writer, open for writing: <run>/<writer>.db (docs/formats/database.md). Only one process ever
// writes it.
//
// Frames are appended in transactions; each also stores the ring positions up to which it has the rings' content, so
// that a COMMIT alone releases the rings (design 2). While the database is open for writing, OFD read locks on
// descriptors of our own prevent a second SQLite copy in this process from deleting the WAL (design 3). Threads: one at
// a time (the store thread).
// Cost: append blocks on the disk; never called by a thread that logs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/log/writer_store.h"

namespace tracker::internal {

// at this size of a WAL that a reader holds, the writer leaves the part
// Limit: bytes of a WAL that a reader keeps from being emptied. Beyond it: the writer continues in the next part.
constexpr uint64_t kWalBytesMax = 256ull << 20;
uint64_t wal_bytes_max();
void set_wal_bytes_max_for_testing(uint64_t bytes);

class WriterDb : public WriterStore {
 public:
  // Creates a database in `run_path` for `identity`, which includes the number of the part (writer_parts.h). kExists if
  // it exists.
  static Result<std::unique_ptr<WriterDb>> create(const std::string& run_path, const WriterIdentity& identity);
  // The same, or opens the existing one. kCorrupt if that cannot be read as it was written.
  static Result<std::unique_ptr<WriterDb>> open_or_create(const std::string& run_path, const WriterIdentity& identity);
  // A file that no other process knows yet (create_detached_database): no WAL, no locks, nothing is durable; finish()
  // only completes its tables.
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

  // One transaction; `durable`: synchronous=FULL. After a failure nothing of the call is stored; after an I/O error the
  // connection is reopened automatically.
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {}) override;
  Status append_segment(std::string_view bytes) override;
  Status heartbeat(int64_t now_us) override;
  void keep_heartbeat() override;
  void set_cost(const std::string& cbor) override;
  bool compact(uint64_t up_to) override;  // a step of compaction.h
  bool compaction_due(uint64_t up_to) const override;
  // All steps that are due, without a time limit: for files that no process waits for. `at_end`: nothing more will be
  // added.
  Status compact_all(bool at_end);
  void set_disk_gate(const DiskGate& gate) override;
  void shrink() override;
  // Compacts for at most kCompactAtEndNs, checkpoints, sets journal_mode=DELETE, releases the locks, closes: the run is
  // plain files. Waits at most `timeout_ms` for readers; after kTimeout or kBusy the data is safe in the WAL and the
  // next reader or recovery completes this.
  Status finish(int timeout_ms = 2000) override;

 private:
  struct Impl;
  explicit WriterDb(std::unique_ptr<Impl> impl);
  static Result<std::unique_ptr<WriterDb>> open_there(const std::string& path, const WriterIdentity& identity);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
