// SPDX-License-Identifier: MIT
// Reads everything that one writer has recorded, live or not: all parts of its files (storage/database/writer_parts.h)
// as one log. For frames in two parts, those of the later part count. The content of a missing or unreadable part is
// counted as lost. Reading never changes a file. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/log/log_visitor.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

class LogIndex;  // storage/database/log_index.h

class WriterReader {
 public:
  // `path`: of any part; for a .frames file that has become a database also its former path. kNotFound, kCorrupt (no
  // part is a readable file of ours; names one), kVersion. On media where the WAL cannot be used, the file is opened
  // immutable and `notice` reports that. Cost: one listing of the folder.
  static Result<std::unique_ptr<WriterReader>> open(const std::string& path, std::string* notice = nullptr);
  ~WriterReader();
  const std::string& path() const;         // of the first existing part
  const WriterIdentity& identity() const;  // as of open(), except the number of a part; it never changes

  Result<WriterSnapshot> snapshot();
  // Passes the log after `at` to the visitor, in order, up to `end`, which is the last_seq and the points of a
  // snapshot; `at` advances with it. What fails its CRC is named in `damage` (file, which one, reason) and skipped; the
  // rest
  // is read. The visitor runs within a read transaction, so it must not wait for anything.
  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage = nullptr);
  // The last place up to and with frame `seq` from which read() may start: if a segment holds it, before that segment.
  Result<LogPosition> place_of(uint64_t seq);
  // For readers that do not need the whole log. Null: a part is a .frames file, which has no segments, or has frames
  // that the next one repeats.
  Result<std::unique_ptr<LogIndex>> log_index();

 private:
  struct Impl;
  explicit WriterReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
