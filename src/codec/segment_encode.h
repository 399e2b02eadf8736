// SPDX-License-Identifier: MIT
// Writes a segment from gathered rows. Threads: pure function. Cost: some tens of nanoseconds a value. Memory: the
// segment, and 8 bytes a row of one shape.
#pragma once

#include <string>

#include "codec/segment_rows.h"

namespace tracker::internal {

struct SegmentParts {
  Id128 writer;
  std::vector<SegmentFrame> frames;
  SegmentLog log;
  SegmentRows rows;
  SegmentTimes times;  // of the rows and the log: set by encode_segment()
};

// For at least one frame. Sorts the rows. kLimit if the segment would be larger than kSegmentBytesMax.
Result<std::string> encode_segment(SegmentParts* parts);

}  // namespace tracker::internal
