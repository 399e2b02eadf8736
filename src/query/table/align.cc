// SPDX-License-Identifier: MIT
#include "query/table/align.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "query/rows/resolve.h"

namespace tracker::internal {
namespace {

// Rows without a step come last in a resolved history.
void drop_stepless(History* history) {
  if (history->has_step.empty()) return;
  const auto first = std::find(history->has_step.begin(), history->has_step.end(), 0);
  const auto rows = static_cast<size_t>(first - history->has_step.begin());
  history->steps.resize(rows);
  history->bits.resize(rows);
  history->has_step.clear();
}

std::vector<int64_t> union_of_steps(const std::vector<History>& histories) {
  std::vector<int64_t> out, merged;
  for (const History& history : histories) {
    if (history.steps == out) continue;
    merged.clear();
    merged.reserve(std::max(out.size(), history.steps.size()));
    std::set_union(out.begin(), out.end(), history.steps.begin(), history.steps.end(), std::back_inserter(merged));
    out.swap(merged);
  }
  return out;
}

struct Spread {
  std::vector<uint64_t> bits;
  std::vector<uint8_t> present;  // empty: all
};

// The values at their places among `steps`, which hold all of the history's.
Spread spread(History history, const std::vector<int64_t>& steps) {
  if (history.steps.size() == steps.size()) return {std::move(history.bits), {}};
  Spread out{std::vector<uint64_t>(steps.size()), std::vector<uint8_t>(steps.size())};
  size_t at = 0;
  for (size_t i = 0; i < history.steps.size(); ++i, ++at) {
    while (steps[at] != history.steps[i]) ++at;
    out.bits[at] = history.bits[i];
    out.present[at] = 1;
  }
  return out;
}

template <typename T>
std::vector<T> select(const std::vector<T>& column, const std::vector<size_t>& rows) {
  if (column.empty()) return {};
  std::vector<T> out;
  out.reserve(rows.size());
  for (const size_t row : rows) out.push_back(column[row]);
  return out;
}

AlignedTable align(std::vector<std::string> names, std::vector<History> histories, const History* x) {
  for (History& history : histories) drop_stepless(&history);
  std::vector<int64_t> steps = union_of_steps(histories);
  JoinedX joined;
  if (x != nullptr) joined = join_x(steps, {}, *x);
  AlignedTable out;
  for (size_t i = 0; i < histories.size(); ++i) {
    const ValueType type = histories[i].type;
    Spread column = spread(std::move(histories[i]), steps);
    if (x != nullptr) column = {select(column.bits, joined.rows), select(column.present, joined.rows)};
    AlignedColumn aligned{std::move(names[i]), pack_values(std::move(column.bits), type), {}};
    if (!column.present.empty()) aligned.present = pack_flags(std::move(column.present));
    out.columns.push_back(std::move(aligned));
  }
  if (x != nullptr) {
    steps = select(steps, joined.rows);
    out.x = pack_values(std::move(joined.bits), x->type);
  }
  out.steps = pack_ints(std::move(steps));
  return out;
}

}  // namespace

JoinedX join_x(const std::vector<int64_t>& steps, const std::vector<uint8_t>& has_step, const History& x) {
  const auto stepped = static_cast<size_t>(
      x.has_step.empty()
          ? x.steps.size()
          : static_cast<size_t>(std::find(x.has_step.begin(), x.has_step.end(), 0) - x.has_step.begin()));
  const auto end = x.steps.begin() + static_cast<std::ptrdiff_t>(stepped);
  struct Match {
    size_t row;
    uint64_t bits;
    double value;
  };
  std::vector<Match> matches;
  auto at = x.steps.begin();
  for (size_t row = 0; row < steps.size(); ++row) {
    if (!has_step.empty() && has_step[row] == 0) continue;
    if (at == end || *at > steps[row]) at = x.steps.begin();  // rows that are not sorted look again from the start
    if (at == end || *at != steps[row]) at = std::lower_bound(at, end, steps[row]);
    if (at == end || *at != steps[row]) continue;
    const uint64_t bits = x.bits[static_cast<size_t>(at - x.steps.begin())];
    const double value = to_double(x.type, bits);
    if (value == value) matches.push_back({row, bits, value});
    if (at + 1 != end) ++at;
  }
  const bool integers = x.type == ValueType::kInt64;  // beyond 2^53 doubles would call different ones equal
  std::stable_sort(matches.begin(), matches.end(), [integers](const Match& a, const Match& b) {
    return integers ? static_cast<int64_t>(a.bits) < static_cast<int64_t>(b.bits) : a.value < b.value;
  });
  JoinedX out;
  for (const Match& match : matches) {
    out.rows.push_back(match.row);
    out.bits.push_back(match.bits);
  }
  return out;
}

AlignedTable align_by_step(std::vector<std::string> names, std::vector<History> histories) {
  return align(std::move(names), std::move(histories), nullptr);
}

AlignedTable align_by_x(std::vector<std::string> names, std::vector<History> histories, std::string x_name,
                        const History& x) {
  AlignedTable out = align(std::move(names), std::move(histories), &x);
  out.x_name = std::move(x_name);
  return out;
}

PackedHistory sort_by_x(std::string name, History history, std::string x_name, const History& x) {
  JoinedX joined = join_x(history.steps, history.has_step, x);
  select_rows(&history, joined.rows);
  history.has_step.clear();
  PackedHistory out = pack_history(std::move(name), std::move(history));
  out.x_name = std::move(x_name);
  out.x = pack_values(std::move(joined.bits), x.type);
  return out;
}

std::shared_ptr<const ArrowTable> arrow_table(const AlignedTable& table) {
  std::vector<ArrowColumn> columns;
  std::vector<std::string> taken{"step"};
  const auto named = [&taken](const std::string& name) { return taken.emplace_back(column_name(name, taken)); };
  columns.push_back({"step", table.steps, {}, false, false});
  if (table.x) columns.push_back({named(table.x_name), table.x, {}, false, false});
  for (const AlignedColumn& column : table.columns)
    columns.push_back({named(column.name), column.values, column.present, false, false});
  return std::make_shared<const ArrowTable>(table.steps.rows, std::move(columns));
}

}  // namespace tracker::internal
