// SPDX-License-Identifier: MIT
// A writer's log as its readers meet it: frames, and segments that have taken the place of some. Threads: values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "codec/frame.h"
#include "codec/segment.h"

namespace tracker::internal {

// How far a reader has come: all frames up to `seq` are read, and of the log's points the first `points`. These count
// by the columns `points` of the database, in raw order (codec/segment.h): what is damaged counts too. While frames
// stand by themselves `seq` says all. In a segment, where rows no longer know their frame, the points do: it holds the
// points of its frames in their order. A reader that stopped within a segment has a `seq` before it. A further part of
// a writer's files begins where its WriterIdentity.before says, whether the parts before it can be read or not.
struct LogPosition {
  uint64_t seq = 0;
  uint64_t points = 0;
  auto operator<=>(const LogPosition&) const = default;
};

// Points [first, last) of a segment in raw order. A row's points are never divided: it belongs to where it begins.
struct PointRange {
  uint64_t first = 0, last = 0;
};

// A frame, a segment or a record that could not be read: the file, which one, and what is wrong with it. kVersion: a
// newer version wrote it; else kCorrupt.
struct LogDamage {
  Code code = Code::kCorrupt;  // kOk: a loss that `losses` counts already; it is reported, and is no problem
  std::string what;
  bool operator==(const LogDamage&) const = default;
};
// That of a failure.
inline Code damage_code(const Status& status) {
  return status.code() == Code::kVersion ? Code::kVersion : Code::kCorrupt;
}
// Of two, the one that an answer goes by: a newer version outranks damage, for then nothing is broken, but this program
// must not be believed about the rest.
inline Code worse_of(Code a, Code b) {
  for (const Code code : {Code::kVersion, Code::kCorrupt})
    if (a == code || b == code) return code;
  return b == Code::kOk ? a : b;
}

// Gets the log in order. A failure is noted as damage of that frame or segment, and reading goes on after it.
class LogVisitor {
 public:
  virtual ~LogVisitor() = default;
  // False: enough, this one is done with.
  virtual Result<bool> frame(const FrameView& frame) = 0;
  // `wanted`: what was not read before and is not newer than asked for. False: enough; where not all of `wanted` was
  // taken, its `last` is set to what was.
  virtual Result<bool> segment(SegmentView* segment, PointRange* wanted) = 0;
};

}  // namespace tracker::internal
