// SPDX-License-Identifier: MIT
// Whether what a database holds was committed by its writer. A process that took the writer for dead stores frames of
// its own under the numbers that come next: the writer must not take them for its own. Threads: one at a time. Cost: a
// look at one row an append.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "journal/frame_record.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr std::string_view kReadLastSeq = "SELECT value FROM meta WHERE key='last_seq'";

class OwnCommits {
 public:
  // Frames up to this one are ours.
  void committed(uint64_t last_seq) { last_ = last_seq; }
  // Before an append, `found` being the number of the newest frame there: what lies beyond our own is ours only where
  // it is, byte by byte, what is to be stored; then a commit went through though it failed. Of a file that was just
  // opened nothing is known until the first append. kBusy: it is another process's. kCorrupt: taken_back().
  Status check(Sqlite& db, uint64_t found, std::span<const FrameRecord* const> records);
  // Within a transaction: nothing was committed since `known` was read, or went. As above. The statement is
  // kReadLastSeq.
  Status check_within(Statement& read_last_seq, uint64_t known);
  // What was committed is not there any more: kCorrupt. Somebody has put an earlier state of the file in its place, or
  // the disk has lost what it had taken.
  bool taken_back() const { return taken_back_; }
  // Somebody else's frames were seen in another way: kBusy, and from now on.
  Status leave();
  bool taken_over() const { return taken_over_; }

 private:
  std::optional<uint64_t> last_;
  bool taken_over_ = false, taken_back_ = false;
  Status go_back();
};

}  // namespace tracker::internal
