// SPDX-License-Identifier: MIT
// What the processes of a run wrote to stdout and stderr, line by line. A line that was recorded several times while
// it changed counts once, as it was last. Threads: as RunView.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

// Limit: lines that one reading of the output gives by default, the last ones. Beyond it: `total` says how many there
// are.
constexpr size_t kConsoleLinesMax = 100'000;

struct ConsoleLine {
  RowSource source;     // attempt, rank, writer
  int stream = 1;       // 1 stdout, 2 stderr
  uint64_t number = 0;  // of the stream of its writer, from 0
  int64_t time_us = 0;  // when it was first seen
  std::string text;
  uint64_t updates = 0;    // how often it was begun again: a progress bar
  bool open = false;       // it had not ended
  bool joined = false;     // the next line is the rest of it
  uint64_t cut_bytes = 0;  // not 0: so many bytes are missing here, more than is recorded a minute
  bool no_room = false;    // with it: not for that, they found no room on their way to the disk
};

struct ConsoleQuery {
  std::optional<int64_t> rank;
  int stream = 0;                  // 0: both
  std::string contains;            // bytes that a line must hold; empty: all lines
  size_t last = kConsoleLinesMax;  // of the lines that are left, so many from the end
  bool count = true;               // false: only as much is read as it takes; `total` then is no less than that
};

struct ConsoleOutput {
  std::vector<ConsoleLine> lines;  // by the time they were first seen, those of one stream in their order
  uint64_t total = 0;              // that the query chooses; more than lines where `last` has cut
};

// Up to the last snapshot. Damaged frames are passed over and named in problems(). Memory: `last` lines of each stream
// of each writer. Cost: reads every frame, decodes no column.
Result<ConsoleOutput> read_console(RunView* run, const ConsoleQuery& query = {});

// A line as a person reads it, without newline: what was cut is said in brackets.
std::string console_text(const ConsoleLine& line);

}  // namespace tracker::internal
