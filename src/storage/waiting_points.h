// SPDX-License-Identifier: MIT
// What a recovery would find in a journal behind what is stored. Private to recovery and to what counts without it.
// Threads: any. Cost: reads the journal.
#pragma once

#include <cstdint>
#include <vector>

#include "journal/dead_journal.h"
#include "storage/writer_reader.h"

namespace tracker::internal {

// Frames from the spill file that the database does not have. A gap in the sequence ends them: what follows would be
// read again from the rings under the same number. A database without any frame may be one made anew, in the place of
// one that somebody removed: the spill file begins where that one ended. A live writer that was recovered all the same
// may have spilled frames under numbers that the recoverer has given away, or that hold what it has read from the
// rings: the stored positions tell, and those that are missing get the numbers that come next.
std::vector<FrameRecord> missing_frames(const DeadJournal& journal, uint64_t last_seq,
                                        std::vector<RingPosition> positions);

// Nothing of a frame that cannot be decoded.
Logged logged_in(const FrameRecord& record);

// What a recovery would store behind what `stored` says.
Logged logged_behind(const WriterSnapshot& stored, DeadJournal* journal);

}  // namespace tracker::internal
