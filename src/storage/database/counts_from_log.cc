// SPDX-License-Identifier: MIT
#include "storage/database/counts_from_log.h"

#include <vector>

#include "storage/database/log_scan.h"
#include "storage/database/schema.h"
#include "storage/database/writer_parts.h"

namespace tracker::internal {
namespace {

constexpr int kBusyTimeoutMs = 100;  // nobody else of ours writes an earlier part

// The log of a part, or what can be read of it, added to what was read before.
Status read_part(Sqlite* from, const std::string& file, const Id128& writer, uint64_t newest, LogPosition* at,
                 CountsFromLog* out, std::vector<LogDamage>* damage) {
  LogScan scan(from, file, writer, at, damage);
  TRACKER_RETURN_IF_ERROR(scan.read({newest, 0}, &out->state));
  auto sum = from->query_int(
      "SELECT (SELECT coalesce(sum(length(data)),0) FROM frames)+(SELECT coalesce(sum(length(data)),0) FROM "
      "segments)");
  if (sum.ok()) out->frame_bytes += static_cast<uint64_t>(*sum);
  return sum.ok() || sum.status().code() == Code::kCorrupt ? Status() : sum.status();
}

}  // namespace

Result<CountsFromLog> read_counts_from_log(Sqlite* db, const std::string& base, const std::string& path, int part,
                                           const Id128& writer, uint64_t newest) {
  CountsFromLog out;
  LogPosition at;
  std::vector<LogDamage> damage;
  for (int earlier = 1; earlier < part; ++earlier) {
    const std::string file = part_path(base, earlier);
    auto from = Sqlite::open(file, SqliteOpen::kRead, kBusyTimeoutMs);
    if (!from.ok()) return from.status();
    TRACKER_RETURN_IF_ERROR(check_database(*from, file));
    const auto last = newest_frame(*from);
    if (!last.ok()) return last.status();
    TRACKER_RETURN_IF_ERROR(read_part(&*from, file, writer, *last, &at, &out, &damage));
  }
  TRACKER_RETURN_IF_ERROR(read_part(db, path, writer, newest, &at, &out, &damage));
  out.last_seq = at.seq;
  out.whole = damage.empty();
  return out;
}

}  // namespace tracker::internal
