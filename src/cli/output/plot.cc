// SPDX-License-Identifier: MIT
#include "cli/output/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/output/text.h"

namespace tracker::internal {
namespace {

constexpr size_t kDotsWide = 2, kDotsHigh = 4;  // of one Braille character

struct ValueRange {
  double low = 0, high = 0;
};

std::optional<ValueRange> range_of(const std::vector<PlotColumn>& columns) {
  std::optional<ValueRange> range;
  for (const PlotColumn& column : columns) {
    if (column.finite == 0) continue;
    if (!range) range = {column.min, column.max};
    range->low = std::min(range->low, column.min);
    range->high = std::max(range->high, column.max);
  }
  return range;
}

// Dots, [0] the lowest line.
class Grid {
 public:
  Grid(size_t width, size_t height, ValueRange range)
      : width_(width), height_(height), range_(range), dots_(width * height) {}

  size_t level(double value) const {
    const size_t top = height_ - 1;
    if (range_.low == range_.high) return top / 2;
    // Halves, since the difference of two doubles may be no double.
    const double part = (value / 2 - range_.low / 2) / (range_.high / 2 - range_.low / 2);
    return std::min(top, static_cast<size_t>(std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(top))));
  }
  void fill(size_t x, size_t from, size_t to) {
    for (size_t y = std::min(from, to); y <= std::max(from, to); ++y) dots_[y * width_ + x] = true;
  }
  // The character in cell (x, y), y counted from the top.
  std::string cell(size_t x, size_t y) const {
    static constexpr uint32_t kBits[kDotsHigh][kDotsWide] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    uint32_t bits = 0;
    for (size_t row = 0; row < kDotsHigh; ++row)
      for (size_t column = 0; column < kDotsWide; ++column)
        if (dots_[(height_ - 1 - (y * kDotsHigh + row)) * width_ + x * kDotsWide + column]) bits |= kBits[row][column];
    if (bits == 0) return " ";  // some fonts draw an empty Braille cell as circles
    const uint32_t c = 0x2800 + bits;
    return {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
            static_cast<char>(0x80 | (c & 0x3f))};
  }

