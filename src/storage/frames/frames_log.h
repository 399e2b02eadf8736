// SPDX-License-Identifier: MIT
// The totals of the records of a frames file, without the rows: its writer, newest frame and ring positions. Writer,
// recoverer, builder and reader all use it. Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "storage/frames/frames_format.h"
#include "storage/log/ring_positions.h"

namespace tracker::internal {

struct FramesTotals {
  std::optional<WriterIdentity> identity;
  uint64_t last_seq = 0, points = 0, frames = 0, frame_bytes = 0;
  int64_t heartbeat_us = 0;
  std::vector<RingPosition> positions;
};

// Adds `entry`. Returns the view of a frame after last_seq, which is valid as long as entry.body; nothing for other
// records and for a repeated frame. kCorrupt: the CRC is right but the record cannot be decoded; nothing was added.
// kVersion: of a newer version.
Result<std::optional<FrameView>> add_entry(const Id128& writer, const FramesEntry& entry, FramesTotals* totals);

// An open file, its present size and the writer in its header.
struct FramesInput {
  Fd fd;
  uint64_t size = 0;
  uint64_t inode = 0;
  Id128 writer;
};
// kNotFound, kCorrupt, kVersion, kIo; all name the file.
Result<FramesInput> open_frames(const std::string& path, int flags);

}  // namespace tracker::internal
