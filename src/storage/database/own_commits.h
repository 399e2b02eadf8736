// SPDX-License-Identifier: MIT
// Determines whether the frames of a database were committed by its writer. Another process that considered the writer
// dead stores frames under the next numbers: the writer must not take them for its own. Threads: one at a time. Cost:
// reads one row for each append.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "journal/ring/frame_record.h"
#include "storage/log/part_change.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr std::string_view kReadLastSeq = "SELECT value FROM meta WHERE key='last_seq'";

class OwnCommits {
 public:
  // Frames up to this one are ours.
  void committed(uint64_t last_seq) { last_ = last_seq; }
  // Call before an append; `found` is the number of the newest frame of the file. A frame with a number above ours is
  // ours only if it equals one of `records` byte by byte: then an earlier COMMIT succeeded although it returned an
  // error. Of a newly opened file nothing is known until the first append. kNone, kForeignFrames or kRolledBack.
  Result<PartChange> check(Sqlite& db, uint64_t found, std::span<const FrameRecord* const> records) const;
  // Within a transaction: whether frames were added or removed since `known` was read. The statement is kReadLastSeq.
  static Result<PartChange> check_within(Statement& read_last_seq, uint64_t known);

 private:
  std::optional<uint64_t> last_;
};

}  // namespace tracker::internal
