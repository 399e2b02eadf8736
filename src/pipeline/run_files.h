// SPDX-License-Identifier: MIT
// The files that a run's frames go into: opens the run's folder and the part of the database (or the .frames file) in
// it, appends to it, closes it; after a change of the part it reads what the part holds (storage/log/part_change.h).
// Threads: one at a time (the store thread), but folder(), durable_seq() and opened(). Cost: blocks on the disk.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/store_schedule.h"
#include "pipeline/store_target.h"
#include "pipeline/warnings.h"
#include "storage/log/writer_snapshot.h"
#include "storage/store/store.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {

// The part that this writer has left, until the next one is planned.
struct LeftPart {
  PartChange change = PartChange::kNone;
  std::string path;
  std::vector<FrameRecord> again;  // committed frames that the next part stores again
  uint64_t seq = 0;                // number of the newest frame that stays in this part
};

// What the parts up to the one that was left hold.
struct LeftFiles {
  int next = 0;  // number of the next part
  WriterSnapshot there;
  bool foreign = false;       // another process has stored frames of this writer
  std::vector<Event> stored;  // events that it stored and that were in no ring
};

class RunFiles {
 public:
  RunFiles(WriterIdentity identity, StoreTarget target, Warnings* warnings);

  // --- any thread ---------------------------------------------------------------------------------------------------
  // The run's folder, once the store could be opened: where it could not when the run began, its label may have been
  // taken meanwhile. Null before. What it points to lives as long as this.
  const RunFolder* folder() const { return folder_.load(std::memory_order_acquire); }
  // The frames up to this one are fsynced, so they may be sent; it never falls.
  uint64_t durable_seq() const { return durable_seq_.load(std::memory_order_acquire); }
  struct Opened {
    StoreFilesChoice files;
    int parts = 0;  // files the database has gone on in; 0: none was opened yet
  };
  Opened opened() const;

  // --- the run ------------------------------------------------------------------------------------------------------
  const std::string& store_path() const { return target_.store_path; }
  const std::string& waiting() const { return target_.waiting; }
  bool is_run_known() const { return !target_.find_run; }
  // The identity with the run that the store has for this rank; nothing while it is not there.
  std::optional<WriterIdentity> find_run();
  void set_run(const WriterIdentity& identity);
  std::string run_path() const;  // whether it is there or not

  // --- the part that is written -------------------------------------------------------------------------------------
  // Opens it where it is not open. `committed`: number of the newest frame that was stored.
  Status open(uint64_t committed, const DiskGate& gate);
  bool is_open() const { return part_ != nullptr; }
  WriterStore* part() { return part_.get(); }  // null: not open
  PartChange change() const { return part_ ? part_->change() : PartChange::kNone; }
  void drop() { part_.reset(); }  // whatever it was in the middle of; the file holds what is committed
  // The first frames of a new part, then `frames`.
  Status append(std::vector<const FrameRecord*> frames, bool durable, const std::vector<uint64_t>& retired);
  bool begins_part() const { return !first_frames_.empty(); }  // these are not stored yet
  // Writes run.json again where another program has removed it, `now` or when the last check was a second ago.
  void keep_run_file(bool now);
  // After the last frame: turns it into plain files. Not ok: it is closed, or has changed.
  Status finish();

  // --- from one part to the next ------------------------------------------------------------------------------------
  const LeftPart& left() const { return left_; }
  bool has_left() const { return left_.change != PartChange::kNone; }
  // The part that is written has changed: its connection is not used again.
  void leave_part(uint64_t committed);
  // What the parts hold. Errors: they cannot be read now, or there are too many.
  Result<LeftFiles> read_left(uint64_t committed) const;
  // Up to where frames that are committed hold the rings.
  const std::vector<RingPosition>& positions() const { return positions_; }
  void set_positions(std::vector<RingPosition> positions) { positions_ = std::move(positions); }
  // open() opens the next part from now on; `first` are its first frames.
  void begin_part(int number, const PartsBefore& before, std::vector<FrameRecord> first);

 private:
  void publish_folder(const RunFolder& folder);

  WriterIdentity identity_;
  StoreTarget target_;
  Warnings& warnings_;
  std::unique_ptr<WriterStore> part_;
  int number_ = 1;  // of the part that is written
  PartsBefore before_;
  LeftPart left_;
  std::vector<std::string> pinned_parts_;
  std::vector<FrameRecord> first_frames_;  // of a next part
  std::vector<RingPosition> positions_;
  TimePoint next_run_file_check_;
  std::vector<std::unique_ptr<const RunFolder>> folders_;  // each that folder() has named
  std::atomic<const RunFolder*> folder_{nullptr};
  std::atomic<uint64_t> durable_seq_{0};
  mutable std::mutex mutex_;
  Opened opened_;  // guarded by mutex_
};

// Too large for a ring, or recorded by the writer itself. The end is not among them: each last drain has it.
bool is_in_no_ring(const Event& event);

// "<file> was removed; the run continues in part 2 of this writer's files: …", for a warning.
std::string part_change_line(const LeftPart& left, int next, const Logged& gone);

}  // namespace tracker::internal
