// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include <algorithm>

#include "cli/text.h"

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
std::vector<size_t> Table::fitted_widths(int width, size_t indent) const {
  std::vector<size_t> widths;
  size_t total = indent + kGap * (columns_.size() - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t widest = display_width(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[i].text));
    if (width == 0) widest = std::min(widest, kPaddedWidthMax);
    widths.push_back(widest);
    total += widest;
  }
  while (width > 0 && total > static_cast<size_t>(width)) {
    size_t chosen = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool may_shrink = columns_[i].width_min > 0 && widths[i] > columns_[i].width_min;
      if (may_shrink && (chosen == columns_.size() || widths[i] > widths[chosen])) chosen = i;
    }
    if (chosen == columns_.size()) break;
    --widths[chosen];
    --total;
  }
  return widths;
}

std::string Table::render(const Console& console, size_t indent) const {
  const std::vector<size_t> widths = fitted_widths(console.width, indent);
  std::string out;
  const auto line = [&](const auto& cell_at) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto [cell, sgr] = cell_at(i);
      const std::string padded =
          pad_to(console.width > 0 ? cut_to(cell, widths[i]) : cell, widths[i], columns_[i].right);
      text += sgr.empty() ? padded : console.paint(padded, sgr);
      text.append(i + 1 < columns_.size() ? kGap : 0, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([this](size_t i) { return std::pair<std::string, std::string>(columns_[i].title, "1"); });
  for (const auto& row : rows_)
    line([&row](size_t i) { return std::pair<std::string, std::string>(row[i].text, row[i].sgr); });
  return out;
}

}  // namespace tracker::internal
