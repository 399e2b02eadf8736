// SPDX-License-Identifier: MIT
// Cuts a segment after any frame number, for a reader that has the frames up to a number and needs the rest. Threads:
// pure function. Cost: decodes the segment twice and encodes it once. Memory: the rows twice.
#pragma once

#include <string>

#include "codec/segment.h"

namespace tracker::internal {

struct SegmentHalves {
  std::string up_to, after;  // segments; empty if there are no such frames
};

// The frames with a number of at most `seq`, and the others. Definitions, events and losses are in the same half as the
// frame that they came with. kCorrupt, kVersion: as SegmentView::check().
Result<SegmentHalves> cut_segment(SegmentView* segment, uint64_t seq);

}  // namespace tracker::internal
