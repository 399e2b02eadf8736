// SPDX-License-Identifier: MIT
// The journal that a dead process left: everything needed to finish its log, read by a process that knows nothing else.
// Threads: one. Cost: reads all files into memory; holds the journal's lock for as long as the object lives.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/ring/definitions.h"
#include "journal/ring/frame_builder.h"
#include "journal/ring/frame_record.h"
#include "journal/ring/owner_lock.h"
#include "journal/ring/ring_reader.h"

namespace tracker::internal {

constexpr uint32_t kRingVersionsAhead = 15;  // a version further ahead of ours is damage, no newer one

class DeadJournal {
 public:
  // Takes the lock and reads what is there. kBusy: its process lives, or another recoverer is at work. kNotFound:
  // recovered meanwhile. kCorrupt / kVersion: named; the files are left alone. So is a journal without its lock file
  // whose process may live; when that is known to be dead, the lock file is made again. `writer`: its writer, as a
  // store says; it holds where the definitions do not verify, or are gone from beside rings, which is a problem.
  static Result<std::unique_ptr<DeadJournal>> open(const std::string& dir, const WriterIdentity* writer = nullptr);
  // The same without reading rings and spill file, which may take 24 MiB: to remove it.
  static Result<std::unique_ptr<DeadJournal>> claim(const std::string& dir, const WriterIdentity* writer = nullptr);
  // open() without the lock, to count what is there while its process may live: nothing may be removed. Databases are
  // to be asked for their positions after this, for what they have taken may be gone from here. Errors as above.
  static Result<std::unique_ptr<DeadJournal>> look(const std::string& dir, const WriterIdentity* writer = nullptr);
  ~DeadJournal();

  const WriterIdentity& identity() const { return definitions_.identity; }
  const std::vector<SeriesDef>& series() const { return definitions_.series; }
  // Sound frames of the spill file, in sequence order. Where it is damaged (a problem), some are missing between them.
  const std::vector<FrameRecord>& spilled() const { return spilled_; }
  bool spill_sound() const { return spill_sound_; }
  // About how many points were in the damaged bytes of the spill file, as its sound frames go.
  uint64_t points_in_spill_damage() const;
  // The rings that are here still have all records after these positions.
  bool rings_reach(const std::vector<RingPosition>& positions) const;
  // And no other one was spilled from: what the spill file has of it is not needed.
  bool rings_hold(const std::vector<RingPosition>& positions) const;
  // A ring has grown since it was read: its process lives, whatever became of its lock. Cost: a read(2) a ring.
  bool is_written() const;
  // Of a process that lives: rings that were read here and are gone by now, and of which `positions`, which were read
  // after that, say nothing, are stored and forgotten.
  void leave_retired_out(const std::vector<RingPosition>& positions);
  // Of a process that did not end: the contents of rings that are gone and that it was not done with are unknown. One
  // that lives, or has logged, has one at any time. Before start().
  void miss_rings();
  // The definitions that the file lacks, being damaged or gone, where `stored` has them, in order of their ids: what a
  // series is called that frames name already must not change. Before next().
  void complete_series(const std::vector<SeriesDef>& stored);
  // Begins reading the rings after `positions` (from the database, then from the spill file). Of a ring whose position
  // lies before its last lap, what was released and is stored nowhere is skipped, and what verifies of that lap is
  // read: a problem, unless `afresh`, that is where the database had no frame before, for it may be a new one.
  void start(const std::vector<RingPosition>& positions, bool afresh = false);
  // What start() has skipped: where each of these rings is read from, and about how many points lay before.
  const std::vector<RingPosition>& skipped() const { return skipped_; }
  uint64_t skipped_points() const { return skipped_points_; }
  // How much the rings have accepted, less a call that its process died in.
  Logged accepted() const;
  // Of these: points in rings that were no files, and are gone with the process.
  uint64_t accepted_unfiled() const { return largest(&RingHeader::accepted_unfiled, kLossCountMax); }
  // Texts that were too large for a ring, and waited in the memory of the process: accepted() lacks them.
  uint64_t texts_unfiled() const { return largest(&RingHeader::texts_unfiled, kLossCountMax); }
  uint64_t texts_committed() const { return largest(&RingHeader::texts_committed, kLossCountMax); }  // of these
  // accepted() has the points of rings that are gone, too, and no ring is here that cannot be read.
  bool counts_all() const;
  // That a frame of this writer was given, as rings and spill file say; 0 where neither says.
  uint64_t highest_number() const;
  void add_problem(std::string problem) { problems_.push_back(std::move(problem)); }
  // The next part into `builder`, bounded as a frame of the living writer is; false when all is read. The definitions
  // come first, in as many parts as they need: only the parts after them hold records, and move positions.
  bool next(FrameBuilder* builder, std::vector<RingPosition>* positions);
  // Once all is read into a database that had no frame before: how many points and texts beside those `recovered` the
  // journal knows to have been stored in a database that is no more. At least: rings that are gone are not counted.
  Logged removed(const Logged& recovered) const;
  const std::vector<std::string>& problems() const { return problems_; }
  // Rings whose contents are unknown: a pipe, a folder or a link in the place of the file, or a count in the header of
  // how much it has accepted that cannot be.
  uint64_t unreadable_rings() const { return unreadable_; }
  bool got_sigterm() const;  // and was to mark it: its run was preempted
  // What finish() has said, if it was called.
  const std::optional<JournalEnd>& end() const { return definitions_.end; }
  // Something could not be read: keeps the folder beside the others as damaged-<writer>, where no recoverer looks, and
  // says where. It goes when a person deletes it.
  Result<std::string> set_aside();
  // Everything is committed: unlinks the files, the lock file last.
  void remove();

