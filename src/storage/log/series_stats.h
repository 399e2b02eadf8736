// SPDX-License-Identifier: MIT
// Computes the statistics of each series of a frame or segment, in one pass over its columns, and adds them over
// frames. The writer stores these in the table `series`; readers complete that table from later frames with the same
// code. Threads: pure functions. Cost: about a nanosecond a value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/status.h"
#include "codec/frame.h"
#include "codec/segment.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

using SeriesMap = std::map<uint32_t, SeriesStats>;  // by series id

struct FrameStats {
  SeriesMap series;  // series with rows or a definition in the frame
  uint64_t points = 0;
  int64_t time_first_us = 0;  // over rows and events; 0 if there are none
  int64_t time_last_us = 0;
};

// kCorrupt or kVersion if a column cannot be decoded. `take`: receives the series in parts, to be added by
// append_stats(); the returned `series` is empty then. Needed because one call of 262,144 keys is one frame, whose
// series would take 60 MiB at once.
using TakeSeries = std::function<void(const SeriesMap& series)>;
Result<FrameStats> compute_frame_stats(const FrameView& frame, const TakeSeries& take = {});

// The same for a segment and its log `log`. Finds everything that SegmentView::check() finds, because each column is
// decoded only once.
Result<FrameStats> compute_segment_stats(SegmentView* segment, const SegmentLog& log);

// Adds rows that were logged after those of `into`. Counts of dropped points are not changed.
void append_stats(const SeriesStats& later, SeriesStats* into);

// Adds the ids of `series` to `ids`: sorted, each once.
void add_ids(const SeriesMap& series, std::vector<uint32_t>* ids);

// Completes a snapshot that has its losses: adds the series, by id, with the losses of each.
void put_series(SeriesMap series, WriterSnapshot* out);

}  // namespace tracker::internal
