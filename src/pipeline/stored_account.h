// SPDX-License-Identifier: MIT
// What a writer has stored, by series, and what was lost with a file that another program removed. A value; FrameQueue
// guards it.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "codec/frame.h"
#include "journal/live/journal.h"
#include "journal/ring/frame_record.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

// Points of one series in a frame.
struct SeriesPoints {
  uint32_t series = 0, points = 0;
};

// What a frame, or several, adds to an account.
struct FrameCounts {
  std::vector<SeriesPoints> points;
  uint64_t texts = 0;
  uint64_t dropped = 0;  // points that the frame counts as lost
  uint64_t bytes = 0;
};
FrameCounts counts_of(const Frame& frame);
// Of encoded frames together. One that cannot be read is left out.
FrameCounts counts_of(const std::vector<FrameRecord>& records);

struct StoredAccount {
  uint64_t points = 0, texts = 0, bytes = 0;  // points: those of samples of the system too
  uint64_t dropped = 0;                       // points that committed frames count as lost
  uint64_t points_removed = 0, texts_removed = 0;
  std::vector<uint64_t> by_series, removed_by_series;  // points
  std::set<uint32_t> sample_series;                    // the series of samples of the system

  // add() of these series cannot fail then.
  void make_room(const std::vector<SeriesPoints>& series);
  void add(const FrameCounts& frame) noexcept;
  // The frame is not stored: its points and texts are counted as removed, and those of the program as `gone`.
  void remove(const FrameCounts& frame, Logged* gone);
  // What was stored and the parts `there` do not hold any more is counted as removed. `again`: committed frames that
  // the next part stores again.
  Logged remove_gone(const WriterSnapshot& there, const FrameCounts& again);
  // Another process has stored the writer's frames: all that the parts `there` hold is stored.
  void take_over(const WriterSnapshot& there);
  // What the parts up to now should hold, by this process's own counts, which a recovery changes.
  PartsBefore before_part(uint64_t seq, const FrameCounts& again) const;

  uint64_t points_of_program() const;
  void add_to(SeriesCounts* counts) const;
};

}  // namespace tracker::internal
