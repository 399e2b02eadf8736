// SPDX-License-Identifier: MIT
// What a program writes to a terminal, as the lines that a terminal of any width shows: a carriage return goes back to
// the first column and what follows is written over what is there, so a progress bar is one line with a count of
// updates; the cursor's moves within the last lines are followed, so nested bars are one line each; other escape
// sequences are kept. A small part of ECMA-48 is all that is understood: CUU, CUD, CUF, CUB, CNL, CPL, CHA, EL, ED to
// the end, BS.
//
// A line is handed on when it ends, and again at most once a second while it still changes; who reads takes the last
// piece of a line. Threads: one at a time. Memory: kConsoleRows lines. Cost: a search a byte;
// of what is written over, and after a move, up to the line's length more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tracker::internal {

// Limit: bytes recorded of stdout, and of stderr, in a minute. Beyond it: cut; the lines say how much.
constexpr uint64_t kConsoleBytesAMinute = 10'000'000;
// Limit: bytes of a line of output. Beyond it: the rest is the next line, which readers join.
constexpr size_t kConsoleLineBytes = 32 * 1024;
constexpr size_t kConsolePieceBytes = 32 * 1024;  // lines of one piece together
// Limit: lines that a moving cursor can change. Beyond it: older lines stay as they were.
constexpr size_t kConsoleRows = 32;
// Limit: bytes of an escape sequence. Beyond it: it is text.
constexpr size_t kConsoleEscapeBytes = 64;
constexpr int64_t kConsoleRefreshNs = 1'000'000'000;  // a line that changes is handed on no more often

// Lines that follow each other, joined by newlines.
struct ConsolePiece {
  uint64_t line = 0;       // number of the first one, from 0
  std::string text;        // without the newline that ends it
  uint64_t updates = 0;    // how often the line was begun again; then it is alone
  bool open = false;       // the line has not ended yet; alone
  bool joined = false;     // the next line is the rest of this one; alone
  uint64_t cut_bytes = 0;  // not 0: so many bytes were cut here; alone, without text
  bool no_room = false;    // with it: they found no room; else they were more than a minute may have
};

class ConsoleLines {
 public:
  // False: there was no room for the piece. An open line is offered again; of others the next piece that finds room has
  // a mark in their place in front of it.
  using Emit = std::function<bool(const ConsolePiece&)>;
  explicit ConsoleLines(Emit emit);

  void write(std::string_view bytes, int64_t now_ns);
  // Hands on all that was not; the line that is open ends.
  void finish();
  uint64_t cut_bytes() const { return cut_total_; }

 private:
  struct Row {
    uint64_t line = 0;
    std::string text;
    uint64_t updates = 0;
    uint64_t cut_bytes = 0;
    bool done = false;      // its newline has come
    bool sent = false;      // in a piece before
    bool end_sent = false;  // and with its end
    bool changed = false;   // since then
    bool restart = false;   // the cursor is in front of its text: what comes is an update of it
    bool joined = false;
  };

  std::string_view within_budget(std::string_view bytes, int64_t now_ns);
  void parse(std::string_view bytes);
  void put(std::string_view text);
  void to_first_column();
  size_t column();
  void settle();
  void erase(Row* row);
  void erase_in_line(int how);
  void end_line();
  void next_row();
  bool take_escape(std::string_view* bytes);
  bool obey(std::string_view sequence);
  bool obey_erasing(std::string_view sequence);
  void note_cut();
  void hand_on(int64_t now_ns, bool all);
  static std::string_view shown(const Row& row);
  void send(Row* row);
  void send_batch();
  bool emit(const ConsolePiece& piece);
  bool tell_lost();
  void lose(const ConsolePiece& piece);

  Emit emit_;
  std::deque<Row> rows_;
  size_t at_ = 0;   // the row of the cursor
  size_t pos_ = 0;  // and where it is in the text of that
  std::optional<size_t>
      column_;  // the same where it has moved, until something is written; may be past the end of the text
  uint64_t next_line_ = 0;
  std::string escape_;  // begun, not ended
  std::string torn_;    // the start of a character
  ConsolePiece batch_;
  uint64_t batch_lines_ = 0;
  int64_t refreshed_ns_ = INT64_MIN / 2;
  int64_t minute_ns_ = INT64_MIN / 2;
  uint64_t minute_bytes_ = 0;
  uint64_t cut_ = 0;   // of a minute, not recorded in a piece yet
  ConsolePiece lost_;  // the mark for what found no room, not emitted yet; its cut_bytes are 0 where there is none
  uint64_t cut_total_ = 0;
};

}  // namespace tracker::internal
