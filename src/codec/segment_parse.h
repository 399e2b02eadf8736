// SPDX-License-Identifier: MIT
// Parses header and directory of a segment. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/segment.h"

namespace tracker::internal {

// A range of bytes of the segment with a CRC of its own.
struct SegmentPart {
  uint64_t offset = 0;  // in the segment
  uint64_t size = 0;
  uint32_t crc = 0;
};

struct SegmentBlockParts {
  SegmentPart steps, times, order;  // size 0 without them
  std::vector<SegmentPart> values;  // [series]
};

struct SegmentDirectory {
  Id128 writer;
  uint64_t first_seq = 0, last_seq = 0, frames = 0, rows = 0, points = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  SegmentPart log;
  SegmentPart frame_numbers;  // size 0: no number is missing
  SegmentPart frame_rows;
  std::vector<SegmentBlock> blocks;
  std::vector<SegmentBlockParts> parts;  // [block]
};

// Bytes of header and directory, from the first kSegmentHeaderBytes of a segment of `size` bytes. kCorrupt, kVersion.
Result<uint64_t> segment_head_bytes(std::string_view first, uint64_t size);
// `head`: at least so many bytes. Checks the CRC, and every count against the bytes before it is used.
Result<SegmentDirectory> parse_segment(std::string_view head, uint64_t size, bool check_crc = true);

}  // namespace tracker::internal
