// SPDX-License-Identifier: MIT
#include "codec/series_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tracker::internal {
namespace {

template <typename T>
void permute(const std::vector<size_t>& order, std::vector<T>* column) {
  std::vector<T> out;
  out.reserve(order.size());
  for (const size_t row : order) out.push_back((*column)[row]);
  column->swap(out);
}

}  // namespace

Result<SeriesPlace> series_place(const SegmentView& segment, uint32_t series) {
  SeriesPlace out;
  for (size_t b = 0; b < segment.blocks().size(); ++b) {
    const SegmentBlock& block = segment.blocks()[b];
    const auto at = std::lower_bound(block.series.begin(), block.series.end(), series);
    if (at == block.series.end() || *at != series || block.rows == 0) continue;
    const auto i = static_cast<size_t>(at - block.series.begin());
    if (!out.columns.empty() && block.types[i] != out.type)
      return Status(Code::kCorrupt, fmt::format("segment: series {} is of two types", series));
    out.type = block.types[i];
    out.rising = out.columns.empty() && block.has_steps && block.steps_increase;
    out.columns.emplace_back(b, i);
    out.rows += block.rows;
    if (!block.has_steps) continue;
    out.step_min = out.stepped > 0 ? std::min(out.step_min, block.steps.min) : block.steps.min;
    out.step_max = out.stepped > 0 ? std::max(out.step_max, block.steps.max) : block.steps.max;
    out.stepped += block.rows;
  }
  return out;
}

Status read_series(SegmentView* segment, const SeriesPlace& place, bool with_times, SeriesRows* out) {
  out->steps.resize(place.rows);
  out->times.resize(with_times ? place.rows : 0);
  out->bits.resize(place.rows);
  size_t row = 0;
  for (const auto& [block, i] : place.columns) {
    TRACKER_RETURN_IF_ERROR(segment->steps(block, RowRange(), out->steps.data() + row));
    if (with_times) TRACKER_RETURN_IF_ERROR(segment->times(block, RowRange(), out->times.data() + row));
    TRACKER_RETURN_IF_ERROR(segment->value_bits(block, i, RowRange(), out->bits.data() + row));
    row += segment->blocks()[block].rows;
  }
  sort_by_step(out);
  return {};
}

void sort_by_step(SeriesRows* rows) {
  if (std::is_sorted(rows->steps.begin(), rows->steps.end())) return;
  std::vector<size_t> order(rows->steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [rows](size_t a, size_t b) { return rows->steps[a] < rows->steps[b]; });
  permute(order, &rows->steps);
  if (!rows->times.empty()) permute(order, &rows->times);
  permute(order, &rows->bits);
}

bool rises(const std::vector<int64_t>& steps) {
  return std::adjacent_find(steps.begin(), steps.end(), [](int64_t a, int64_t b) { return b <= a; }) == steps.end();
}

}  // namespace tracker::internal
