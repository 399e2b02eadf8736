// SPDX-License-Identifier: MIT
// Reads a writer's log as units of an upload: whole frames and whole segments, as stored. Threads: one at a time. Cost:
// each read is a few read transactions of at most kLogRoundNs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/writer/batch.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct StoredUnit {
  BatchUnitKind kind = BatchUnitKind::kFrame;
  uint64_t first = 0, last = 0;
  uint64_t points = 0;
  std::string bytes;
};

struct UnitList {
  std::vector<StoredUnit> units;  // in order, without overlap
  uint64_t bytes = 0;
  uint64_t points_lost = 0;  // of frames and segments in this range that cannot be read
  bool names_files = false;  // an event of a frame names a file or an artifact, or a segment may contain such an event
  bool at_end = false;       // nothing is left up to the requested number
};

class UnitReader {
 public:
  explicit UnitReader(std::unique_ptr<WriterReader> reader) : reader_(std::move(reader)) {}
  WriterReader& reader() { return *reader_; }

  // Units with numbers above `after`, up to `up_to`, until there are `bytes_max` bytes (one unit may be longer) or
  // `units_max` units. A segment may start at or before `after`, and may end after `up_to` if it was made meanwhile:
  // what is in a segment is durable.
  Result<UnitList> read(uint64_t after, uint64_t up_to, size_t bytes_max, size_t units_max);

 private:
  const std::unique_ptr<WriterReader> reader_;
  LogPosition at_;
  bool placed_ = false;
};

}  // namespace tracker::internal
