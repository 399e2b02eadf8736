// SPDX-License-Identifier: MIT
// The positions up to which the rings of a journal are stored in a log, one for each ring. Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "journal/ring/frame_record.h"

namespace tracker::internal {

// Replaces the position of that ring, or adds it.
void set_position(const RingPosition& position, std::vector<RingPosition>* all);
// Removes the positions of the rings with these nonces.
void drop_positions(const std::vector<uint64_t>& nonces, std::vector<RingPosition>* all);

}  // namespace tracker::internal