 private:
  size_t width_, height_;
  ValueRange range_;
  std::vector<bool> dots_;
};

// Each column from its smallest to its largest value, and a line from the last value of one to the first of the next.
void draw(const std::vector<PlotColumn>& columns, Grid* grid) {
  std::optional<size_t> previous;
  for (size_t x = 0; x < columns.size(); ++x) {
    if (columns[x].finite == 0) continue;
    grid->fill(x, grid->level(columns[x].min), grid->level(columns[x].max));
    if (previous) {
      const auto from = static_cast<double>(grid->level(columns[*previous].last));
      const auto to = static_cast<double>(grid->level(columns[x].first));
      const auto steps = static_cast<double>(x - *previous);
      for (size_t at = *previous; at < x; ++at) {
        const auto level = [&](size_t column) {
          return static_cast<size_t>(std::lround(from + (to - from) * static_cast<double>(column - *previous) / steps));
        };
        const size_t left = level(at), right = level(at + 1);
        grid->fill(at + 1, left < right ? left + 1 : left > right ? left - 1 : left, right);
      }
    }
    previous = x;
  }
}

// The mark for the dots of one cell: NaN before the infinities, since it says the most.
std::string_view mark_of(const std::vector<PlotColumn>& columns, size_t cell) {
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0;
  for (size_t x = cell * kDotsWide; x < (cell + 1) * kDotsWide; ++x) {
    nan += columns[x].nan;
    pos_inf += columns[x].pos_inf;
    neg_inf += columns[x].neg_inf;
  }
  return nan > 0 ? kNanMark : pos_inf > 0 ? kPosInfMark : neg_inf > 0 ? kNegInfMark : std::string_view();
}

void add_value(double value, PlotColumn* column) {
  if (std::isnan(value)) ++column->nan;
  else if (std::isinf(value)) ++(value > 0 ? column->pos_inf : column->neg_inf);
  else {
    if (column->finite++ == 0)
      *column = {column->finite, column->nan, column->pos_inf, column->neg_inf, value, value, value, value};
    column->last = value;
    column->min = std::min(column->min, value);
    column->max = std::max(column->max, value);
  }
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void add_cell(const ChartCell<int64_t>& cell, PlotColumn* column) {
  column->nan += cell.nan;
  column->pos_inf += cell.pos_inf;
  column->neg_inf += cell.neg_inf;
  if (cell.count == 0) return;
  const double first = std::isfinite(cell.first) ? cell.first : cell.min;
  const bool is_new = column->finite == 0;
  column->finite += cell.count;
  if (is_new) column->first = first;
  column->min = is_new ? cell.min : std::min(column->min, cell.min);
  column->max = is_new ? cell.max : std::max(column->max, cell.max);
  column->last = std::isfinite(cell.last) ? cell.last : cell.max;
}

bool uses_steps(const History& history) {
  return std::find(history.has_step.begin(), history.has_step.end(), 0) == history.has_step.end();
}

// What the x axis says.
struct Axis {
  bool by_step = true;
  int64_t first = 0, last = 0;
};
Axis axis_of(const History& history) {
  if (history.size() == 0) return {uses_steps(history), 0, 0};
  if (uses_steps(history)) return {true, history.steps.front(), history.steps.back()};
  return {false, 0, static_cast<int64_t>(history.size() - 1)};
}
Axis axis_of(const StepCells& rows) { return rows.empty() ? Axis() : Axis{true, rows.front().x0, rows.back().x1}; }

// A line that moves by less than this part of its value is drawn flat, as in the web console.
constexpr double kFlatPart = 0.01;

template <typename Rows>
std::string sparkline_of(const Rows& rows, size_t cells) {
  const auto columns = plot_columns(rows, cells * kDotsWide);
  ValueRange range = range_of(columns).value_or(ValueRange{});
  if (range.high - range.low <= kFlatPart * std::max(std::abs(range.low), std::abs(range.high))) range.low = range.high;
  Grid grid(cells * kDotsWide, kDotsHigh, range);
  draw(columns, &grid);
  std::string out;
  for (size_t x = 0; x < cells; ++x) {
    const std::string_view mark = mark_of(columns, x);
    out += mark.empty() ? grid.cell(x, 0) : std::string(mark);
  }
  return out;
}

template <typename Rows>
std::vector<std::string> chart_of(const Rows& rows, size_t width, size_t height) {
  constexpr size_t kCellsMin = 8;
  const Axis on = axis_of(rows);
  const auto label_of = [](double value) { return short_number(value); };
  // The labels' width is known only from the range, and the range not from the number of columns: any number will do.
  const auto range = range_of(plot_columns(rows, 1));
  const std::string high = range ? label_of(range->high) : "", low = range ? label_of(range->low) : "";
  const size_t margin = std::max(high.size(), low.size());
  const size_t cells = std::max(kCellsMin, width > margin + 2 ? width - margin - 2 : 0);
  const auto columns = plot_columns(rows, cells * kDotsWide);
  Grid grid(cells * kDotsWide, height * kDotsHigh, range.value_or(ValueRange{}));
  draw(columns, &grid);
  std::vector<std::string> lines;
  const auto label_at = [&](size_t y) {
    if (high == low) return y == height / 2 ? high : std::string();  // a constant is drawn in the middle
    return y == 0 ? high : y + 1 == height ? low : std::string();
  };
  for (size_t y = 0; y < height; ++y) {
    const std::string label = label_at(y);
    std::string line = pad_to(label, margin, true) + (label.empty() ? " │" : " ┤");
    for (size_t x = 0; x < cells; ++x) line += grid.cell(x, y);
    lines.push_back(trimmed(std::move(line)));
  }
  std::string axis = pad_to("", margin) + " └", marks = pad_to("", margin + 2);
  bool any_mark = false;
  for (size_t x = 0; x < cells; ++x) {
    const std::string_view mark = mark_of(columns, x);
    any_mark |= !mark.empty();
    marks += mark.empty() ? std::string(" ") : std::string(mark);
    axis += "─";
  }
  lines.push_back(axis);
  if (any_mark) lines.push_back(trimmed(std::move(marks)));
  const std::string left = fmt::format("{} {}", on.by_step ? "step" : "row", on.first),
                    right = fmt::format("{}", on.last);
  const size_t gap = cells > left.size() + right.size() ? cells - left.size() - right.size() : 1;
  lines.push_back(pad_to("", margin + 2) + left + std::string(gap, ' ') + right);
  return lines;
}

}  // namespace

std::vector<PlotColumn> plot_columns(const History& history, size_t count) {
  std::vector<PlotColumn> columns(count);
  if (history.size() == 0 || count == 0) return columns;
  const bool by_step = uses_steps(history);
  // Unsigned: steps may lie more than 2^63 apart.
  const auto offset = [&](size_t row) {
    return by_step ? static_cast<uint64_t>(history.steps[row]) - static_cast<uint64_t>(history.steps.front()) : row;
  };
  const auto span = static_cast<double>(offset(history.size() - 1));
  for (size_t row = 0; row < history.size(); ++row) {
    const double part = span > 0 ? static_cast<double>(offset(row)) / span : 0;
    const size_t column = std::min(count - 1, static_cast<size_t>(part * static_cast<double>(count)));
    add_value(to_double(history.type, history.bits[row]), &columns[column]);
  }
  return columns;
}

std::vector<PlotColumn> plot_columns(const StepCells& rows, size_t count) {
  std::vector<PlotColumn> columns(count);
  if (rows.empty() || count == 0) return columns;
  const auto begin = static_cast<uint64_t>(rows.front().x0);
  const auto span = static_cast<double>(static_cast<uint64_t>(rows.back().x1) - begin);
  for (const ChartCell<int64_t>& cell : rows) {
    const double part = span > 0 ? static_cast<double>(static_cast<uint64_t>(cell.x0) - begin) / span : 0;
    add_cell(cell, &columns[std::min(count - 1, static_cast<size_t>(part * static_cast<double>(count)))]);
  }
  return columns;
}

std::string sparkline(const History& history, size_t cells) { return sparkline_of(history, cells); }
std::string sparkline(const StepCells& rows, size_t cells) { return sparkline_of(rows, cells); }

std::vector<std::string> chart(const History& history, size_t width, size_t height) {
  return chart_of(history, width, height);
}
std::vector<std::string> chart(const StepCells& rows, size_t width, size_t height) {
  return chart_of(rows, width, height);
}

}  // namespace tracker::internal
