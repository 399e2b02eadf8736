// SPDX-License-Identifier: MIT
#include "query/tail/tail.h"

#include "query/view/environment.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "query/rows/gather.h"

namespace tracker::internal {
namespace {

std::set<std::string> names_of(const TailQuery& query) { return {query.metrics.begin(), query.metrics.end()}; }

uint64_t hash_of(const TailQuery& query) {
  std::string text;
  for (const std::string& name : names_of(query)) text += name + '\n';
  const Id128 hash = Id128::hash_of(text);
  uint64_t out;
  std::memcpy(&out, hash.bytes.data(), sizeof out);
  return out;
}

std::vector<const MetricInfo*> wanted_metrics(const std::vector<MetricInfo>& metrics, const TailQuery& query) {
  const std::set<std::string> names = names_of(query);
  std::vector<const MetricInfo*> out;
  for (const MetricInfo& metric : metrics)
    if (names.empty() ? !is_system_series(metric.name) : names.contains(metric.name)) out.push_back(&metric);
  return out;
}

// A cursor that could not be read again is none.
Status check_size(const TailCursor& cursor) {
  constexpr size_t kWriterBytesMax = 64;  // as digits
  if (kWriterBytesMax * (cursor.writers.size() + 1) <= kTailCursorBytesMax) return {};
  return Status(Code::kLimit, "too many writers for one cursor");
}

}  // namespace

Status check_tail(const RunView& run, const TailQuery& query, const TailCursor& cursor) {
  if (query.rows_max == 0) return Status(Code::kInvalid, "limit: at least one row");
  if (cursor.run != run.identity().uid) return Status(Code::kInvalid, "the cursor is of another run");
  if (cursor.selection != hash_of(query))
    return Status(Code::kInvalid, "the cursor was made for other series; ask for the same ones");
  return {};
}

TailCursor tail_begin(const RunView& run, const TailQuery& query) {
  TailCursor out;
  out.run = run.identity().uid;
  out.selection = hash_of(query);
  return out;
}

TailCursor tail_end(const RunView& run, const TailQuery& query) {
  TailCursor out = tail_begin(run, query);
  for (const WriterSnapshot& writer : run.writers()) out.writers[writer.identity.writer] = writer.end_of_log();
  return out;
}

Result<TailCursor> tail_back(RunView* run, const TailQuery& query, uint64_t frames) {
  TailCursor out = tail_begin(*run, query);
  for (size_t i = 0; i < run->writers().size(); ++i) {
    const WriterSnapshot& writer = run->writers()[i];
    if (writer.last_seq <= frames) continue;
    auto place = run->reader(i)->place_of(writer.last_seq - frames);
    if (!place.ok()) return place.status();
    if (place->seq > 0) out.writers[writer.identity.writer] = *place;
  }
  return out;
}

Result<TailBatch> read_tail(RunView* run, const TailQuery& query, TailCursor* cursor) {
  TRACKER_RETURN_IF_ERROR(check_tail(*run, query, *cursor));
  const std::vector<MetricInfo>& metrics = run->stored_metrics();
  const std::vector<const MetricInfo*> wanted = wanted_metrics(metrics, query);
  const std::vector<WriterSnapshot>& writers = run->writers();
  TailCursor next = *cursor;
  std::vector<size_t> with_news;
  for (size_t i = 0; i < writers.size(); ++i)
    if ((!query.takes || query.takes(writers[i].identity)) &&
        writers[i].last_seq > next.writers[writers[i].identity.writer].seq)
      with_news.push_back(i);
  Gatherer gatherer(wanted);
  std::vector<LogDamage> damage;
  TailBatch out;
  Status status;
  for (size_t k = 0; k < with_news.size() && status.ok(); ++k) {
    const WriterSnapshot& writer = writers[with_news[k]];
    LogPosition& at = next.writers[writer.identity.writer];
    // What a writer leaves of its share goes to the writers after it.
    const uint64_t left = query.rows_max - std::min(query.rows_max, gatherer.rows());
    const uint64_t share = std::max<uint64_t>(1, left / (with_news.size() - k));
    status = gatherer.read_log(writer, run->reader(with_news[k]), &at, gatherer.rows() + share, &damage);
    out.more |= at.seq < writer.last_seq;
  }
  run->note_damage(std::move(damage));
  TRACKER_RETURN_IF_ERROR(status);
  out.rows = gatherer.rows();
  std::vector<History> rows = gatherer.take();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (rows[i].size() > 0) out.metrics.push_back({wanted[i]->name, std::move(rows[i])});
  TRACKER_RETURN_IF_ERROR(check_size(next));
  *cursor = std::move(next);
  return out;
}

}  // namespace tracker::internal
