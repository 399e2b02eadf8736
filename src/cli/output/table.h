// SPDX-License-Identifier: MIT
// A table of text in aligned columns, fitted to the terminal by cutting the columns that may be cut. Threads: values.
#pragma once

#include <string>
#include <vector>

#include "cli/output/console.h"

namespace tracker::internal {

struct TableColumn {
  std::string title;
  bool right = false;    // numbers
  size_t width_min = 0;  // may be cut down to this; 0: never cut
  int leave_out = 0;     // where cutting is not enough: the largest goes first; 0: stays
  bool middle = false;   // names: what is cut is their middle
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  // Cells are plain text and made visible here. `sgr` colours the whole cell where the console has colours.
  struct Cell {
    std::string text;
    std::string sgr;
    // NOLINTNEXTLINE(google-explicit-constructor)
    Cell(std::string t, std::string s = "") : text(std::move(t)), sgr(std::move(s)) {}
    Cell(const char* t) : text(t) {}  // NOLINT(google-explicit-constructor)
  };
  void add(std::vector<Cell> row);
  // Lines of at most console.width columns (any length without a terminal), each after `indent` blanks.
  // `left_out`: titles of the columns for which there was no room.
  std::string render(const Console& console, size_t indent = 0, std::vector<std::string>* left_out = nullptr) const;

 private:
  struct Fit {
    std::vector<size_t> columns, widths;  // which, and how wide
    bool fits = true;
  };
  Fit fit(std::vector<size_t> columns, int width, size_t indent) const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tracker::internal
