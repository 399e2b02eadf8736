// SPDX-License-Identifier: MIT
// A writer's log as its readers receive it: frames, and segments that have replaced some of them. Threads: values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "codec/frame.h"
#include "codec/segment.h"

namespace tracker::internal {

// The position of a reader: all frames up to `seq` are read, and the first `points` points of the log. Points are
// counted by the columns `points` of the database, in raw order (codec/segment.h), damaged rows included. Among frames
// `seq` alone is enough. Rows of a segment no longer know their frame, so `points` gives the position in it: a segment
// holds the points of its frames in their order. A reader that stopped within a segment has a `seq` before that
// segment. A further part of a writer's files starts at its WriterIdentity.before, whether the parts before it can be
// read or not.
struct LogPosition {
  uint64_t seq = 0;
  uint64_t points = 0;
  auto operator<=>(const LogPosition&) const = default;
};

// Points [first, last) of a segment in raw order. The points of a row are never divided: a row belongs to the range in
// which it starts.
struct PointRange {
  uint64_t first = 0, last = 0;
};

// A frame, a segment or a record that could not be read: the file, which one, and the reason. kVersion: a newer version
// wrote it; else kCorrupt.
struct LogDamage {
  Code code = Code::kCorrupt;  // kOk: a loss that is included in `losses`; it is reported, and is not a problem
  std::string what;
  bool operator==(const LogDamage&) const = default;
};
// That of a failure.
inline Code damage_code(const Status& status) {
  return status.code() == Code::kVersion ? Code::kVersion : Code::kCorrupt;
}
// The code of two to report. A newer version is worse than damage: nothing is broken then, but this program's other
// results cannot be trusted.
inline Code worse_of(Code a, Code b) {
  for (const Code code : {Code::kVersion, Code::kCorrupt})
    if (a == code || b == code) return code;
  return b == Code::kOk ? a : b;
}

// Receives the log in order. An error is recorded as damage of that frame or segment, and reading continues after it.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  // False: enough, this one is done with.
  virtual Result<bool> frame(const FrameView& frame) = 0;
  // `wanted`: the part that was not read before and is not after the requested end. Returns false if the visitor has
  // enough; if it did not take all of `wanted`, it sets `last` to what it took.
  virtual Result<bool> segment(SegmentView* segment, PointRange* wanted) = 0;
};

}  // namespace tracker::internal
