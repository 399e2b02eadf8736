// SPDX-License-Identifier: MIT
#include "monitor/console_lines.h"

#include <algorithm>
#include <utility>

namespace tracker::internal {
namespace {

constexpr int64_t kMinuteNs = 60'000'000'000;

bool is_final(char c) { return c >= 0x40 && c <= 0x7e; }

// The first parameter of a control sequence, 1 where there is none and `fallback` says so.
int parameter(std::string_view sequence, int fallback) {
  int value = 0;
  bool any = false;
  for (const char c : sequence.substr(2)) {
    if (c < '0' || c > '9') break;
    value = std::min(value * 10 + (c - '0'), 10'000);
    any = true;
  }
  return any ? value : fallback;
}

// How much of `text` is at most `limit` bytes without a torn UTF-8 character at the end.
size_t whole_characters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  size_t at = limit;
  while (at > 0 && limit - at < 3 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at == 0 ? limit : at;
}

}  // namespace

ConsoleLines::ConsoleLines(Emit emit) : emit_(std::move(emit)) { next_row(); }

void ConsoleLines::write(std::string_view bytes, int64_t now_ns) {
  bytes = within_budget(bytes, now_ns);
  while (!bytes.empty()) {
    if (!escape_.empty() || bytes[0] == '\x1b') {
      if (!take_escape(&bytes)) break;
      continue;
    }
    const size_t end = std::min(bytes.find('\x1b'), bytes.size());
    parse(bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
  hand_on(now_ns, false);
}

void ConsoleLines::finish() {
  if (!escape_.empty()) put(std::exchange(escape_, std::string()));
  note_cut();
  hand_on(0, true);
  for (const Row& row : rows_)
    if (row.changed) lose({row.line, row.text, row.updates, !row.done, row.joined, row.cut_bytes, false});
  (void)tell_lost();
}

std::string_view ConsoleLines::within_budget(std::string_view bytes, int64_t now_ns) {
  if (now_ns - minute_ns_ >= kMinuteNs) {
    minute_ns_ = now_ns;
    minute_bytes_ = 0;
    note_cut();
  }
  const uint64_t room = kConsoleBytesAMinute - minute_bytes_;
  const std::string_view taken = bytes.substr(0, whole_characters(bytes, static_cast<size_t>(room)));
  minute_bytes_ += taken.size();
  if (taken.size() < bytes.size()) minute_bytes_ = kConsoleBytesAMinute;  // nothing more before the minute is over
  cut_ += bytes.size() - taken.size();
  cut_total_ += bytes.size() - taken.size();
  return taken;
}

// Text without escape sequences.
void ConsoleLines::parse(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    put(bytes.substr(0, end));
    if (end < bytes.size() && bytes[end] == '\n') end_line();
    if (end < bytes.size() && bytes[end] == '\r') rows_[at_].restart = !rows_[at_].text.empty();
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void ConsoleLines::erase(Row* row) {
  row->restart = false;
  if (row->text.empty()) return;
  row->text.clear();
  ++row->updates;
  row->changed = true;
}

void ConsoleLines::put(std::string_view text) {
  while (!text.empty()) {
    Row& row = rows_[at_];
    if (row.restart) erase(&row);
    const size_t room = kConsoleLineBytes - std::min(row.text.size(), kConsoleLineBytes);
    const size_t take = whole_characters(text, room);
    if (room == 0 || take == 0) {
      row.joined = true;
      end_line();
      continue;
    }
    row.text.append(text.substr(0, take));
    row.changed = true;
    text.remove_prefix(take);
  }
}

void ConsoleLines::end_line() {
  Row& row = rows_[at_];
  row.restart = false;
  if (!row.done) row.changed = true;
  row.done = true;
  if (++at_ == rows_.size()) next_row();
}

// Behind the last row. The cursor is on it.
void ConsoleLines::next_row() {
  if (rows_.size() == kConsoleRows) {
    if (rows_.front().changed) send(&rows_.front());
    rows_.pop_front();
  }
  rows_.emplace_back().line = next_line_++;
  at_ = rows_.size() - 1;
}

// One sequence, which may have begun in an earlier call. False: it goes on in the next one.
bool ConsoleLines::take_escape(std::string_view* bytes) {
  while (!bytes->empty()) {
    const char c = bytes->front();
    const bool control = escape_.size() >= 2 && escape_[1] == '[';
    if (!escape_.empty() && static_cast<unsigned char>(c) < 0x20) {  // not a sequence after all
      put(std::exchange(escape_, std::string()));
      return true;
    }
    escape_.push_back(c);
    bytes->remove_prefix(1);
    const bool ended = escape_.size() == 2 ? c != '[' : control && is_final(c);
    if (!ended && escape_.size() < kConsoleEscapeBytes) continue;
    const std::string sequence = std::exchange(escape_, std::string());
    if (!obey(sequence)) put(sequence);
    return true;
  }
  return false;
}

// False: it is none that moves or erases.
bool ConsoleLines::obey(std::string_view sequence) {
  if (sequence.size() < 3 || sequence[1] != '[') return false;
  const auto up = [&](int rows) { at_ -= std::min(at_, static_cast<size_t>(rows)); };
  const auto down = [&](int rows) { at_ = std::min(at_ + static_cast<size_t>(rows), rows_.size() - 1); };
  switch (sequence.back()) {
    case 'A': up(parameter(sequence, 1)); return true;
    case 'B': down(parameter(sequence, 1)); return true;
    case 'E': down(parameter(sequence, 1)); break;
    case 'F': up(parameter(sequence, 1)); break;
    case 'K':
      if (parameter(sequence, 0) == 2 || rows_[at_].restart) erase(&rows_[at_]);
      return true;
    default: return false;
  }
  rows_[at_].restart = !rows_[at_].text.empty();
  return true;
}

// A line of its own for what was cut.
void ConsoleLines::note_cut() {
  if (cut_ == 0) return;
  at_ = rows_.size() - 1;
  if (!rows_[at_].text.empty()) end_line();
  Row& row = rows_[at_];
  row.cut_bytes = std::exchange(cut_, 0);
  end_line();
}

void ConsoleLines::hand_on(int64_t now_ns, bool all) {
  const bool refresh = all || now_ns - refreshed_ns_ >= kConsoleRefreshNs;
  for (Row& row : rows_) {
    if (!row.changed) continue;
    const bool fresh = row.done && !row.end_sent;
    if (!fresh && !refresh) continue;
    if (!fresh) refreshed_ns_ = now_ns;
    send(&row);
  }
  send_batch();
}

void ConsoleLines::send(Row* row) {
  const bool alone = row->updates > 0 || row->joined || !row->done || row->sent || row->cut_bytes > 0;
  const bool follows = batch_lines_ > 0 && row->line == batch_.line + batch_lines_;
  if (alone || !follows || batch_.text.size() + row->text.size() >= kConsolePieceBytes) send_batch();
  row->sent = true;
  row->end_sent = row->done;
  row->changed = false;
  if (alone) {
    row->changed = !emit({row->line, row->text, row->updates, !row->done, row->joined, row->cut_bytes, false});
    return;
  }
  if (batch_lines_++ == 0) {
    batch_.line = row->line;
    batch_.text = row->text;
  } else {
    batch_.text.append("\n").append(row->text);
  }
}

void ConsoleLines::send_batch() {
  if (batch_lines_ > 0) (void)emit(batch_);
  batch_ = {};
  batch_lines_ = 0;
}

// False for an open line that found no room: it is there still, and nothing is lost.
bool ConsoleLines::emit(const ConsolePiece& piece) {
  if (tell_lost() && emit_(piece)) return true;
  if (piece.open) return false;
  lose(piece);
  return true;
}

// False: the mark finds no room either.
bool ConsoleLines::tell_lost() {
  if (lost_.cut_bytes == 0) return true;
  if (!emit_(lost_)) return false;
  lost_ = {};
  return true;
}

// In the place of the first line that is missing; those behind it up to the next piece count there.
void ConsoleLines::lose(const ConsolePiece& piece) {
  if (lost_.cut_bytes == 0) {
    lost_.line = piece.line;
    lost_.no_room = true;
  }
  const uint64_t bytes = piece.text.size() + (piece.joined || piece.cut_bytes > 0 ? 0 : 1);
  lost_.cut_bytes += bytes + piece.cut_bytes;
  cut_total_ += bytes;
}

}  // namespace tracker::internal
