// SPDX-License-Identifier: MIT
// What lies behind the last sound record of a frames file: what a death has left unfinished, which goes, or a record
// that was written whole and has been damaged since, of which a copy is kept for a person. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/frames/frames_format.h"

namespace tracker::internal {

constexpr size_t kTornSectorBytes = 512;  // what of unsynced data a death of the machine takes, or leaves, as a whole

enum class FramesTail { kNone, kUnfinished, kDamaged };
// `end`: of the last sound record, as scan_frames() says. kIo. Cost: reads the record behind it.
Result<FramesTail> judge_tail(FramesBytes& bytes, uint64_t end);
std::string tail_damage_text(uint64_t size, uint64_t end);  // of kDamaged

// Where the tail of the open file, which has the name `path`, is damaged: copies its first `size` bytes to
// <writer>.frames.damaged-<16 hex> before they are cut off or unlinked. The digits follow from the tail, so that a
// recoverer which died behind this makes no second copy. kIo: nothing may be cut. Cost: reads and writes all of it.
Status keep_damaged_tail(const std::string& path, int fd, uint64_t size, uint64_t end);

}  // namespace tracker::internal
