// SPDX-License-Identifier: MIT
// What a frame or segment says of each series, in one pass over its columns, and how that adds up over frames. The
// writer keeps these in the table `series`; readers complete that table from later frames with the same code.
// Threads: pure functions. Cost: about a nanosecond a value.
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
  SeriesMap series;  // those with rows or a definition in the frame
  uint64_t points = 0;
  int64_t time_first_us = 0;  // over rows and events; 0 when there are none
  int64_t time_last_us = 0;
};

// kCorrupt or kVersion when a column cannot be decoded. `take`: gets the series in parts, which add up by
// append_stats(); then `series` of what is returned is empty. A call of 262,144 keys is one frame, and what is known of
// them takes 60 MiB at once.
using TakeSeries = std::function<void(const SeriesMap& series)>;
Result<FrameStats> compute_frame_stats(const FrameView& frame, const TakeSeries& take = {});

// The same of all its frames together; `log` is its log. With all that SegmentView::check() finds, for each column is
// decoded once.
Result<FrameStats> compute_segment_stats(SegmentView* segment, const SegmentLog& log);

// Adds rows that were logged after those of `into`. Counts of dropped points are not touched.
void append_stats(const SeriesStats& later, SeriesStats* into);

// Adds the ids of `series` to those of `ids`: sorted, each once.
void add_ids(const SeriesMap& series, std::vector<uint32_t>* ids);

// Completes a snapshot that has its losses: the series, by id, with what each lost.
void put_series(SeriesMap series, WriterSnapshot* out);

}  // namespace tracker::internal
