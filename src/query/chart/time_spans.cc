// SPDX-License-Identifier: MIT
#include "query/chart/time_spans.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tracker::internal {
namespace {

// Rows of `times`, which do not fall, from `lo` to `hi`.
std::pair<uint64_t, uint64_t> rows_from_to(std::span<const int64_t> times, int64_t lo, int64_t hi) {
  const auto begin = std::lower_bound(times.begin(), times.end(), lo);
  const auto end = std::upper_bound(begin, times.end(), hi);
  return {static_cast<uint64_t>(begin - times.begin()), static_cast<uint64_t>(end - times.begin())};
}

// The rows [begin, end) of a span of decoded rows.
StepSpan part_of(const StepSpan& span, uint64_t begin, uint64_t end) {
  const auto cut = [&](const auto& column) {
    using Column = std::decay_t<decltype(column)>;
    return Column(column.begin() + static_cast<std::ptrdiff_t>(begin),
                  column.begin() + static_cast<std::ptrdiff_t>(end));
  };
  StepSpan out;
  out.end = end - begin;
  out.steps = cut(span.steps);
  out.values = cut(span.values);
  out.times = cut(span.times);
  return out;
}

// Whether a level says all that must be known of the times.
bool lies_within(const StepSpan& span, int64_t lo, int64_t hi) {
  if (span.piece == nullptr || !span.piece->coarse_times) return false;
  const LevelHead& level = span.piece->coarse_times->head;
  return span.begin == 0 && span.end == level.rows && lo <= level.x_first && level.x_last <= hi;
}
bool lies_outside(const StepSpan& span, int64_t lo, int64_t hi) {
  if (span.piece == nullptr || !span.piece->coarse_times) return false;
  const LevelHead& level = span.piece->coarse_times->head;
  return level.x_last < lo || level.x_first > hi;
}

// The first row at `time` or later of a piece with a level over times: the times of one of its cells are decoded.
Result<uint64_t> first_row_from(StepPieces* pieces, const StepPiece& piece, int64_t time) {
  auto level = decode_level(piece.coarse_times->bytes);
  if (!level.ok()) return level.status();
  uint64_t row = 0;
  for (size_t i = 0; i < level->cells(); row += level->count[i++]) {
    if (level->x1[i] < time) continue;
    if (level->x0[i] >= time) return row;
    std::vector<int64_t> times;
    TRACKER_RETURN_IF_ERROR(pieces->read_times(piece, row, row + level->count[i], &times));
    const auto at = std::lower_bound(times.begin(), times.end(), time);
    return row + static_cast<uint64_t>(at - times.begin());
  }
  return row;
}

// What of the span lies from `lo` to `hi`; no rows: nothing. None: its times fall.
Result<std::optional<StepSpan>> clip(StepPieces* pieces, const StepSpan& span, int64_t lo, int64_t hi) {
  StepSpan out = span;
  if (span.piece != nullptr && span.piece->coarse_times) {
    auto begin = first_row_from(pieces, *span.piece, lo);
    if (!begin.ok()) return begin.status();
    auto end = hi < INT64_MAX ? first_row_from(pieces, *span.piece, hi + 1) : Result<uint64_t>(span.end);
    if (!end.ok()) return end.status();
    out.begin = std::clamp(*begin, span.begin, span.end);
    out.end = std::clamp(*end, out.begin, span.end);
    if (out.begin == out.end) return std::optional(std::move(out));
    std::vector<int64_t> ends;
    TRACKER_RETURN_IF_ERROR(pieces->read_times(*span.piece, out.begin, out.begin + 1, &ends));
    TRACKER_RETURN_IF_ERROR(pieces->read_times(*span.piece, out.end - 1, out.end, &ends));
    out.first = ends[0];
    out.last = ends[1];
    return std::optional(std::move(out));
  }
  std::vector<int64_t> decoded;
  if (span.piece != nullptr) TRACKER_RETURN_IF_ERROR(pieces->read_times(*span.piece, span.begin, span.end, &decoded));
  const std::span<const int64_t> times = span.piece != nullptr ? decoded : span.times;
  if (!std::is_sorted(times.begin(), times.end())) return std::optional<StepSpan>();
  const auto [begin, end] = rows_from_to(times, lo, hi);
  if (span.piece == nullptr) {
    out = part_of(span, begin, end);
  } else {
    out.begin = span.begin + begin;
    out.end = span.begin + end;
  }
  if (begin < end) {
    out.first = times[begin];
    out.last = times[end - 1];
  }
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<std::vector<StepSpan>>> spans_by_time(StepPieces* pieces, const std::vector<StepSpan>& spans,
                                                           int64_t lo, int64_t hi) {
  uint64_t unleveled = 0;
  for (const StepSpan& span : spans)
    if (span.piece != nullptr && !span.piece->coarse_times) unleveled += span.end - span.begin;
  if (unleveled > kUnleveledRowsMax) return std::optional<std::vector<StepSpan>>();
  std::vector<StepSpan> out;
  for (const StepSpan& span : spans) {
    if (lies_outside(span, lo, hi)) continue;
    std::optional<StepSpan> in;
    if (lies_within(span, lo, hi)) {
      in = span;
      in->first = span.piece->coarse_times->head.x_first;
      in->last = span.piece->coarse_times->head.x_last;
    } else {
      auto clipped = clip(pieces, span, lo, hi);
      if (!clipped.ok()) return clipped.status();
      in = std::move(*clipped);
    }
    if (in && in->begin == in->end) continue;
    if (!in || (!out.empty() && in->first < out.back().last)) return std::optional<std::vector<StepSpan>>();
    out.push_back(std::move(*in));
  }
  return std::optional(std::move(out));
}

}  // namespace tracker::internal
