// SPDX-License-Identifier: MIT
// Writes a segment from gathered rows. Threads: pure function. Cost: some tens of nanoseconds a value. Memory: the
// segment, and 8 bytes a row of one shape.
#pragma once

#include <string>

#include "codec/segment_rows.h"

namespace tracker::internal {

struct SegmentParts {
  Id128 writer;
  uint64_t first_seq = 0, last_seq = 0, frames = 0;
  SegmentLog log;
  SegmentRows rows;
  SegmentTimes times;  // of the rows and the log: encode_segment() says them
};

// Sorts the rows. kLimit when the segment would be larger than kSegmentBytesMax.
Result<std::string> encode_segment(SegmentParts* parts);

// As segments had them before decision 0016: they are read for ever.
void set_mini_summaries_for_testing(bool written);

}  // namespace tracker::internal
