// SPDX-License-Identifier: MIT
// An encoded frame with the ring positions up to which it and its predecessors contain the rings. It travels from the
// drain thread to the database or the spill file; ring space is released by nothing else (design 2). Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tracker::internal {

// Up to where a ring (named by its nonce) is contained. nonce | (i + 1) names loss slot i; then `position` is the count
// reported.
struct RingPosition {
  uint64_t nonce = 0;
  uint64_t position = 0;
  bool operator==(const RingPosition&) const = default;
};

struct FrameRecord {
  uint64_t seq = 0;
  std::string bytes;                    // encode_frame()
  std::vector<RingPosition> positions;  // after this frame
};

}  // namespace tracker::internal
