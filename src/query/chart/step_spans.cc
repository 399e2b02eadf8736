// SPDX-License-Identifier: MIT
#include "query/chart/step_spans.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "query/rows/packed.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kPieceRows = 4096;  // at once: they stay in the cache

// From `lo` to `hi` either one rising piece alone has steps, or rows must be decoded.
struct Stretch {
  int64_t lo = 0, hi = 0;
  const StepPiece* alone = nullptr;
};

struct Clipped {
  int64_t lo = 0, hi = 0;
  size_t piece = 0;
};

std::vector<Clipped> clip(const StepView& view, int64_t lo, int64_t hi) {
  std::vector<Clipped> out;
  const auto& pieces = view.pieces->pieces();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t shown = view.shadow.shown_up_to(view.writers[pieces[i].writer].identity.attempt);
    const Clipped of{std::max(lo, pieces[i].first), std::min({hi, pieces[i].last, shown}), i};
    if (of.lo <= of.hi) out.push_back(of);
  }
  return out;
}

// Sweeps over the ends of the pieces. Of those that are open the sum of numbers is kept: with one open, it is that one.
std::vector<Stretch> stretches_of(const std::vector<StepPiece>& pieces, const std::vector<Clipped>& clipped) {
  struct Event {
    int64_t step;
    bool opens;
    size_t piece;
  };
  std::vector<Event> events;
  for (const Clipped& of : clipped) {
    events.push_back({of.lo, true, of.piece});
    if (of.hi < INT64_MAX) events.push_back({of.hi + 1, false, of.piece});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.step < b.step; });
  std::vector<Stretch> out;
  size_t open = 0, sum = 0;
  for (size_t i = 0; i < events.size();) {
    const int64_t lo = events[i].step;
    for (; i < events.size() && events[i].step == lo; ++i) {
      open = events[i].opens ? open + 1 : open - 1;
      sum = events[i].opens ? sum + events[i].piece : sum - events[i].piece;
    }
    if (open == 0) continue;
    const int64_t hi = i < events.size() ? events[i].step - 1 : INT64_MAX;
    const StepPiece* const alone = open == 1 && pieces[sum].rising ? &pieces[sum] : nullptr;
    const bool goes_on = !out.empty() && out.back().alone == alone && (alone == nullptr || out.back().hi == lo - 1);
    if (goes_on) out.back().hi = hi;
    else out.push_back({lo, hi, alone});
  }
  return out;
}

// The resolved rows where pieces overlap. They are in the order of writers, and of each in that of its log.
Result<StepSpan> decode(const StepView& view, const std::vector<Clipped>& clipped, const Stretch& stretch) {
  StepSpan out;
  History rows;
  const bool with_times = view.pieces->with_times();
  for (const Clipped& of : clipped) {
    const StepPiece& piece = view.pieces->pieces()[of.piece];
    if (of.hi < stretch.lo || of.lo > stretch.hi) continue;
    if (piece.rising) {
      auto within = view.pieces->rows_within(piece, stretch.lo, stretch.hi);
      if (!within.ok()) return within.status();
      TRACKER_RETURN_IF_ERROR(view.pieces->read(piece, within->begin, within->end, &rows.steps, &out.values));
      if (with_times)
        TRACKER_RETURN_IF_ERROR(view.pieces->read_times(piece, within->begin, within->end, &rows.times_us));
    } else {
      for (size_t i = 0; i < piece.steps.size(); ++i) {
        if (piece.steps[i] < stretch.lo || piece.steps[i] > stretch.hi) continue;
        rows.steps.push_back(piece.steps[i]);
        out.values.push_back(piece.values[i]);
        if (with_times) rows.times_us.push_back(piece.times[i]);
      }
    }
    const WriterIdentity& who = view.writers[piece.writer].identity;
    if (rows.sources.empty() || rows.sources.back().writer != who.writer)
      rows.sources.push_back({who.attempt, who.rank, who.writer});
    rows.source.resize(rows.steps.size(), static_cast<uint32_t>(rows.sources.size() - 1));
  }
  rows.bits.resize(out.values.size());
  std::transform(out.values.begin(), out.values.end(), rows.bits.begin(), [](double v) { return bits_of(v); });
  resolve_rows(view.shadow, view.policy, &rows);
  out.steps = std::move(rows.steps);
  out.times = std::move(rows.times_us);
  out.values.resize(rows.bits.size());
  to_doubles(ValueType::kFloat64, rows.bits.data(), rows.bits.size(), out.values.data());
  if (out.steps.empty()) return out;
  out.end = out.steps.size();
  out.first = out.steps.front();
  out.last = out.steps.back();
  return out;
}

}  // namespace

