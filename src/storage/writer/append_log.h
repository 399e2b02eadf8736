// SPDX-License-Identifier: MIT
// Appends frames and segments that another process has made to a writer's log: recovery uses it for the frames of a
// dead process, a server and a replica for those that a client has sent. Threads: the owner of `log`. Cost: blocks on
// the disk.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/log/writer_store.h"

namespace tracker::internal {

// A frame or a segment. Both must live during the call.
struct LogUnit {
  const FrameRecord* frame = nullptr;
  std::string_view segment;  // as docs/formats/segment.md
};

struct AppendedLog {
  // Frames that were not appended because `log` has their numbers, but with other bytes. Segments, and frames that a
  // segment or an earlier part holds, are not compared.
  uint64_t differing = 0;
};

// Appends the units, whose numbers rise; gaps are allowed. Frames whose numbers `log` has are omitted: of a segment,
// the part after them is stored. Consecutive frames are one transaction, a segment is one. `durable`: with an fsync of
// all. kInvalid: a unit of another writer, or a segment for a .frames file; kCorrupt: a unit that does not verify and
// that `log` does not have; the units before it are stored.
Result<AppendedLog> append_log(WriterStore* log, std::span<const LogUnit> units, bool durable);
Result<AppendedLog> append_log(WriterStore* log, const std::vector<FrameRecord>& frames, bool durable);

}  // namespace tracker::internal
