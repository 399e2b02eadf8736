// SPDX-License-Identifier: MIT
#include "storage/database/own_commits.h"

#include <algorithm>
#include <string_view>

namespace tracker::internal {

Result<PartChange> OwnCommits::check(Sqlite& db, uint64_t found, std::span<const FrameRecord* const> records) const {
  if (last_ && found < *last_) return PartChange::kRolledBack;
  if (!last_ && records.empty()) return PartChange::kNone;
  const uint64_t known = last_.value_or(0);
  if (found > std::max(known, records.empty() ? 0 : records.back()->seq)) return PartChange::kForeignFrames;
  for (const FrameRecord* record : records) {
    if (record->seq <= known || record->seq > found) continue;
    auto row = db.prepare("SELECT data FROM frames WHERE seq=?");
    if (!row.ok()) return row.status();
    row->bind(static_cast<int64_t>(record->seq));
    auto there = row->step();
    if (!there.ok()) return there.status();
    if (!*there || row->bytes_at(0) != std::string_view(record->bytes)) return PartChange::kForeignFrames;
  }
  return PartChange::kNone;
}

Result<PartChange> OwnCommits::check_within(Statement& read_last_seq, uint64_t known) {
  auto row = read_last_seq.step();
  if (!row.ok()) return row.status();
  const uint64_t found = *row ? read_last_seq.u64_at(0) : 0;
  read_last_seq.reset();
  return found == known ? PartChange::kNone : found < known ? PartChange::kRolledBack : PartChange::kForeignFrames;
}

}  // namespace tracker::internal
