// SPDX-License-Identifier: MIT
// Replays a dead writer's journal into its store: frames with the content of spill file and rings, and counts of what
// is in neither. Threads: any. Cost: blocks on the disk.
#pragma once

#include <string>

#include "base/status.h"
#include "journal/dead/dead_journal.h"
#include "storage/log/writer_store.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct RecoveredWriter;  // recovery.h

// Replays everything; the caller removes the journal, in `dir`, only after this returned ok. If the process is killed
// at any point, the next one stores the same rows and sums. `stored`: the state before; if nothing is left to replay,
// its end, or the note of an earlier recoverer, is kept. What is lost is added to `out` and to the problems of the
// journal. `stored_seq`: the newest frame of the files, without those with which recovery has started a new part.
Status replay(const std::string& dir, DeadJournal* journal, WriterStore* db, const WriterSnapshot& stored,
              uint64_t stored_seq, RecoveredWriter* out);

}  // namespace tracker::internal
