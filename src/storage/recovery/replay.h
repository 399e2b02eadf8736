// SPDX-License-Identifier: MIT
// The replay of a dead writer's journal into its store: frames of what is in spill file and rings, and counts of what
// is in neither. Threads: any. Cost: blocks on the disk.
#pragma once

#include <string>

#include "base/status.h"
#include "journal/dead/dead_journal.h"
#include "storage/log/writer_store.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct RecoveredWriter;  // recovery.h

// Replays everything; the journal, in `dir`, is removed by the caller only after this returned ok. Who is killed
// anywhere in it leaves the next one the same rows and sums. `stored`: before; its end, or the note of an earlier
// recoverer, is not taken the place of by one that finds nothing left. What is lost is added to `out` and to the
// problems of the journal. `stored_seq`: of the newest frame that the files had, those that recovery has begun a new
// part with left out.
Status replay(const std::string& dir, DeadJournal* journal, WriterStore* db, const WriterSnapshot& stored,
              uint64_t stored_seq, RecoveredWriter* out);

}  // namespace tracker::internal
