// SPDX-License-Identifier: MIT
#include "query/chart/view_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/view/attempts.h"

namespace tracker::internal {
namespace {

// Reads the first `rows` of a stream and keeps nothing of them.
template <typename X, typename Stream>
Status skip(Stream* stream, uint64_t rows) {
  std::vector<X> x(4096);
  std::vector<double> values(x.size());
  for (uint64_t at = 0; at < rows;) {
    auto more = stream->read(static_cast<size_t>(std::min<uint64_t>(x.size(), rows - at)), x.data(), values.data());
    if (!more.ok()) return more.status();
    if (*more == 0) return {};
    at += *more;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MetricView>> MetricView::open(RunView* run, const std::string& metric,
                                                     const Selection& selection, bool with_times) {
  auto known = run->metric(metric);
  if (!known.ok()) return known.status();
  auto pieces = StepPieces::open(run, **known, selection, with_times);
  if (!pieces.ok()) return pieces.status();
  if (*pieces == nullptr) return std::unique_ptr<MetricView>();
  const ViewRules rules(*run, selection);
  auto spans = spans_within(rules.view(pieces->get()), INT64_MIN, INT64_MAX);
  if (!spans.ok()) return spans.status();
  auto out = std::make_unique<MetricView>();
  out->pieces_ = std::move(*pieces);
  out->spans_ = std::move(*spans);
  for (const StepSpan& span : out->spans_) out->rows_ += span.end - span.begin;
  TRACKER_RETURN_IF_ERROR(out->pieces_->rest());
  return out;
}

// --- rows by step -------------------------------------------------------------------------------------------------

void ViewRows::seek(uint64_t begin, uint64_t end) {
  if (begin < span_begin_) {
    span_ = 0;
    span_begin_ = 0;
  }
  at_ = begin;
  end_ = end;
}

Result<bool> ViewRows::next(bool with_times, bool with_values) {
  const std::vector<StepSpan>& spans = view_->spans();
  const auto rows_of = [&spans](size_t i) { return spans[i].end - spans[i].begin; };
  while (span_ < spans.size() && at_ >= span_begin_ + rows_of(span_)) span_begin_ += rows_of(span_++);
  if (span_ == spans.size() || at_ >= end_) return false;
  const StepSpan& span = spans[span_];
  const uint64_t from = at_ - span_begin_, rows = std::min(rows_of(span_) - from, end_ - at_);
  begin_ = at_;
  at_ += rows;
  if (span.piece == nullptr) {
    steps = std::span(span.steps).subspan(from, rows);
    values = std::span(span.values).subspan(from, rows);
    if (with_times) times = std::span(span.times).subspan(from, rows);
    return true;
  }
  StepPieces* const pieces = view_->pieces();
  const uint64_t begin = span.begin + from, end = begin + rows;
  steps_.clear();
  values_.clear();
  times_.clear();
  if (with_values) TRACKER_RETURN_IF_ERROR(pieces->read(*span.piece, begin, end, &steps_, &values_));
  if (with_times) TRACKER_RETURN_IF_ERROR(pieces->read_times(*span.piece, begin, end, &times_));
  TRACKER_RETURN_IF_ERROR(pieces->rest());
  steps = steps_;
  values = values_;
  times = times_;
  return true;
}

// --- by time ------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<TimeStream>> TimeStream::open(std::unique_ptr<MetricView> view, WindowCount<int64_t>* count) {
  std::unique_ptr<TimeStream> out(new TimeStream(std::move(view)));
  const MetricView* const of = out->view_.get();
  ViewRows rows(of);
  rows.seek(0, of->rows());
  int64_t before = INT64_MIN;
  std::vector<uint64_t> begins{0};
  for (;;) {
    auto more = rows.next(true, false);
    if (!more.ok()) return more.status();
    if (!*more) break;
    count->add(rows.times);
    const auto falls = [](int64_t a, int64_t b) { return b < a; };
    if (rows.times.front() < before) begins.push_back(rows.begin());
    for (auto at = rows.times.begin(); begins.size() <= kTimeStretchesMax;) {
      at = std::adjacent_find(at, rows.times.end(), falls);
      if (at == rows.times.end()) break;
      ++at;
      begins.push_back(rows.begin() + static_cast<uint64_t>(at - rows.times.begin()));
    }
    if (begins.size() > kTimeStretchesMax) return std::unique_ptr<TimeStream>();
    before = rows.times.back();
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    out->stretches_.emplace_back(of);
    out->stretches_.back().begin = begins[i];
    out->stretches_.back().end = i + 1 < begins.size() ? begins[i + 1] : of->rows();
  }
  return out;
}

Status TimeStream::fill(Stretch* stretch) {
  auto more = stretch->rows.next(true, true);
  if (!more.ok()) return more.status();
  stretch->at = 0;
  stretch->ended = !*more;
  return {};
}

// With one stretch a row has its place already; of several, those before it are merged once more.
Status TimeStream::seek(uint64_t row) {
  const bool one = stretches_.size() == 1;
  for (Stretch& stretch : stretches_) {
    stretch.rows.seek(one ? std::min(stretch.begin + row, stretch.end) : stretch.begin, stretch.end);
    TRACKER_RETURN_IF_ERROR(fill(&stretch));
  }
  return one ? Status() : skip<int64_t>(this, row);
}

// Of equal times those of the earlier stretch come first, as their steps do.
Result<size_t> TimeStream::read(size_t n, int64_t* x, double* values) {
  size_t have = 0;
  while (have < n) {
    Stretch* first = nullptr;
    int64_t bound = INT64_MAX;  // rows of `first` up to there come before those of all others
    for (Stretch& stretch : stretches_) {
      if (stretch.ended) continue;
      const int64_t time = stretch.rows.times[stretch.at];
      if (first == nullptr) {
        first = &stretch;
      } else if (const int64_t least = first->rows.times[first->at]; time < least) {
        bound = least - 1;  // the earlier stretch has the rows of that time
        first = &stretch;
      } else {
        bound = std::min(bound, time);
      }
    }
    if (first == nullptr) return have;
    const std::span<const int64_t> times = first->rows.times.subspan(first->at);
    const size_t most = std::min(times.size(), n - have);
    const auto end = std::upper_bound(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(most), bound);
    const auto rows = static_cast<size_t>(end - times.begin());
    std::copy_n(times.data(), rows, x + have);
    std::copy_n(first->rows.values.data() + first->at, rows, values + have);
    have += rows;
    first->at += rows;
    if (first->at == first->rows.times.size()) TRACKER_RETURN_IF_ERROR(fill(first));
  }
  return have;
}

// --- by another metric --------------------------------------------------------------------------------------------

JoinStream::JoinStream(std::unique_ptr<MetricView> view, std::unique_ptr<MetricView> x)
    : view_(std::move(view)), x_view_(std::move(x)), rows_(view_.get()), x_rows_(x_view_.get()) {}

Status JoinStream::seek(uint64_t row) {
  rows_.seek(0, view_->rows());
  x_rows_.seek(0, x_view_->rows());
  rows_.steps = x_rows_.steps = {};
  at_ = x_at_ = 0;
  return skip<double>(this, row);
}

Result<size_t> JoinStream::read(size_t n, double* x, double* values) {
  size_t have = 0;
  while (have < n) {
    for (const auto& [rows, at] : {std::pair{&rows_, &at_}, std::pair{&x_rows_, &x_at_}}) {
      if (*at < rows->steps.size()) continue;
      auto more = rows->next(false, true);
      if (!more.ok()) return more.status();
      if (!*more) return have;
      *at = 0;
    }
    const size_t rows = rows_.steps.size(), x_rows = x_rows_.steps.size();
    while (have < n && at_ < rows && x_at_ < x_rows) {
      const int64_t step = rows_.steps[at_], x_step = x_rows_.steps[x_at_];
      x[have] = x_rows_.values[x_at_];
      values[have] = rows_.values[at_];
      have += step == x_step && std::isfinite(x[have]) ? 1 : 0;
      at_ += step <= x_step ? 1 : 0;
      x_at_ += x_step <= step ? 1 : 0;
    }
  }
  return have;
}

}  // namespace tracker::internal
