// SPDX-License-Identifier: MIT
// Reads the records of rings, live or left by a dead process, merges them by time and feeds a FrameBuilder.
// Threads: one a reader. Cost: one pass over the bytes, each record verified by its CRC.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "journal/ring/frame_builder.h"
#include "journal/ring/ring_format.h"

namespace tracker::internal {

// Wall time of a tick, by interpolation between anchors (monotonic), plus the offset of the anchor before it.
class TimeLine {
 public:
  // Anchors in any order; `ticks_per_ns` is used outside of them.
  TimeLine(std::vector<TimeAnchor> anchors, double ticks_per_ns);
  int64_t wall_us(uint64_t tick) const;

 private:
  std::vector<TimeAnchor> anchors_;  // by tick
  double ticks_per_ns_;
};

// What is to be read of one ring: the bytes [from, to), both positions of whole records.
struct RingSpan {
  const RingHeader* header = nullptr;
  const char* data = nullptr;
  uint64_t data_bytes = 0;
  uint64_t nonce = 0;
  uint64_t from = 0, to = 0;
  uint64_t points = 0;   // out: values read
  bool damaged = false;  // out: a record before `to` did not verify; `from` is then before it
  uint64_t texts = 0;    // out: texts read
};

// Where reading can go on after damage at span.from: the position of the next record that verifies, or span.to. Tries
// every multiple of 8; gives up (span.to) after kResyncBytesMax of checking.
constexpr uint64_t kResyncBytesMax = 256u << 20;
uint64_t next_sound_record(const RingSpan& span);
// How many values the record at span.to has, which was written and counted, but not published: 0 for none.
uint64_t points_begun(const RingSpan& span);
// About how many values `bytes` of damaged records held: those of one record, and never less than one.
uint64_t points_in_damage(uint64_t bytes);

// Definitions and columns of a frame, about: one has as many as that and those of a call more.
constexpr size_t kSeriesAFrame = 4'096;
// Rows, and the bytes of values and events, about: likewise. All of it is far below kFrameBytesMax.
constexpr size_t kRowsAFrame = 65'536;
constexpr size_t kBytesAFrame = 4u << 20;
constexpr size_t kBytesALiveFrame = 2u << 20;  // in the user's process: what is made of it takes several times as much

// Reads at most about `rows_max` rows or `bytes_max` bytes from the spans, oldest tick first, into `builder`, and moves
// `from`; it also ends when the builder holds kSeriesAFrame. Returns false when nothing was left to read.
bool read_rings(std::vector<RingSpan>* spans, const TimeLine& times, size_t rows_max, size_t bytes_max,
                FrameBuilder* builder);

}  // namespace tracker::internal
