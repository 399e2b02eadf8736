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

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codec/frame.h"
#include "journal/frame_record.h"
#include "model/records.h"

namespace tracker::internal {

class WriterDb {
 public:
  // A new database in `run_path` for `identity`. kExists if it is there.
  static Result<std::unique_ptr<WriterDb>> create(const std::string& run_path, const WriterIdentity& identity);
  // The database of a dead writer, for recovery; created if its writer died before the first commit.
  static Result<std::unique_ptr<WriterDb>> open_or_create(const std::string& run_path, const WriterIdentity& identity);
  ~WriterDb();  // closes without finish(): the WAL stays
  WriterDb(const WriterDb&) = delete;
  WriterDb& operator=(const WriterDb&) = delete;

  const std::string& path() const;
  uint64_t last_seq() const;                           // of the newest committed frame, 0 before the first
  const std::vector<RingPosition>& positions() const;  // committed
  uint64_t points_stored() const;
  uint64_t bytes_stored() const;  // of frames

  // Appends the frames in one transaction and commits. `durable`: with fsync (synchronous=FULL), which makes all
  // earlier commits durable too. Frames with seq <= last_seq() are skipped. On failure nothing of the call is stored
  // and the same call may be repeated; after an I/O error the connection is reopened by itself. Positions of
  // `retired` nonces are removed.
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {});
  Status append(const std::vector<FrameRecord>& frames, bool durable, const std::vector<uint64_t>& retired = {});
  // Writes the time of the last sign of life (each 15 s; readers on other hosts go by it).
  Status heartbeat(int64_t now_us);
  // Checkpoints, sets journal_mode=DELETE, releases the locks, closes: the run is plain files. Waits at most
  // `timeout_ms` for readers; on kTimeout or kBusy the data is safe in the WAL and the next reader or recovery
  // finishes the job.
  Status finish(int timeout_ms = 2000);

 private:
  struct Impl;
  explicit WriterDb(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
