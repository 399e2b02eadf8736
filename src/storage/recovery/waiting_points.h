// SPDX-License-Identifier: MIT
// What a recovery would find in a journal that is not stored yet. Private to recovery and to code that counts without
// recovering. Threads: any. Cost: reads the journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "journal/dead/dead_journal.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

// A larger gap between two numbers of a spill file is damage of a number and not missing frames.
constexpr uint64_t kSpillGapFramesMax = 65'536;

// The journal of a live process is read again, up to this many times in all, if the process has left a ring or used its
// spill file meanwhile, as it does when a ring has become too small and when the disk accepts nothing.
constexpr int kJournalLooksMax = 4;

// Frames from the spill file that the database does not have.
struct MissingFrames {
  std::vector<FrameRecord> frames;      // as they were spilled
  bool has_gap = false;                 // numbers are missing before one of them: the rows of those frames may be lost
  std::vector<RingPosition> positions;  // after all of them
  std::string problem;                  // the damage that a gap means here; empty without one
};
// `last_seq` and `positions`: of the database. At a gap in the sequence the frames end if the rings have everything
// after it; else the later frames of the spill file are taken, because they are nowhere else. A database without any
// frame may be a replacement for a removed one: an undamaged spill file starts where that one ended. A live writer that
// was recovered by mistake may have spilled frames under numbers that the recoverer has used, or whose rows the
// recoverer has read from the rings: the stored positions show it.
MissingFrames missing_frames(const DeadJournal& journal, uint64_t last_seq, std::vector<RingPosition> positions);

// What the program has logged in a frame; nothing if it cannot be decoded. `series`: in the order of their ids.
Logged logged_in(const FrameRecord& record, const std::vector<SeriesDef>& series);

// What a recovery would store after the frames and positions of `stored`.
struct Unstored {
  Logged logged;
  std::map<uint32_t, uint64_t> points;                         // by series
  std::map<std::pair<uint32_t, LossReason>, uint64_t> losses;  // by series, kTextLosses and kEntryLosses too
  std::optional<int64_t> step_max;                             // of rows, texts and media
};
Unstored unstored(const WriterSnapshot& stored, DeadJournal* journal);
Logged unstored_logged(const WriterSnapshot& stored, DeadJournal* journal);

// The end that finish() has recorded for a writer whose process ended before a disk stored it; nothing if its journal
// has no end, does not belong to this store, or may be written by other users. Cost: reads the journal's definitions.
std::optional<WriterEnd> end_in_journal(const WriterIdentity& writer, const std::string& store_path);

}  // namespace tracker::internal
