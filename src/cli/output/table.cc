// SPDX-License-Identifier: MIT
#include "cli/output/table.h"

#include <algorithm>
#include <numeric>

#include "cli/output/text.h"

namespace tracker::internal {
namespace {
constexpr size_t kGap = 2;  // blanks between columns
// Without a terminal nothing is cut, but one long name does not fill all other lines with blanks.
constexpr size_t kPaddedWidthMax = 60;
}  // namespace

void Table::add(std::vector<Cell> row) {
  for (Cell& cell : row) cell.text = visible(cell.text);
  row.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(row));
}

// The widest column that may still be cut gives one column at a time: long names lose before short ones.
Table::Fit Table::fit(std::vector<size_t> columns, int width, size_t indent) const {
  Fit out;
  size_t total = indent + kGap * (columns.size() - 1);
  for (const size_t column : columns) {
    size_t widest = display_width(columns_[column].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[column].text));
    if (width == 0) widest = std::min(widest, kPaddedWidthMax);
    out.widths.push_back(widest);
    total += widest;
  }
  while (width > 0 && total > static_cast<size_t>(width)) {
    size_t chosen = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t width_min = columns_[columns[i]].width_min;
      const bool may_shrink = width_min > 0 && out.widths[i] > width_min;
      if (may_shrink && (chosen == columns.size() || out.widths[i] > out.widths[chosen])) chosen = i;
    }
    out.fits = chosen != columns.size();
    if (!out.fits) break;
    --out.widths[chosen];
    --total;
  }
  out.columns = std::move(columns);
  return out;
}

std::string Table::render(const Console& console, size_t indent, std::vector<std::string>* left_out) const {
  std::vector<size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  std::vector<size_t> out_of_sight;
  Fit fitted = fit(shown, console.width, indent);
  while (!fitted.fits) {
    const auto last = std::max_element(shown.begin(), shown.end(), [this](size_t a, size_t b) {
      return columns_[a].leave_out < columns_[b].leave_out;
    });
    if (columns_[*last].leave_out == 0) break;  // what is left is wider than the terminal
    out_of_sight.push_back(*last);
    shown.erase(last);
    fitted = fit(shown, console.width, indent);
  }
  // A narrow one may fit where a wide one that was removed after it did not.
  for (size_t i = out_of_sight.size(); fitted.fits && i-- > 0;) {
    std::vector<size_t> more = shown;
    more.insert(std::upper_bound(more.begin(), more.end(), out_of_sight[i]), out_of_sight[i]);
    Fit wider = fit(more, console.width, indent);
    if (!wider.fits) continue;
    shown = std::move(more);
    fitted = std::move(wider);
    out_of_sight.erase(out_of_sight.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (left_out != nullptr)
    for (const size_t column : out_of_sight) left_out->push_back(columns_[column].title);
  std::vector<std::vector<std::string>> names(shown.size());  // of columns that are cut in their middle
  for (size_t i = 0; i < shown.size() && console.width > 0; ++i) {
    if (!columns_[shown[i]].middle) continue;
    for (const auto& row : rows_) names[i].push_back(row[shown[i]].text);
    names[i] = cut_names(names[i], fitted.widths[i]);
  }
  std::string out;
  const auto line = [&](const auto& cell_at, size_t row) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < shown.size(); ++i) {
      const TableColumn& column = columns_[shown[i]];
      const auto [cell, sgr] = cell_at(shown[i]);
      const bool may_cut = console.width > 0 && column.width_min > 0;
      const size_t width = fitted.widths[i];
      const std::string shown_cell = !may_cut ? cell : row < names[i].size() ? names[i][row] : cut_to(cell, width);
      const std::string padded = pad_to(shown_cell, width, column.right);
      text += sgr.empty() ? padded : console.paint(padded, sgr);
      text.append(i + 1 < shown.size() ? kGap : 0, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([this](size_t i) { return std::pair<std::string, std::string>(columns_[i].title, "1"); }, rows_.size());
  for (size_t at = 0; at < rows_.size(); ++at)
    line([&row = rows_[at]](size_t i) { return std::pair<std::string, std::string>(row[i].text, row[i].sgr); }, at);
  return out;
}

}  // namespace tracker::internal