ViewRules::ViewRules(const RunView& run, const Selection& selection)
    : shadow_(shadow_of(run.writers(), selection)), policy_(DuplicatePolicy::kLast), writers_(run.writers()) {
  const Value policy = run.attribute(std::string(kDuplicatePolicyKey));
  policy_ = duplicate_policy_of(policy.as_text() != nullptr ? *policy.as_text() : "");
}

bool needs_all_rows(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kVersion || status.code() == Code::kBusy ||
         status.code() == Code::kLimit;
}

Result<std::vector<StepSpan>> spans_within(const StepView& view, int64_t lo, int64_t hi) {
  const std::vector<Clipped> clipped = clip(view, lo, hi);
  const std::vector<Stretch> stretches = stretches_of(view.pieces->pieces(), clipped);
  const auto mixed = std::count_if(stretches.begin(), stretches.end(), [](auto& s) { return s.alone == nullptr; });
  if (static_cast<uint64_t>(mixed) * clipped.size() > view.overlap_work_max)
    return Status(Code::kLimit, "too many pieces that overlap");
  std::vector<StepSpan> out;
  for (const Stretch& stretch : stretches) {
    if (stretch.alone == nullptr) {
      auto span = decode(view, clipped, stretch);
      if (!span.ok()) return span.status();
      if (span->end > 0) out.push_back(std::move(*span));
      continue;
    }
    auto rows = view.pieces->rows_within(*stretch.alone, stretch.lo, stretch.hi);
    if (!rows.ok()) return rows.status();
    if (rows->begin < rows->end)
      out.push_back({stretch.alone, rows->begin, rows->end, rows->first, rows->last, {}, {}, {}});
  }
  return out;
}

SpanSource::SpanSource(StepPieces* pieces, const std::vector<StepSpan>& spans, LevelAxis axis)
    : pieces_(pieces), spans_(spans), axis_(axis) {
  for (const StepSpan& span : spans_) rows_ += span.end - span.begin;
}

// The coarsest ones that the grid allows.
Status SpanSource::choose_levels(const CellGrid<int64_t>& grid) {
  levels_.assign(spans_.size(), {});
  std::map<const StepPiece*, size_t> known;  // several spans may be of one piece
  std::vector<const StepPiece*> wanted;
  std::vector<std::pair<size_t, size_t>> places;  // span, position in `wanted`
  for (size_t i = 0; i < spans_.size(); ++i) {
    const StepPiece* const piece = spans_[i].piece;
    if (piece == nullptr || !piece->coarsest(axis_)) continue;
    const LevelHead& coarse = piece->coarsest(axis_)->head;
    if (coarse.shift <= grid.shift()) {
      levels_[i] = piece->coarsest(axis_)->bytes;
    } else if (level_shift(coarse.rows, coarse.x_first, coarse.x_last, axis_) <= grid.shift()) {
      const auto [at, is_new] = known.emplace(piece, wanted.size());
      if (is_new) wanted.push_back(piece);
      places.emplace_back(i, at->second);
    }
  }
  if (wanted.empty()) return {};
  auto fine = pieces_->fine_levels(wanted, axis_);
  if (!fine.ok()) return fine.status();
  fine_ = std::move(*fine);
  for (const auto& [span, i] : places)
    if (fine_[i].head && fine_[i].head->shift <= grid.shift()) levels_[span] = fine_[i].bytes;
  return {};
}

