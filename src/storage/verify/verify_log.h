// SPDX-License-Identifier: MIT
// verify: the log of a database, frames and segments in order, each held against its row and its neighbours. Private to
// verify*.cc. Threads: one.
//
// Of a live writer the log may be compacted between two of our transactions. What was read as frames is then in a
// segment: one that ends where we are, or before, is skipped; for one that goes further the check goes back
// to after the last segment that compaction leaves alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/sqlite/sqlite.h"
#include "storage/verify/log_totals.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {

// Limit: frames in a row that a damaged table does not give. Beyond it: `verify` searches no further, and says so.
constexpr uint64_t kHoleMax = 1000;

class LogCheck {
 public:
  // `meta` as read before: of a log at rest the last word, of a live one where it was.
  LogCheck(Verifier& verifier, const DatabaseMeta& meta, bool live);

  // `at_end` runs in the transaction that has read the last row, so what it reads is of the same moment; it returns the
  // stats_seq of then.
  using AtEnd = std::function<Result<uint64_t>()>;
  Status read(Sqlite& db, const AtEnd& at_end);

  const LogTotals& totals() const { return seen_.totals; }
  // Frame that was checked; 0: none.
  uint64_t newest() const { return seen_.covered > before_ ? seen_.covered : 0; }
  // What its rows say that they hold, damaged ones too.
  uint64_t frames_said() const { return seen_.frames; }
  uint64_t points_said() const { return totals().points() + seen_.bad_points + seen_.bad_segment_points; }
  // Nothing of it is bad or missing, so that tables can be held against it.
  bool whole(const DatabaseMeta& meta) const;
  // What the pages of the file did not give, as SQLite says it; empty when all were read.
  const std::string& tree_said() const { return tree_said_; }
  // Of a damaged tree: from here on frames are there that were not checked; 0: none.
  uint64_t unread_from() const { return unread_from_; }
  // Of what is wrong: kind, what.
  std::vector<Finding> findings(const std::string& path, const DatabaseMeta& meta, bool tree_damaged) const;
  std::string intact(const DatabaseMeta& meta) const;

 private:
  struct Row {
    bool segment = false;
    uint64_t first = 0, last = 0, points = 0;
    int64_t time_first_us = 0, time_last_us = 0;
    std::string bytes;
  };
  // How far it has come. A copy is a place to go back to.
  struct Seen {
    explicit Seen(uint64_t stats_seq) : totals(stats_seq) {}
    uint64_t covered = 0;             // all sequence numbers up to here were checked
    uint64_t frame = 0, segment = 0;  // keys of the last rows of both tables
    uint64_t frames = 0;              // that these rows say they hold
    uint64_t segments_to = 0;         // the last frame of any segment
    uint64_t bad_points = 0, bad_segment_points = 0;
    NumberRanges bad, bad_segments, newer, missing, wrong_rows, overlaps;
    std::string bad_said, bad_segment_said;
    LogTotals totals;
  };

  static Row row_of(const Statement& row, bool segment);
  Status batch(Sqlite& db, const AtEnd& at_end, std::vector<Row>* rows, bool* ended);
  Status read_rows(Sqlite& db, std::vector<Row>* rows, bool* ended) const;
  Result<bool> was_overtaken(Sqlite& db) const;
  void read_singly(Sqlite& db, std::vector<Row>* rows) const;
  void search_after_hole(Sqlite& db);
  void look_outside(Sqlite& db);
  bool take_all(const std::vector<Row>& rows);
  void take(const Row& row);
  Result<FrameStats> check(const Row& row);
  void note_bad(const Row& row, const Status& status);
  NumberRanges missing(const DatabaseMeta& meta) const;

  Verifier& verifier_;
  const Id128 writer_;
  const bool live_;
  const uint64_t before_;    // the parts before this one have the frames up to here
  const uint64_t last_seq_;  // of a log at rest: nothing after it counts
  Seen seen_, saved_;
  int rewinds_ = 0;
  uint64_t stats_seq_at_end_ = 0;
  std::string tree_said_;
  uint64_t unread_from_ = 0;
  uint64_t outside_ = 0;  // rows that no reader takes
};

}  // namespace tracker::internal
