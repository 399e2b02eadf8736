// SPDX-License-Identifier: MIT
// What the process writes to stdout and stderr, on its way into the run. Threads: any. Memory: the lines of two
// ConsoleLines.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>

#include "model/redact/private_key_lines.h"
#include "monitor/console/console_lines.h"

namespace tracker::internal {

// On disk (docs/formats/records.md): do not change the numbers.
enum class ConsoleStream : uint8_t { kStdout = 1, kStderr = 2 };

class RunConsole {
 public:
  // False: there is no room for the payload.
  using Log = std::function<bool(const std::string& payload)>;
  explicit RunConsole(Log log);

  void write(ConsoleStream stream, std::string_view bytes);
  void finish();  // what has not ended goes too; nothing is taken afterwards
  uint64_t cut_bytes() const;
  uint64_t redacted() const;

 private:
  bool log_piece(ConsoleStream stream, const ConsolePiece& piece);

  Log log_;
  mutable std::mutex mutex_;  // guards what follows
  ConsoleLines out_, err_;
  PrivateKeyLines out_keys_, err_keys_;
  uint64_t redacted_ = 0;
  bool finished_ = false;
};

}  // namespace tracker::internal
