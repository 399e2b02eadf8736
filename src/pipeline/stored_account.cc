// SPDX-License-Identifier: MIT
#include "pipeline/stored_account.h"

#include <algorithm>
#include <numeric>

#include "model/key.h"

namespace tracker::internal {
namespace {

void subtract(uint64_t* from, uint64_t count) { *from -= std::min(*from, count); }

void add_counts(const Frame& frame, FrameCounts* out) {
  size_t columns = out->points.size();
  for (const Block& block : frame.blocks) columns += block.series.size();
  out->points.reserve(columns);
  for (const Block& block : frame.blocks)
    for (const uint32_t series : block.series) out->points.push_back({series, static_cast<uint32_t>(block.rows())});
  out->texts += frame.texts();
  for (const Loss& loss : frame.losses)
    if (is_of_points(loss.series) && loss.reason != LossReason::kRejected) out->dropped += loss.count;
}

}  // namespace

FrameCounts counts_of(const Frame& frame) {
  FrameCounts out;
  add_counts(frame, &out);
  return out;
}

FrameCounts counts_of(const std::vector<FrameRecord>& records) {
  FrameCounts out;
  for (const FrameRecord& record : records)
    if (const auto frame = decode_frame(record.bytes); frame.ok()) add_counts(*frame, &out);
  return out;
}

void StoredAccount::make_room(const std::vector<SeriesPoints>& series) {
  for (const SeriesPoints& each : series)
    if (each.series >= by_series.size()) by_series.resize(each.series + size_t{1});
}

void StoredAccount::add(const FrameCounts& frame) noexcept {
  for (const SeriesPoints& each : frame.points) {
    by_series[each.series] += each.points;
    points += each.points;
  }
  texts += frame.texts;
  dropped += frame.dropped;
  bytes += frame.bytes;
}

void StoredAccount::remove(const FrameCounts& frame, Logged* gone) {
  removed_by_series.resize(by_series.size());
  for (const SeriesPoints& each : frame.points) {
    removed_by_series[each.series] += each.points;
    if (sample_series.contains(each.series)) continue;
    points_removed += each.points;
    gone->points += each.points;
  }
  texts_removed += frame.texts;
  gone->texts += frame.texts;
}

Logged StoredAccount::remove_gone(const WriterSnapshot& there, const FrameCounts& again) {
  Logged gone;
  std::vector<uint64_t> held(by_series.size());
  for (const SeriesStats& series : there.series)
    if (series.def.id < held.size()) held[series.def.id] = series.points;
  for (const SeriesPoints& each : again.points)
    if (each.series < held.size()) held[each.series] += each.points;
  removed_by_series.resize(by_series.size());
  for (size_t series = 0; series < held.size(); ++series) {
    const uint64_t lost = by_series[series] - std::min(by_series[series], held[series]);
    by_series[series] -= lost;
    removed_by_series[series] += lost;
    subtract(&points, lost);
    if (!sample_series.contains(static_cast<uint32_t>(series))) gone.points += lost;
  }
  gone.texts = texts - std::min(texts, there.texts() + again.texts);
  texts -= gone.texts;
  points_removed += gone.points;
  texts_removed += gone.texts;
  return gone;
}

void StoredAccount::take_over(const WriterSnapshot& there) {
  std::fill(by_series.begin(), by_series.end(), 0);
  for (const SeriesStats& series : there.series) {
    if (series.def.id >= by_series.size()) by_series.resize(series.def.id + size_t{1});
    by_series[series.def.id] = series.points;
  }
  points = there.points;
  texts = there.texts();
  dropped = there.dropped - std::min(there.dropped, there.missing.points);
  bytes = there.frame_bytes;
}

PartsBefore StoredAccount::before_part(uint64_t seq, const FrameCounts& again) const {
  PartsBefore out;
  out.seq = seq;
  out.points = points_of_program() + points_removed;
  out.texts = texts + texts_removed;
  out.dropped = dropped;
  out.log_points = std::accumulate(removed_by_series.begin(), removed_by_series.end(), points);
  for (const SeriesPoints& each : again.points) {
    subtract(&out.log_points, each.points);
    if (!sample_series.contains(each.series)) subtract(&out.points, each.points);
  }
  subtract(&out.texts, again.texts);
  subtract(&out.dropped, again.dropped);
  return out;
}

uint64_t StoredAccount::points_of_program() const {
  uint64_t samples = 0;
  for (const uint32_t series : sample_series)
    if (series < by_series.size()) samples += by_series[series];
  return points - std::min(points, samples);
}

void StoredAccount::add_to(SeriesCounts* counts) const {
  for (size_t series = 0; series < by_series.size(); ++series)
    if (by_series[series] > 0) counts->at(static_cast<uint32_t>(series)).stored += by_series[series];
  for (size_t series = 0; series < removed_by_series.size(); ++series)
    if (removed_by_series[series] > 0) counts->at(static_cast<uint32_t>(series)).dropped += removed_by_series[series];
}

}  // namespace tracker::internal