 private:
  struct RingCopy;
  // A ring that could not be read, and what its header says of it.
  struct UnreadRing {
    uint64_t nonce = 0;
    uint64_t bytes = 0;
    uint64_t tail = 0, accepted = 0, texts = 0;
    uint64_t points = 0;  // lost with it, about
  };
  // Of a span: how many points its ring has accepted after where it began, where that is known, and those read.
  struct SpanAccount {
    std::optional<uint64_t> accepted;
    uint64_t read = 0;
    std::optional<uint64_t> missing;  // accepted, and neither readable nor counted as lost; known from the first damage
  };
  static Result<OwnerLock> lock_dead(const std::string& dir, const WriterIdentity& writer);
  explicit DeadJournal(std::string dir);
  void take(Definitions definitions);
  Status read_files();
  // kVersion: one that only a newer version understands. Whatever else is wrong with it is a problem, and the rest is
  // read.
  Status read_ring(const std::string& name);
  void leave_copies_out();
  void name_blank(const std::string& name);
  Status give_up(const std::string& name, const RingHeader& header, uint64_t bytes, const std::string& why);
  uint64_t points_lost(const RingSpan& span, uint64_t sound, SpanAccount* account);
  uint64_t points_readable(RingSpan span);
  void add_losses(FrameBuilder* builder, std::vector<RingPosition>* positions);
  uint64_t known_position(uint64_t name) const;
  // What each ring says of all; no count above `bound` is believed.
  uint64_t largest(std::atomic<uint64_t> RingHeader::* count, uint64_t bound) const;
  uint64_t accepted_before() const;
  uint64_t texts_before() const;
  uint64_t gone(std::atomic<uint64_t> RingHeader::* before, std::atomic<uint64_t> RingHeader::* then) const;
  bool has_ring(uint64_t nonce) const;
  static uint64_t points_accepted(const RingCopy& ring);
  void judge_counters();
  void name_unknown_series(FrameBuilder* builder);
  bool released_unknown_ = false;  // a ring has released more than the database says it has
  std::string dir_;
  std::unique_ptr<OwnerLock> lock_;
  Definitions definitions_;
  std::vector<FrameRecord> spilled_;
  uint64_t spill_damaged_bytes_ = 0;
  bool spill_sound_ = true;
  std::vector<RingPosition> skipped_;
  uint64_t skipped_points_ = 0;
  std::vector<std::unique_ptr<RingCopy>> rings_;
  std::vector<UnreadRing> unread_;
  uint64_t unreadable_ = 0;
  std::vector<uint64_t> blank_;  // rings of zeros alone: never used, unless the database knows better
  std::vector<RingSpan> spans_;
  std::vector<SpanAccount> accounts_;  // of each span
  std::unique_ptr<TimeLine> times_;
  std::vector<RingPosition> known_;
  size_t defined_ = 0;    // definitions that a part holds
  bool started_ = false;  // and the losses, after them
  SeriesTable series_;
  std::vector<std::string> problems_;
  std::set<uint32_t> unknown_;  // ids in records that no definition explains
};

// Folders under `root` that may be journals (their names are writer ids), own ones left out.
std::vector<std::string> journal_dirs(const std::string& root);
// Whether something of a writer's log is in the folder of a journal: a ring or a spill file, whatever became of `defs`.
bool holds_log(const std::string& dir);
// What processes left that died while they made a journal, when older than a minute.
std::vector<std::string> list_unborn_journals(const std::string& root);
// Removes them.
void remove_unborn_journals(const std::string& root);

}  // namespace tracker::internal
