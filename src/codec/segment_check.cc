// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "codec/segment.h"

namespace tracker::internal {
namespace {

Status differs(size_t block, std::string_view what) {
  return Status(Code::kCorrupt,
                fmt::format("segment: block {}: {} of the directory are not those of the rows", block, what));
}

Status check_steps(SegmentView* view, size_t b, const std::vector<int64_t>& steps) {
  const SegmentBlock& block = view->blocks()[b];
  if (!(block.steps == StepSummary{steps.front(), steps.back()}) || !std::is_sorted(steps.begin(), steps.end()))
    return differs(b, "steps");
  const auto not_rising = [](int64_t a, int64_t next) { return next <= a; };
  const bool increase = std::adjacent_find(steps.begin(), steps.end(), not_rising) == steps.end();
  if (block.steps_increase && !increase) return differs(b, "step flags");
  return {};
}

// Each definition, event and loss came with a frame of the table.
Status check_log(SegmentView* view) {
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(view->log(&log));
  std::vector<SegmentFrame> frames;
  TRACKER_RETURN_IF_ERROR(view->frame_table(&frames));
  for (const auto* seqs : {&log.def_seqs, &log.event_seqs, &log.loss_seqs})
    for (const uint64_t seq : *seqs)
      if (!std::ranges::binary_search(frames, seq, {}, &SegmentFrame::seq))
        return Status(Code::kCorrupt, fmt::format("segment: frame {} of its log is not in the table of frames", seq));
  return {};
}

// `met`: the ordinals of the previous blocks.
Status check_rows(SegmentView* view, size_t b, std::vector<bool>* met, SegmentVisitor* visitor) {
  const SegmentBlock& block = view->blocks()[b];
  std::vector<int64_t> steps(block.has_steps ? block.rows : 0);
  if (block.has_steps) {
    TRACKER_RETURN_IF_ERROR(view->steps(b, RowRange(), steps.data()));
    TRACKER_RETURN_IF_ERROR(check_steps(view, b, steps));
  }
  std::vector<int64_t> times(block.rows);
  TRACKER_RETURN_IF_ERROR(view->times(b, RowRange(), times.data()));
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  if (*first != block.time_min_us || *last != block.time_max_us) return differs(b, "times");
  std::vector<uint64_t> order(block.rows);
  TRACKER_RETURN_IF_ERROR(view->order(b, RowRange(), order.data()));
  if (visitor != nullptr) visitor->block(b, steps, times, order);
  for (const uint64_t ordinal : order) {
    if (ordinal >= met->size() || (*met)[ordinal]) return differs(b, "ordinals");
    (*met)[ordinal] = true;
  }
  return {};
}

Status check_series(SegmentView* view, size_t b, size_t i, SegmentVisitor* visitor) {
  const SegmentBlock& block = view->blocks()[b];
  std::vector<uint64_t> bits(block.rows);
  TRACKER_RETURN_IF_ERROR(view->value_bits(b, i, RowRange(), bits.data()));
  if (visitor != nullptr) visitor->series(b, i, bits);
  const auto minis = summarize_minis(bits, block.types[i]);
  const ValueSummary all = summarize_block(minis, bits, block.types[i]);
  // Sums are compared as bits: infinities of both signs make a sum NaN.
  const auto same = [](ValueSummary x, ValueSummary y) {
    if (bits_of(x.sum) != bits_of(y.sum)) return false;
    y.sum = x.sum = 0;
    return x == y;
  };
  if (!same(all, block.summaries[i])) return differs(b, fmt::format("summaries of series {}", block.series[i]));
  return {};
}

}  // namespace

Status SegmentView::check(SegmentVisitor* visitor) {
  TRACKER_RETURN_IF_ERROR(check_log(this));
  uint64_t rows = 0;
  for (const SegmentBlock& block : blocks()) rows += block.rows;
  std::vector<bool> met(rows);
  for (size_t b = 0; b < blocks().size(); ++b) {
    TRACKER_RETURN_IF_ERROR(check_rows(this, b, &met, visitor));
    for (size_t i = 0; i < blocks()[b].series.size(); ++i) TRACKER_RETURN_IF_ERROR(check_series(this, b, i, visitor));
  }
  return {};
}

}  // namespace tracker::internal
