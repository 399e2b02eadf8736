// SPDX-License-Identifier: MIT
// Reads what one writer has recorded, live or not: from a database in one file or several (writer_parts.h), or from a
// .frames file. No transaction is held over 250 ms (P11): frames are read in batches and each batch is its own read.
// Reading never changes the file. Threads: one at a time.
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
  // `path`: the first part of a database, or a .frames file, in whose place its database is read once that is made.
  // kNotFound, kCorrupt (not a file of ours; names it), kVersion. On media where the WAL cannot be used the file is
  // opened immutable and `notice` says so.
  static Result<std::unique_ptr<WriterReader>> open(const std::string& path, std::string* notice = nullptr);
  ~WriterReader();
  const std::string& path() const;
  const WriterIdentity& identity() const;  // as of open(); it never changes

  Result<WriterSnapshot> snapshot();
  // Hands the log after `at` to the visitor, in order, up to `end`, which is the last_seq and the points of a snapshot;
  // `at` moves with it. What fails its CRC is named in `damage` (file, which one, what) and skipped; the rest
  // is read. The visitor runs within a read transaction, so it must not wait for anything.
  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage = nullptr);
  // The last place up to and with frame `seq` from which read() may begin: where a segment holds it, before that
  // segment.
  Result<LogPosition> place_of(uint64_t seq);
  // For readers that need not all of the log. Null: of a .frames file, which has no segments.
  Result<std::unique_ptr<LogLook>> look();

 private:
  struct Impl;
  explicit WriterReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
