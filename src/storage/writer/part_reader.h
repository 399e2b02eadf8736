// SPDX-License-Identifier: MIT
// Reads one part of a writer's files (storage/database/writer_parts.h), live or not: a database or a .frames file. Its
// counts and positions are of this part only. No transaction is held over 250 ms (P11): frames are read in batches and
// each batch is its own read. Reading never changes the file. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/log/log_visitor.h"
#include "storage/log/writer_snapshot.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

class PartReader {
 public:
  // Errors and `notice` as of WriterReader::open.
  static Result<std::unique_ptr<PartReader>> open(const std::string& path, std::string* notice = nullptr);
  ~PartReader();
  const std::string& path() const;
  const WriterIdentity& identity() const;  // as of open()
  bool is_frames() const;

  // The frames up to `up_to`; later ones are in the next part, too. kBusy: the file is written faster than it is read.
  Result<WriterSnapshot> snapshot(uint64_t up_to = UINT64_MAX);
  // That of snapshot(), mostly without one.
  Result<LogPosition> end_of_log(uint64_t up_to = UINT64_MAX);
  // As WriterReader.
  Status read(LogPosition* at, const LogPosition& end, LogVisitor* visitor, std::vector<LogDamage>* damage);
  Result<LogPosition> place_of(uint64_t seq);
  // A connection to the database.
  Result<Sqlite> connect();

 private:
  struct Impl;
  explicit PartReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
