// SPDX-License-Identifier: MIT
// Reads the log of one part of a writer's database in order: frames, and the segments that have replaced some of them.
// The writer may compact meanwhile: between two transactions of the scan, frames may become a segment, and segments a
// larger one. Of a segment that starts before the position, only the content after the position is passed on.
// Threads: one at a time. Cost: no transaction is longer than kLogRoundNs and one visit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "storage/log/log_visitor.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr int64_t kLogRoundNs = 100'000'000;  // a frame or segment is always read to its end
constexpr int64_t kTransactionNsMax = 250'000'000;
static_assert(2 * kLogRoundNs <= kTransactionNsMax, "P11: no reader holds a transaction longer");
// Limit: findings of damage in one file, and missing rows of a gap. Beyond it: the rest of the file is skipped too,
// unnamed.
constexpr size_t kDamageLinesMax = 1000;

class LogScan {
 public:
  // `at` advances with the reading. `damage` may be null.
  LogScan(Sqlite* db, std::string path, const Id128& writer, LogPosition* at, std::vector<LogDamage>* damage);

  // To `end`, or until the visitor has enough.
  Status read(const LogPosition& end, LogVisitor* visitor);
  bool stopped() const { return stopped_; }

 private:
  struct SegmentRow {
    uint64_t first_seq = 0, last_seq = 0, points = 0;
  };

  Status round();
  Status list_segments(std::vector<SegmentRow>* out, bool* all) const;
  Status frames_up_to(uint64_t last);
  void frames_singly(uint64_t last);
  bool take_frame(uint64_t seq, uint64_t last, uint64_t points, std::string_view bytes);
  Status take_segment(const SegmentRow& row);
  Result<uint64_t> points_before(const SegmentRow& row) const;
  Result<bool> visit_segment(const SegmentRow& row, PointRange* wanted);
  bool time_is_up() const;  // never before the round has read something
  void report(const std::string& what, const Status& status);

  Sqlite* const db_;
  const std::string path_;
  const Id128 writer_;
  LogPosition* const at_;
  std::vector<LogDamage>* const damage_;
  LogPosition end_;
  LogVisitor* visitor_ = nullptr;
  bool stopped_ = false;
  bool points_known_;  // the position is not within a segment
  int64_t round_begun_ns_ = 0;
  LogPosition round_from_;
};

// Replaces kLogRoundNs, to test a scan whose rounds end at once.
void set_log_round_for_testing(int64_t ns);

// The last position up to and including frame `seq` at which neither a frame nor a segment is divided. `db`: the part
// that holds the next frame.
Result<LogPosition> place_in_log(Sqlite& db, uint64_t seq);

}  // namespace tracker::internal
