// SPDX-License-Identifier: MIT
// How far a reader of new rows has come, as a token that it keeps wherever it likes: printable, opaque, of a few dozen
// bytes a writer, good for as long as the run is there. Threads: values.
//
// Of each writer it holds how far its log was read (storage/log/log_visitor.h): the frame, and the points up to there,
// by which a reader finds its place in a segment that has taken the place of the frames. So compaction neither repeats
// a row nor loses one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {

// Limit: bytes of the cursor of a tail, 65,535 writers. Beyond it: an error.
constexpr size_t kTailCursorBytesMax = 4u << 20;

struct TailCursor {
  Id128 run;               // its uid
  uint64_t selection = 0;  // hash of the names asked for: a cursor goes on with what it was made for
  std::map<Id128, LogPosition> writers;
  bool operator==(const TailCursor&) const = default;

  // "t1." and base64url with a CRC.
  std::string token() const;
  // kInvalid: not a token, or a damaged one; kVersion: one of a newer version.
  static Result<TailCursor> parse(std::string_view token);
};

}  // namespace tracker::internal
