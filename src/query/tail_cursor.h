// SPDX-License-Identifier: MIT
// How far a reader of new rows has come, as a token that it keeps wherever it likes: printable, opaque, of a few dozen
// bytes a writer, good for as long as the run is there. Threads: values.
//
// Of each writer it holds the last frame that was read and, of each series, how many rows were handed out by then.
// While frames stand by themselves the former is enough. Once they are merged into a segment, where rows no longer know
// their frame, the counts say where the reader was: a segment keeps the order in which rows were logged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"

namespace tracker::internal {

constexpr size_t kTailCursorBytesMax = 4u << 20;  // of a token

struct TailCursor {
  struct Writer {
    uint64_t seq = 0;
    std::map<uint32_t, uint64_t> rows;  // by series id; 0 is not kept
    bool operator==(const Writer&) const = default;
  };
  Id128 run;               // its uid
  uint64_t selection = 0;  // hash of the names asked for: a cursor goes on with what it was made for
  std::map<Id128, Writer> writers;
  bool operator==(const TailCursor&) const = default;

  // "t1." and base64url with a CRC.
  std::string token() const;
  // kInvalid: not a token, or a damaged one; kVersion: one of a newer version.
  static Result<TailCursor> parse(std::string_view token);
};

}  // namespace tracker::internal
