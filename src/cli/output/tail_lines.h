// SPDX-License-Identifier: MIT
// The rows of a tail as lines: what one call logged is on one line. Pure functions. Threads: values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/output/console.h"
#include "query/tail/tail_events.h"

namespace tracker::internal {

struct TailLine {
  int64_t time_us = 0;
  bool has_step = false;
  int64_t step = 0;
  RowSource source;
  EventType type = EventType::kEnd;                       // of an event; kEnd: numbers
  std::vector<std::pair<std::string, std::string>> text;  // name and value as shown
  Value values = Value::map();                            // the same for JSON
};

// The order of a tail.
bool comes_before(const TailLine& a, const TailLine& b);

// In the order of their times; of one time by writer, then as logged.
std::vector<TailLine> tail_lines(const TailBatch& batch, const std::vector<TailedEvent>& events);

// Made visible, cut to a terminal's width. `ranks`: says which rank.
std::string tail_text(const Console& console, const TailLine& line, bool ranks);
// One line of JSON.
std::string tail_json(const TailLine& line);

}  // namespace tracker::internal
