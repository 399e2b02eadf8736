// SPDX-License-Identifier: MIT
#include "query/rows/resolve.h"

#include <algorithm>

namespace tracker::internal {
namespace {

struct StepRow {
  int64_t step;
  size_t row;
};

// A stable merge sort over the ascending stretches that are already there: training resumes now and then, so rows come
// as a few long stretches, and std::stable_sort would not see them.
void sort_by_step(std::vector<StepRow>* rows) {
  std::vector<size_t> starts{0};
  for (size_t i = 1; i < rows->size(); ++i)
    if ((*rows)[i].step < (*rows)[i - 1].step) starts.push_back(i);
  starts.push_back(rows->size());
  const auto before = [](const StepRow& a, const StepRow& b) { return a.step < b.step; };
  std::vector<StepRow> other;
  if (starts.size() > 2) other.resize(rows->size());
  while (starts.size() > 2) {
    std::vector<size_t> merged;
    const auto at = [](std::vector<StepRow>& v, size_t i) { return v.begin() + static_cast<std::ptrdiff_t>(i); };
    for (size_t i = 0; i + 1 < starts.size(); i += 2) {
      const size_t begin = starts[i], middle = starts[i + 1], end = i + 2 < starts.size() ? starts[i + 2] : middle;
      merged.push_back(begin);
      std::merge(at(*rows, begin), at(*rows, middle), at(*rows, middle), at(*rows, end), at(other, begin), before);
    }
    merged.push_back(rows->size());
    rows->swap(other);
    starts.swap(merged);
  }
}

template <typename T>
void select(std::vector<T>* column, const std::vector<size_t>& order) {
  if (column->empty()) return;
  std::vector<T> out;
  out.reserve(order.size());
  for (const size_t row : order) out.push_back((*column)[row]);
  column->swap(out);
}

}  // namespace

bool is_resolved(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step) {
  if (!has_step.empty() && std::find(has_step.begin(), has_step.end(), 0) != has_step.end()) return false;
  constexpr size_t kChunk = 4096;  // without an exit inside, the compiler compares several steps at once
  for (size_t begin = 1; begin < steps.size(); begin += kChunk) {
    const size_t end = std::min(steps.size(), begin + kChunk);
    bool rising = true;
    for (size_t i = begin; i < end; ++i) rising &= steps[i - 1] < steps[i];
    if (!rising) return false;
  }
  return true;
}

std::vector<size_t> resolved_order(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step) {
  std::vector<StepRow> rows;
  std::vector<size_t> without_step;
  rows.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (has_step.empty() || has_step[i] != 0) rows.push_back({steps[i], i});
    else without_step.push_back(i);
  }
  sort_by_step(&rows);
  std::vector<size_t> order;
  order.reserve(rows.size() + without_step.size());
  for (size_t i = 0; i < rows.size(); ++i)
    if (i + 1 == rows.size() || rows[i + 1].step != rows[i].step) order.push_back(rows[i].row);
  order.insert(order.end(), without_step.begin(), without_step.end());
  return order;
}

void select_rows(History* history, const std::vector<size_t>& order) {
  select(&history->steps, order);
  select(&history->bits, order);
  select(&history->times_us, order);
  select(&history->source, order);
  select(&history->own_types, order);
  select(&history->own_bits, order);
  select(&history->has_step, order);
}

}  // namespace tracker::internal
