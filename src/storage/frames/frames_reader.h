// SPDX-License-Identifier: MIT
// Reads a .frames file while it grows, without locks. Its totals, series and attributes are kept in memory and updated
// from new records; rows are read from the file each time. Threads: one at a time. Cost: the first snapshot reads the
// whole file, later ones only new records; memory for the series, the attributes and kIndexEntriesMax offsets, whatever
// the file's size.
#pragma once

#include <memory>

#include "storage/frames/frames_log.h"
#include "storage/log/event_state.h"
#include "storage/log/series_stats.h"

namespace tracker::internal {

constexpr size_t kIndexEntriesMax = 4096;       // at this number every second one is dropped and the stride doubles
constexpr uint64_t kIndexStrideMin = 4u << 10;  // bytes

class FramesReader {
 public:
  // kNotFound, kCorrupt, kVersion, kIo name the file. Reads the header and the first record.
  static Result<std::unique_ptr<FramesReader>> open(const std::string& path);

  // The identity of the writer. If its record does not verify, only the id is known, from the header.
  const WriterIdentity& identity() const { return identity_; }
  Result<WriterSnapshot> snapshot();
  // As WriterReader::read.
  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage);
  // As WriterReader::place_of.
  Result<LogPosition> place_of(uint64_t seq);

 private:
  struct IndexEntry {
    uint64_t seq = 0, offset = 0;
  };
  // The totals of the records up to `end`.
  struct Seen {
    uint64_t end = kFramesHeaderBytes;
    uint64_t inode = 0;
    FramesTotals totals;
    SeriesMap series;
    EventState events;
    std::vector<LogDamage> damage;
    std::vector<uint64_t> damage_offsets;
    uint64_t size = 0;  // of the file: bytes after `end` are not written yet, or damage if the writer has ended
    std::vector<IndexEntry> index;
    uint64_t index_stride = kIndexStrideMin;
  };

  FramesReader(std::string path, WriterIdentity identity)
      : path_(std::move(path)), writer_(identity.writer), identity_(std::move(identity)) {}
  Result<FramesInput> open_again() const;
  Status refresh();
  Status add(const FramesEntry& entry);
  void note(uint64_t offset, Code code, const std::string& what);
  void add_to_index(uint64_t seq, uint64_t offset);
  uint64_t offset_before(uint64_t seq) const;

  const std::string path_;
  const Id128 writer_;
  const WriterIdentity identity_;
  Seen seen_;
};

}  // namespace tracker::internal
