// SPDX-License-Identifier: MIT
// verify: the table `levels` of a database, each row held against the segment that it is of.
#include <fmt/format.h>

#include <optional>

#include "base/clock.h"
#include "storage/database/levels.h"
#include "storage/database/log_scan.h"
#include "storage/database/stored_segment.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {
namespace {

class LevelCheck {
 public:
  LevelCheck(Sqlite& db, const ExpectedLevels& known) : db_(db), known_(known) {}

  Status read() {
    for (bool ended = false; !ended;) {
      TRACKER_RETURN_IF_ERROR(db_.exec("BEGIN"));
      const Status status = batch(&ended);
      if (!db_.exec("COMMIT").ok() && db_.in_transaction()) TRACKER_RETURN_IF_ERROR(db_.exec("ROLLBACK"));
      TRACKER_RETURN_IF_ERROR(status);
    }
    return {};
  }

  std::optional<Finding> newer(const std::string& path) const {
    if (newer_.empty()) return std::nullopt;
    return Finding{FindingLevel::kNewer,
                   "newer-version",
                   path,
                   fmt::format("levels of the frames {} were written by a newer version", newer_.text()),
                   "every frame and segment is read without them",
                   "update tracker"};
  }

  std::optional<Finding> finding(const std::string& path) const {
    if (bad_.empty()) return std::nullopt;
    return Finding{FindingLevel::kDamage,
                   "levels",
                   path,
                   fmt::format("levels of the frames {} are not those of their segments: {}", bad_.text(), said_),
                   "every frame and segment is read without them",
                   "charts of long series may be wrong, `export` is right; keep a copy"};
  }

 private:
  // Of one segment all levels, as they should be.
  struct Expected {
    uint64_t first_seq = 0, last_seq = 0;
    Status status;
    SegmentLevels levels;
  };

  // One transaction: as long as every reader of ours.
  Status batch(bool* ended) {
    auto known = has_levels(db_);
    if (!known.ok()) return known.status();
    *ended = !*known;
    if (*ended) return {};
    auto rows = db_.prepare("SELECT id, series, level, first_seq, last_seq, data FROM levels WHERE id>? ORDER BY id");
    if (!rows.ok()) return rows.status();
    rows->bind(id_);
    const int64_t begun = monotonic_ns();
    while (monotonic_ns() - begun < kLogRoundNs) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      *ended = !*row || rows->int_at(0) <= id_;  // a damaged tree may answer in circles
      if (*ended) return {};
      id_ = rows->int_at(0);
      const SegmentLevels::Row found{static_cast<uint32_t>(rows->int_at(1)), static_cast<int>(rows->int_at(2)),
                                     std::string(rows->bytes_at(5))};
      check(rows->u64_at(3), rows->u64_at(4), found);
    }
    return {};
  }

  void check(uint64_t first_seq, uint64_t last_seq, const SegmentLevels::Row& row) {
    if (known_.has(first_seq, last_seq, row)) return;
    if (decode_level(row.data).status().code() == Code::kVersion) {
      if (first_seq != last_newer_) newer_.add(first_seq, std::max(first_seq, last_seq));
      last_newer_ = first_seq;
      return;
    }
    if (expected_.first_seq != first_seq || expected_.last_seq != last_seq) expect(first_seq, last_seq);
    if (expected_.status.code() == Code::kNotFound) return bad(first_seq, last_seq, "there is no such segment");
    if (!expected_.status.ok()) return;  // damage of the segment has been named
    for (const SegmentLevels::Row& each : expected_.levels.rows) {
      if (each.series != row.series || each.level != row.level) continue;
      if (each.data == row.data) return;
      auto stored = decode_level(row.data);
      auto wanted = decode_level(each.data);
      if (!stored.ok()) return bad(first_seq, last_seq, stored.status().message());
      // Another version may write the same in other bytes, or in cells of another width.
      if (wanted.ok() && *wanted == coarsened(*stored, wanted->shift)) return;
      return bad(first_seq, last_seq, fmt::format("series {}: other cells than its rows have", row.series));
    }
    bad(first_seq, last_seq, fmt::format("series {} has no level {} there", row.series, row.level));
  }

  static Level coarsened(const Level& level, unsigned shift) {
    return level.shift < shift ? coarser_level(level, shift) : level;
  }

  void expect(uint64_t first_seq, uint64_t last_seq) {
    expected_ = Expected{first_seq, last_seq, {}, {}};
    auto there = db_.prepare("SELECT 1 FROM segments WHERE first_seq=? AND last_seq=?");
    if (!there.ok()) {
      expected_.status = there.status();
      return;
    }
    auto row = there->bind(static_cast<int64_t>(first_seq)).bind(static_cast<int64_t>(last_seq)).step();
    if (!row.ok() || !*row) {
      expected_.status = row.ok() ? Status(Code::kNotFound, "no such segment") : row.status();
      return;
    }
    there->reset();
    auto stored = StoredSegment::open(&db_, first_seq);
    auto levels = stored.ok() ? make_levels((*stored)->view()) : Result<SegmentLevels>(stored.status());
    if (levels.ok()) expected_.levels = std::move(*levels);
    else expected_.status = levels.status().code() == Code::kNotFound ? Status(Code::kCorrupt, "") : levels.status();
  }

  void bad(uint64_t first_seq, uint64_t last_seq, const std::string& what) {
    if (bad_.empty()) said_ = what;
    if (first_seq != last_bad_) bad_.add(first_seq, std::max(first_seq, last_seq));
    last_bad_ = first_seq;
  }

  Sqlite& db_;
  const ExpectedLevels& known_;
  int64_t id_ = INT64_MIN;
  Expected expected_;
  NumberRanges bad_, newer_;
  uint64_t last_bad_ = 0, last_newer_ = 0;
  std::string said_;
};

}  // namespace

void ExpectedLevels::add(uint64_t first_seq, uint64_t last_seq, const SegmentLevels& levels) {
  for (const SegmentLevels::Row& row : levels.rows)
    digests_[{first_seq, last_seq, row.series, row.level}] = Id128::hash_of(row.data);
}

bool ExpectedLevels::has(uint64_t first_seq, uint64_t last_seq, const SegmentLevels::Row& row) const {
  const auto at = digests_.find({first_seq, last_seq, row.series, row.level});
  return at != digests_.end() && at->second == Id128::hash_of(row.data);
}

Status verify_levels(Sqlite& db, const std::string& path, const ExpectedLevels& expected,
                     std::vector<Finding>* findings) {
  LevelCheck check(db, expected);
  const Status status = check.read();
  if (auto found = check.newer(path)) findings->push_back(std::move(*found));
  if (auto found = check.finding(path)) findings->push_back(std::move(*found));
  return status;
}

}  // namespace tracker::internal
