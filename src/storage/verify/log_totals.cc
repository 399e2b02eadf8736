// SPDX-License-Identifier: MIT
#include "storage/verify/log_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace tracker::internal {
namespace {

constexpr size_t kDifferencesShown = 3;

void add_line(std::vector<std::string>* lines, std::string line) {
  if (lines->size() < kDifferencesShown) lines->push_back(std::move(line));
  else if (lines->size() == kDifferencesShown) lines->push_back("and more");
}

// Sums may have been added in another order.
bool close(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return !std::isfinite(a) && !std::isfinite(b);
  return std::abs(a - b) <= 1e-6 * std::max({std::abs(a), std::abs(b), 1e-300});
}

bool sum_agrees(const SeriesStats& a, const SeriesStats& b) {
  // Terms of both signs may cancel: what order does to the sum is bounded by the largest term.
  const double scale = std::max(std::abs(a.min), std::abs(a.max)) * static_cast<double>(a.finite);
  return close(a.sum, b.sum) || std::abs(a.sum - b.sum) <= 1e-9 * scale;
}

const char* difference(const SeriesStats& stored, const SeriesStats& log) {
  if (stored.def.name != log.def.name || stored.def.type != log.def.type) return "name or type";
  if (stored.points != log.points) return "number of rows";
  if (log.points == 0) return nullptr;
  if (stored.has_steps != log.has_steps) return "steps";
  if (log.has_steps && std::tie(stored.step_min, stored.step_max, stored.last_step) !=
                           std::tie(log.step_min, log.step_max, log.last_step))
    return "steps";
  if (stored.time_first_us != log.time_first_us || stored.time_last_us != log.time_last_us) return "times";
  if (std::tie(stored.finite, stored.nan, stored.pos_inf, stored.neg_inf) !=
      std::tie(log.finite, log.nan, log.pos_inf, log.neg_inf))
    return "counts of finite values, NaN and infinities";
  if (log.finite > 0 && (stored.min != log.min || stored.max != log.max)) return "min or max";
  if (log.finite > 0 && !sum_agrees(log, stored)) return "sum";
  if (stored.first_bits != log.first_bits || stored.last_bits != log.last_bits) return "first or last value";
  return nullptr;
}

std::string series_name(const SeriesStats& series) {
  return series.def.name.empty() ? fmt::format("series {}", series.def.id) : series.def.name;
}

}  // namespace

Result<FrameStats> LogTotals::add(const FrameView& frame, size_t bytes) {
  auto stats = compute_frame_stats(frame);
  if (!stats.ok()) return stats;
  ++frames_;
  points_ += stats->points;
  bytes_ += bytes;
  events_.apply(frame);
  if (frame.seq() > stats_seq_) later_.emplace_back(frame.seq(), stats->series);
  else add_series(stats->series);
  return stats;
}

Result<FrameStats> LogTotals::add(SegmentView* segment, size_t bytes) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  auto stats = compute_segment_stats(segment, log);
  if (!stats.ok()) return stats;
  if (stats->time_first_us != segment->time_first_us() || stats->time_last_us != segment->time_last_us())
    return Status(Code::kCorrupt, "segment: times of the directory are not those of its rows and events");
  frames_ += segment->frames();
  points_ += stats->points;
  bytes_ += bytes;
  any_segments_ = true;
  set_stats_seq(std::max(stats_seq_, segment->last_seq()));  // no segment goes beyond it, so it has risen
  events_.apply(log.events, log.losses);
  add_series(stats->series);
  return stats;
}

void LogTotals::set_stats_seq(uint64_t stats_seq) {
  stats_seq_ = stats_seq;
  for (; !later_.empty() && later_.front().first <= stats_seq_; later_.pop_front()) add_series(later_.front().second);
}

void LogTotals::add_series(const SeriesMap& all) {
  for (const auto& [id, later] : all) {
    const auto [at, is_new] = series_.try_emplace(id, later);
    if (!is_new) append_stats(later, &at->second);
  }
}

std::vector<std::string> LogTotals::compare_series(const SeriesMap& stored) const {
  std::vector<std::string> out;
  for (const auto& [id, log] : series_) {
    const auto at = stored.find(id);
    if (at == stored.end()) {
      add_line(&out, series_name(log) + ": no row");
    } else if (const char* what = difference(at->second, log); what != nullptr) {
      add_line(&out,
               what == std::string_view("number of rows")
                   ? fmt::format("{}: {} rows, the frames hold {}", series_name(log), at->second.points, log.points)
                   : fmt::format("{}: {}", series_name(log), what));
    }
  }
  for (const auto& [id, row] : stored)
    if (!series_.contains(id)) add_line(&out, series_name(row) + ": in no frame");
  return out;
}

std::vector<std::string> LogTotals::compare_attributes(const std::vector<Attribute>& stored) const {
  std::map<std::pair<EventType, std::string>, const Attribute*> rows;
  for (const Attribute& attribute : stored) rows[{attribute.type, attribute.key}] = &attribute;
  std::vector<std::string> out;
  const std::vector<Attribute> log = events_.attributes();
  for (const Attribute& attribute : log) {
    const auto at = rows.find({attribute.type, attribute.key});
    if (at == rows.end()) add_line(&out, fmt::format("\"{}\": no row", attribute.key));
    else if (!(at->second->value == attribute.value)) add_line(&out, fmt::format("\"{}\": value", attribute.key));
    if (at != rows.end()) rows.erase(at);
  }
  for (const auto& [name, row] : rows) add_line(&out, fmt::format("\"{}\": in no frame", name.second));
  return out;
}

std::vector<std::string> LogTotals::compare_losses(const std::vector<Loss>& stored) const {
  std::map<std::pair<uint32_t, LossReason>, uint64_t> rows;
  for (const Loss& loss : stored) rows[{loss.series, loss.reason}] += loss.count;
  std::vector<std::string> out;
  for (const Loss& loss : events_.losses()) {
    uint64_t& row = rows[{loss.series, loss.reason}];
    if (row != loss.count)
      add_line(&out, fmt::format("series {}, {}: {} dropped, the frames say {}", loss.series,
                                 loss_reason_text(loss.reason), row, loss.count));
    row = 0;
  }
  for (const auto& [name, count] : rows)
    if (count != 0) add_line(&out, fmt::format("series {}: {} dropped, the frames say none", name.first, count));
  return out;
}

std::vector<std::string> LogTotals::compare_meta(const DatabaseMeta& meta, uint64_t newest) const {
  std::vector<std::string> out;
  if (meta.last_seq != newest)
    add_line(&out, fmt::format("the newest frame is said to be {}, it is {}", meta.last_seq, newest));
  const auto same = [&out](const char* what, uint64_t said, uint64_t found) {
    if (said != found) add_line(&out, fmt::format("{} {}, the frames hold {}", said, what, found));
  };
  same("points", meta.points, points_);
  same("frames", meta.frames, frames_);
  if (!any_segments_) same("bytes of frames", meta.frame_bytes, bytes_);
  const auto& end = events_.end();
  if (end.has_value() != meta.end.has_value() || (end && end->state != meta.end->state))
    add_line(&out, "the run's end is another one than the frames say");
  if (events_.recovered().has_value() != meta.recovered.has_value())
    add_line(&out, "the note of a recovery is not what the frames say");
  if (meta.step_max != events_.step_max())
    add_line(&out, "the largest step of texts and media is not that of the frames");
  return out;
}

}  // namespace tracker::internal
