// SPDX-License-Identifier: MIT
// The one function that appends frames and segments which another process has made to a writer's log: recovery appends
// the frames of a dead process with it, a server and a replica those that a client has sent. Threads: the owner of
// `log`. Cost: blocks on the disk.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/log/writer_store.h"

namespace tracker::internal {

// One of the two. Both must live during the call.
struct LogUnit {
  const FrameRecord* frame = nullptr;
  std::string_view segment;  // as docs/formats/segment.md
};

struct AppendedLog {
  // Frames that were left out and are not, byte by byte, what `log` has under their numbers. Segments, and frames that
  // a segment or an earlier part holds, are not compared.
  uint64_t differing = 0;
};

// Appends the units, whose numbers rise; gaps are legal. Frames that `log` has already, by their number, are left out:
// of a segment the part after them is stored. Frames that follow each other are one transaction, a segment is one.
// `durable`: with an fsync of all. kInvalid: a unit of another writer, or a segment where `log` is a .frames file;
// kCorrupt: a unit that does not verify and that `log` does not have; what came before it is stored.
Result<AppendedLog> append_log(WriterStore* log, std::span<const LogUnit> units, bool durable);
Result<AppendedLog> append_log(WriterStore* log, const std::vector<FrameRecord>& frames, bool durable);

}  // namespace tracker::internal
