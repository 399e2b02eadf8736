// SPDX-License-Identifier: MIT
#include "server/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/clock.h"
#include "query/runs/runs_query.h"
#include "storage/recovery/recovery.h"

namespace tracker::internal {
namespace {

// A hash of the run's fields in a list; for a run that grows these numbers change.
uint64_t hash_of(const CatalogRecord& record) {
  std::string text = fmt::format("{} {} {} {} {} {} ", static_cast<int>(record.state), record.ended_us, record.points,
                                 record.dropped, record.last_seen_us, record.detail);
  text += record.name;
  text += encode_cbor(record.attributes);
  const Id128 hash = Id128::hash_of(text);
  uint64_t out = 0;
  for (size_t i = 0; i < sizeof out; ++i) out = out << 8 | hash.bytes[i];
  return out;
}

// "<epoch>-<number>"
std::optional<std::pair<uint64_t, uint64_t>> parse_cursor(std::string_view text) {
  uint64_t epoch = 0, number = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, epoch, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, number);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return std::pair(epoch, number);
}

}  // namespace

Status Changes::look(RunIndex* runs) {
  const int64_t now_ns = monotonic_ns();
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kChangesNs) return {};
  if (recovered_ns_ == 0 || now_ns - recovered_ns_ > kRecoverNs) {
    (void)recover_dead_writers(store_);
    recovered_ns_ = now_ns;
  }
  const auto list = query_runs(store_, {});
  if (!list.ok()) return list.status();
  std::map<Id128, Seen> seen;
  bool is_new = false;
  for (const RunRow& row : list->rows) {
    const RunIdentity& run = row.record.identity;
    Seen one{run.project, hash_of(row.record), 0};
    const auto known = seen_.find(run.uid);
    if (known == seen_.end()) runs->note(row.run_folder());
    is_new = is_new || known == seen_.end();
    one.changed = known != seen_.end() && known->second.hash == one.hash ? known->second.changed : ++number_;
    seen.insert_or_assign(run.uid, std::move(one));
  }
  if (is_new || seen.size() != seen_.size()) projects_changed_ = ++number_;
  seen_ = std::move(seen);
  looked_ns_ = monotonic_ns();
  return {};
}

Result<ChangedRuns> Changes::since(std::string_view cursor, std::string_view project, RunIndex* runs) {
  const auto parsed = parse_cursor(cursor);
  if (!cursor.empty() && !parsed) return Status(Code::kInvalid, "no cursor of this path");
  const std::lock_guard lock(mutex_);
  TRACKER_RETURN_IF_ERROR(look(runs));
  ChangedRuns out;
  uint64_t from = number_;
  if (parsed) from = parsed->first == epoch_ ? parsed->second : 0;
  std::vector<std::pair<uint64_t, Id128>> changed;
  for (const auto& [uid, one] : seen_)
    if (one.changed > from && (project.empty() || one.project == project)) changed.emplace_back(one.changed, uid);
  std::sort(changed.begin(), changed.end());
  out.has_more = changed.size() > kChangedRunsMax;
  if (out.has_more) changed.resize(kChangedRunsMax);
  for (const auto& [number, uid] : changed) out.runs.push_back(uid);
  out.projects = projects_changed_ > from;
  out.cursor = fmt::format("{:x}-{}", epoch_, out.has_more ? changed.back().first : number_);
  return out;
}

}  // namespace tracker::internal
