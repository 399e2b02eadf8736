// SPDX-License-Identifier: MIT
// What a recovery would find in a journal behind what is stored. Private to recovery and to what counts without it.
// Threads: any. Cost: reads the journal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "journal/dead/dead_journal.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

// More frames than this are not taken for missing between two of a spill file: the number is damage.
constexpr uint64_t kSpillGapFramesMax = 65'536;

// How often the journal of a live process is looked at: again when it has left a ring or used its spill file meanwhile,
// which it does when a ring has become too small and when the disk takes nothing.
constexpr int kJournalLooksMax = 4;

// Frames from the spill file that the database does not have.
struct MissingFrames {
  std::vector<FrameRecord> frames;      // as they were spilled
  bool has_gap = false;                 // numbers are missing in front of one of them: what those held may be lost
  std::vector<RingPosition> positions;  // behind them all
  std::string problem;                  // what a gap means here; empty without one
};
// `last_seq` and `positions`: of the database. A gap in the sequence ends the frames where the rings still have all
// that lies behind it; else what the spill file has behind it is taken, for it is nowhere else. A database without any
// frame may be one made anew, in the place of one that somebody removed: a sound spill file begins where that one
// ended. A live writer that was recovered all the same may have spilled frames under numbers that the recoverer has
// given away, or that hold what it has read from the rings: the stored positions tell.
MissingFrames missing_frames(const DeadJournal& journal, uint64_t last_seq, std::vector<RingPosition> positions);

// What the program has logged of a frame; nothing of one that cannot be decoded. `series`: in the order of their ids.
Logged logged_in(const FrameRecord& record, const std::vector<SeriesDef>& series);

// What a recovery would store behind what `stored` says.
struct Behind {
  Logged logged;
  std::map<uint32_t, uint64_t> points;                         // by series
  std::map<std::pair<uint32_t, LossReason>, uint64_t> losses;  // by series, kTextLosses and kEntryLosses too
  std::optional<int64_t> step_max;                             // of rows, texts and media
};
Behind behind(const WriterSnapshot& stored, DeadJournal* journal);
Logged logged_behind(const WriterSnapshot& stored, DeadJournal* journal);

// What finish() has said of a writer whose process ended before a disk took it; nothing where its journal does not say,
// is not this store's, or may be written by others. Cost: reads the journal's definitions.
std::optional<WriterEnd> end_in_journal(const WriterIdentity& writer, const std::string& store_path);

}  // namespace tracker::internal
