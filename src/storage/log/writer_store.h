// SPDX-License-Identifier: MIT
// The file that stores a writer's frames: a live SQLite database, or on a network or FUSE file system a .frames file
// that becomes a database when the writer ends. Exactly one process writes it. Threads: one at a time (the store
// thread). Cost: append blocks on the disk; never called by a thread that logs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "journal/ring/frame_record.h"
#include "model/records.h"
#include "storage/log/part_change.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kShrinkWait{50};
// Limit: time that finish() waits for readers in a transaction. Beyond it: all is stored; the WAL stays until `tracker
// gc`.
constexpr std::chrono::milliseconds kFinishReadersWait{500};

enum class StoreFiles { kSqlite, kFrames };

// Returns whether the disk has room for a step that writes before it frees space. Called on the store thread.
using DiskGate = std::function<bool()>;

class WriterStore {
 public:
  virtual ~WriterStore() = default;  // closes without finish(): what is committed is kept

  virtual StoreFiles kind() const = 0;
  virtual const std::string& path() const = 0;
  virtual uint64_t last_seq() const = 0;  // of the newest committed frame, including previous parts; 0: none
  // The frames up to this one are fsynced and may be sent. It does not change after a failed fsync.
  virtual uint64_t durable_seq() const = 0;
  virtual const std::vector<RingPosition>& positions() const = 0;  // committed
  virtual uint64_t points_stored() const = 0;                      // in this part
  virtual uint64_t bytes_stored() const = 0;                       // of frames
  // If neither kNone nor kPinned, each call fails from now on; also for kPinned, the writer must continue in the next
  // part.
  virtual PartChange change() const = 0;
  // After a failed fsync: the committed frames above durable_seq(), for the next part. An error if they cannot be read
  // any more.
  virtual Result<std::vector<FrameRecord>> not_durable() = 0;

  // Commits the new frames, all or none; `durable`: with an fsync that covers all earlier ones too. Frames with seq <=
  // last_seq() are skipped. After a failure repeat the same call; it stores nothing twice. Positions of `retired`
  // nonces are removed.
  virtual Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                              const std::vector<uint64_t>& retired = {}) = 0;
  // Appends a segment whose frames all come after last_seq(), in one transaction. kInvalid for files that store frames
  // only, and for a segment of another writer. Called by append_log().
  virtual Status append_segment(std::string_view bytes) {
    (void)bytes;
    return Status(Code::kInvalid, path() + " takes frames alone");
  }
  // Writes the time of the last heartbeat (every 15 s; readers on other hosts use it).
  virtual Status heartbeat(int64_t now_us) = 0;
  // Later appends do not change the heartbeat: a recoverer or a server makes them, not the writer.
  virtual void keep_heartbeat() {}
  // CBOR of the tracker's cost in its process (docs/formats/records.md): stored with the next heartbeat or durable
  // commit, if the kind of file has a place for it.
  virtual void set_cost(const std::string& /*cbor*/) {}
  // Rearranges committed frames for reading, one step a call; call it while there is nothing to commit. `up_to`: the
  // last frame that may be touched; those above the durable number may have to be stored again unchanged. Returns false
  // if nothing is left to do until more is committed. A failed step is repeated later; what is stored stays unchanged.
  virtual bool compact(uint64_t up_to) {
    (void)up_to;
    return false;
  }
  virtual bool compaction_due(uint64_t up_to) const {
    (void)up_to;
    return false;
  }
  // Compaction asks the gate before each step, also at the end. Without a gate the disk counts as having room.
  virtual void set_disk_gate(const DiskGate& /*gate*/) {}
  // Frees disk space that can be freed at once without losing data: checkpoints the WAL into its file. Waits at most
  // kShrinkWait for readers; what they hold is freed by a later call.
  virtual void shrink() {}
  // Makes the run plain files and closes them; waits at most kFinishReadersWait for readers. kTimeout or kBusy:
  // everything is stored and fsynced, the WAL remains, and checkpoint_part() removes it later.
  virtual Status finish(int timeout_ms = 2000) = 0;
  Status append(const std::vector<FrameRecord>& frames, bool durable, const std::vector<uint64_t>& retired = {}) {
    std::vector<const FrameRecord*> pointers;
    for (const FrameRecord& frame : frames) pointers.push_back(&frame);
    return append_batch(pointers, durable, retired);
  }
};

}  // namespace tracker::internal
