// SPDX-License-Identifier: MIT
// Where a command writes and what it may assume about that place. A value, so that tests read what a command wrote,
// with a width and a clock of their own. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/recovery/recovery.h"

namespace tracker::internal {

constexpr int64_t kProgressQuietNs = 1'000'000'000;  // what takes less needs no bar

struct PythonSide;  // cli/commands/python_side.h

struct Console {
  std::function<Status(std::string_view)> write_out;
  std::function<bool()> pipe_closed;  // the reader of a pipe has closed it; unset: it is not known
  std::function<void(std::string_view)> write_err;
  std::function<std::optional<std::string>()>
      read_line;  // an answer of the person at the terminal; unset: there is none
  int width = 0;  // columns of the terminal; 0: no terminal, lines may be of any length
  bool color = false;
  bool progress = false;  // stderr is a terminal: long work may draw a bar there
  int64_t progress_after_ns = kProgressQuietNs;
  int64_t now_us = 0;
  Code recovery_met = Code::kOk;               // recovery named something damaged or newer: the exit code says so
  std::vector<UnfinishedRecovery> unfinished;  // rows that recovery left to others: documents say so
  std::vector<std::string> recovery_problems;  // what it named, one line each: documents hold them too
  std::vector<std::string> recovered_folders;  // of runs: what waited for them was stored there just now
  const PythonSide* python = nullptr;          // what the Python package adds; null in the native program
  Status out_status;                           // the first failure of write_out; after it nothing more is written

  void print(std::string_view text);
  // One line on stderr, "tracker: " in front. The text may hold names from runs: it is made visible here.
  void note(std::string_view text);
  void error(const Status& status);
  // The reader of our output went away (`tracker export … | head`): no error.
  bool reader_left() const;

  std::string paint(std::string_view text,
                    std::string_view sgr) const;  // sgr as "31" or "1;32"; the text alone without color
};

// The process's own stdout and stderr. Colour: a terminal, TERM not "dumb", NO_COLOR unset or empty.
Console process_console();

}  // namespace tracker::internal