Status SpanSource::enter(const StepSpan& span, bool points_only) {
  entered_ = true;
  cell_ = 0;
  cell_begin_ = 0;
  by_cells_ = span.piece != nullptr && !points_only && !levels_[at_].empty();
  if (span.piece != nullptr && !by_cells_) begin_rows(span.begin, span.end);
  if (!by_cells_) return {};
  Level& level = cells_.level;
  TRACKER_RETURN_IF_ERROR(decode_level(levels_[at_], &level));
  const auto convert = [&level](const std::vector<uint64_t>& bits, std::vector<double>* out) {
    out->resize(bits.size());
    to_doubles(level.type, bits.data(), bits.size(), out->data());
  };
  convert(level.first, &cells_.first);
  convert(level.last, &cells_.last);
  convert(level.min, &cells_.min);
  convert(level.max, &cells_.max);
  return {};
}

void SpanSource::begin_rows(uint64_t begin, uint64_t end) {
  row_ = loaded_end_ = begin;
  row_end_ = end;
}

Status SpanSource::give_rows(const StepSpan& span, ChartPiece<int64_t>* out) {
  if (row_ == loaded_end_) {
    auto to = pieces_->load(*span.piece, row_, row_end_, axis_);
    if (!to.ok()) return to.status();
    loaded_end_ = *to;
  }
  const uint64_t rows = std::min(kPieceRows, loaded_end_ - row_);
  values_.resize(kPieceRows);
  const std::span<const int64_t> x = pieces_->loaded(row_, row_ + rows, values_.data());
  row_ += rows;
  *out = {x, {values_.data(), rows}, nullptr};
  return {};
}

void SpanSource::give_cells(const CellGrid<int64_t>& grid, uint64_t rows_end, ChartPiece<int64_t>* out) {
  const Level& level = cells_.level;
  const int64_t x0 = level.x0[cell_];
  size_t next = cell_;
  summary_ = {};
  for (size_t i = cell_; i < level.cells(); ++i) {
    const uint64_t end = cell_begin_ + level.count[i];
    if (i > cell_ && (end > rows_end || !grid.same_cell(x0, level.x0[i]))) break;
    ChartCell<int64_t> cell{level.x0[i],   level.x1[i],   cells_.first[i], cells_.last[i],
                            cells_.min[i], cells_.max[i], level.sum[i],    level.count[i]};
    if (!level.nan.empty()) {
      cell.nan = level.nan[i];
      cell.pos_inf = level.pos_inf[i];
      cell.neg_inf = level.neg_inf[i];
      cell.count -= cell.nan + cell.pos_inf + cell.neg_inf;
      if (cell.count == 0) cell.min = cell.max = std::numeric_limits<double>::quiet_NaN();
    }
    append_cell(cell, &summary_);
    cell_begin_ = end;
    next = i + 1;
  }
  cell_ = next;
  *out = {{}, {}, &summary_};
}

Result<bool> SpanSource::next(const CellGrid<int64_t>& grid, bool points_only, ChartPiece<int64_t>* out) {
  if (!chosen_ && !points_only) TRACKER_RETURN_IF_ERROR(choose_levels(grid));
  chosen_ = true;
  for (; at_ < spans_.size(); ++at_, entered_ = false) {
    const StepSpan& span = spans_[at_];
    if (!entered_) {
      TRACKER_RETURN_IF_ERROR(enter(span, points_only));
      if (span.piece == nullptr) {
        *out = {axis_ == LevelAxis::kTimes ? span.times : span.steps, span.values, nullptr};
        return true;
      }
    }
    for (;;) {
      if (row_ < row_end_) {
        TRACKER_RETURN_IF_ERROR(give_rows(span, out));
        return true;
      }
      if (!by_cells_ || cell_ == cells_.level.cells() || cell_begin_ >= span.end) break;
      const uint64_t begin = cell_begin_, end = begin + cells_.level.count[cell_];
      if (begin >= span.begin && end <= span.end) {
        give_cells(grid, span.end, out);
        return true;
      }
      ++cell_;
      cell_begin_ = end;
      if (end > span.begin) begin_rows(std::max(begin, span.begin), std::min(end, span.end));
    }
  }
  return false;
}

}  // namespace tracker::internal
