// SPDX-License-Identifier: MIT
// Reads what one writer has recorded, live or not: all parts of its files (storage/database/writer_parts.h) as one log.
// Of frames that two parts hold those of the later part count. What a part should hold that is gone or cannot be read
// is counted as lost. Reading never changes a file. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/log/log_visitor.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

class LogLook;  // storage/database/log_look.h

class WriterReader {
 public:
  // `path`: of any part; of a .frames file that has become a database also its former one. kNotFound, kCorrupt (no part
  // is a file of ours that can be read; names one), kVersion. On media where the WAL cannot be used the file is opened
  // immutable and `notice` says so. Cost: one listing of the folder.
  static Result<std::unique_ptr<WriterReader>> open(const std::string& path, std::string* notice = nullptr);
  ~WriterReader();
  const std::string& path() const;         // of the first part that is there
  const WriterIdentity& identity() const;  // as of open(), without what it says of a part; it never changes

  Result<WriterSnapshot> snapshot();
  // Hands the log after `at` to the visitor, in order, up to `end`, which is the last_seq and the points of a snapshot;
  // `at` moves with it. What fails its CRC is named in `damage` (file, which one, what) and skipped; the rest
  // is read. The visitor runs within a read transaction, so it must not wait for anything.
  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage = nullptr);
  // The last place up to and with frame `seq` from which read() may begin: where a segment holds it, before that
  // segment.
  Result<LogPosition> place_of(uint64_t seq);
  // For readers that need not all of the log. Null: a part is a .frames file, which has no segments, or holds frames
  // that the next one has too.
  Result<std::unique_ptr<LogLook>> look();

 private:
  struct Impl;
  explicit WriterReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
