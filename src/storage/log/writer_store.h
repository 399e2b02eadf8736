// SPDX-License-Identifier: MIT
// The file that takes a writer's frames: a live SQLite database, or on a network or FUSE file system a .frames file
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

// Says whether the disk has room for a step that writes before it gives back. Called on the store thread.
using DiskGate = std::function<bool()>;

class WriterStore {
 public:
  virtual ~WriterStore() = default;  // closes without finish(): what is committed stays

  virtual StoreFiles kind() const = 0;
  virtual const std::string& path() const = 0;
  virtual uint64_t last_seq() const = 0;  // of the newest committed frame, of the parts before this one too; 0: none
  // The frames up to this one are fsynced: what may be sent. After a failed fsync it stays.
  virtual uint64_t durable_seq() const = 0;
  virtual const std::vector<RingPosition>& positions() const = 0;  // committed
  virtual uint64_t points_stored() const = 0;                      // in this part
  virtual uint64_t bytes_stored() const = 0;                       // of frames
  // Not kNone, or kPinned: each call fails from now on, and the writer is to continue in the next part.
  virtual PartChange change() const = 0;
  // After a failed fsync: the committed frames above durable_seq(), for the next part. Errors where they cannot be read
  // any more.
  virtual Result<std::vector<FrameRecord>> not_durable() = 0;

  // Commits the frames, all or none of what is new; `durable`: with an fsync that covers all earlier ones too. Frames
  // with seq <= last_seq() are skipped. After a failure the same call is to be repeated; it stores nothing twice.
  // Positions of `retired` nonces are removed.
  virtual Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                              const std::vector<uint64_t>& retired = {}) = 0;
  // A segment whose frames all come after last_seq(), in one transaction. kInvalid where the files take frames alone,
  // and for a segment of another writer. Called by append_log().
  virtual Status append_segment(std::string_view bytes) {
    (void)bytes;
    return Status(Code::kInvalid, path() + " takes frames alone");
  }
  // Writes the time of the last sign of life (each 15 s; readers on other hosts go by it).
  virtual Status heartbeat(int64_t now_us) = 0;
  // What is appended from here on is no sign of life of its writer: a recoverer appends it.
  virtual void for_the_dead() {}
  // CBOR of what the tracker takes from its process (docs/formats/records.md): stored with the next sign of life or
  // durable commit, where the files have a place for it.
  virtual void set_cost(std::string cbor) { (void)cbor; }
  // Rearranges what is committed for reading, a step at a time: to be called while there is nothing to commit. `up_to`:
  // only frames up to this one; those above the durable number may have to be stored again as they are. False: nothing
  // is left to be done until more is committed. A step that fails is tried again later; what is stored stays as it was.
  virtual bool compact(uint64_t up_to) {
    (void)up_to;
    return false;
  }
  virtual bool compaction_due(uint64_t up_to) const {
    (void)up_to;
    return false;
  }
  // Compaction asks the gate before each step, at the end too. Without a gate the disk always has room.
  virtual void set_disk_gate(DiskGate gate) { (void)gate; }
  // What can be given back to the disk at once without losing anything is: the WAL goes into its file. Waits at most
  // kShrinkWait for readers; what they keep stays, until the next call.
  virtual void shrink() {}
  // Turns it into plain files and closes it; waits at most kFinishReadersWait for readers. kTimeout or kBusy: all is
  // stored and fsynced, the WAL stays beside it, and settle_part() removes the WAL later.
  virtual Status finish(int timeout_ms = 2000) = 0;
  Status append(const std::vector<FrameRecord>& frames, bool durable, const std::vector<uint64_t>& retired = {}) {
    std::vector<const FrameRecord*> pointers;
    for (const FrameRecord& frame : frames) pointers.push_back(&frame);
    return append_batch(pointers, durable, retired);
  }
};

}  // namespace tracker::internal
