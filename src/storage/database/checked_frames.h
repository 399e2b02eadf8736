// SPDX-License-Identifier: MIT
// Checks the frames of one append to a writer's database before its transaction starts: what cannot be stored is
// refused before anything is written. Threads: pure function. Cost: decodes each frame once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "journal/ring/frame_record.h"
#include "storage/log/series_stats.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct CheckedFrames {
  struct One {
    const FrameRecord* record;
    uint64_t points;
    int64_t time_first_us, time_last_us;
    bool has_events;  // or losses
  };
  std::vector<One> frames;
  uint64_t last_seq = 0, points = 0, bytes = 0;
  std::vector<RingPosition> positions;
};

// The frames after `last_seq`; those up to it are stored. `add_series` gets the series of each. kInvalid: a frame of
// another writer or number (the message names `path`); kCorrupt.
Result<CheckedFrames> check_frames(std::span<const FrameRecord* const> records, const Id128& writer, uint64_t last_seq,
                                   const std::string& path,
                                   const std::function<void(const SeriesMap& series)>& add_series);

// The series of the frames after `seq` in `db`. A damaged frame is skipped: readers report it, and the writer
// continues.
Status read_stats_after(Sqlite& db, uint64_t seq, const std::function<void(const SeriesMap& series)>& add_series);

}  // namespace tracker::internal
