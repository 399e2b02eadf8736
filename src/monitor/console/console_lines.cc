// SPDX-License-Identifier: MIT
#include "monitor/console/console_lines.h"

#include <algorithm>
#include <utility>

#include "monitor/console/terminal_text.h"

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
  const std::string joined = torn_.empty() ? std::string() : torn_.append(bytes);
  if (!joined.empty()) bytes = joined;
  torn_ = bytes.substr(bytes.size() - terminal_torn_tail(bytes));
  bytes.remove_suffix(torn_.size());
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
  if (!torn_.empty()) put(std::exchange(torn_, std::string()));
  note_cut();
  hand_on(0, true);
  for (const Row& row : rows_)
    if (row.changed)
      lose({row.line, std::string(shown(row)), row.updates, !row.done, row.joined, row.cut_bytes, false});
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
    const size_t end = std::min(bytes.find_first_of("\r\n\b"), bytes.size());
    put(bytes.substr(0, end));
    if (end < bytes.size() && bytes[end] == '\n') end_line();
    if (end < bytes.size() && bytes[end] == '\r') to_first_column();
    if (end < bytes.size() && bytes[end] == '\b') column_ = std::max<size_t>(column(), 1) - 1;
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void ConsoleLines::to_first_column() {
  pos_ = 0;
  column_.reset();
  rows_[at_].restart = !rows_[at_].text.empty();
}

size_t ConsoleLines::column() {
  if (!column_) column_ = terminal_columns(std::string_view(rows_[at_].text).substr(0, pos_));
  return *column_;
}

// The cursor has moved: from its column to its place in the text, with blanks up to there where the text is shorter.
void ConsoleLines::settle() {
  if (!column_) return;
  std::string& text = rows_[at_].text;
  size_t missing = 0;
  pos_ = terminal_offset(text, *column_, &missing);
  column_.reset();
  missing = std::min(missing, kConsoleLineBytes - std::min(text.size(), kConsoleLineBytes));
  minute_bytes_ = std::min(minute_bytes_ + missing, kConsoleBytesAMinute);  // few bytes can ask for many blanks
  text.append(missing, ' ');
  pos_ += missing;
}

void ConsoleLines::erase(Row* row) {
  row->restart = false;
  if (row->text.empty()) return;
  row->text.clear();
  ++row->updates;
  row->changed = true;
}

// 0: from the cursor to the end, 1: up to the cursor, 2: all. The cursor stays in its column.
void ConsoleLines::erase_in_line(int how) {
  Row& row = rows_[at_];
  const size_t here = column();
  if (how == 2 || (how == 0 && here == 0)) return erase(&row);
  size_t missing = 0;
  const size_t end = terminal_offset(row.text, how == 0 ? here : here + 1, &missing);
  row.changed = true;
  if (how == 0) row.text.resize(end);
  if (how == 1) row.text.replace(0, end, here + 1 - missing, ' ');
}

void ConsoleLines::put(std::string_view text) {
  if (text.empty()) return;
  settle();
  while (!text.empty()) {
    Row& row = rows_[at_];
    if (std::exchange(row.restart, false)) ++row.updates;
    const bool over = pos_ < row.text.size();
    const size_t room = kConsoleLineBytes - std::min(pos_, kConsoleLineBytes);
    const size_t take = whole_characters(over ? text.substr(0, terminal_cell(text)) : text, room);
    if (room == 0 || take == 0) {
      row.joined = true;
      end_line();
      continue;
    }
    if (over) {
      pos_ = terminal_overwrite(&row.text, pos_, text.substr(0, take));
      row.text.resize(whole_characters(row.text, kConsoleLineBytes));
    } else {
      row.text.append(text.substr(0, take));
      pos_ = row.text.size();
    }
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
  to_first_column();  // it may be a row that the cursor has been on before
}

// Appends a row after the last one; the cursor is on it.
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
  const size_t last = rows_.size() - 1;
  const auto n = static_cast<size_t>(std::max(parameter(sequence, 1), 1));
  switch (sequence.back()) {
    case 'A':
    case 'B':
    case 'E':
    case 'F': {
      const bool up = sequence.back() == 'A' || sequence.back() == 'F';
      (void)column();  // kept, until something is written there
      at_ = up ? at_ - std::min(at_, n) : std::min(at_ + n, last);
      if (sequence.back() >= 'E') to_first_column();
      return true;
    }
    case 'C': column_ = std::min(column() + n, kConsoleLineBytes); return true;
    case 'D': column_ = column() - std::min(column(), n); return true;
    case 'G': column_ = n - 1; return true;
    default: return obey_erasing(sequence);
  }
}

bool ConsoleLines::obey_erasing(std::string_view sequence) {
  const int how = parameter(sequence, 0);
  if (sequence.back() == 'K') {
    erase_in_line(how);
    return true;
  }
  if (sequence.back() != 'J' || how != 0) return false;
  erase_in_line(0);
  for (size_t row = at_ + 1; row < rows_.size(); ++row) erase(&rows_[row]);
  return true;
}

// A line of its own for what was cut.
void ConsoleLines::note_cut() {
  if (cut_ == 0) return;
  at_ = rows_.size() - 1;
  to_first_column();
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

// Without the blanks that a shorter text was written over a longer one with.
std::string_view ConsoleLines::shown(const Row& row) {
  const std::string_view text = row.text;
  return row.updates == 0 ? text : text.substr(0, text.find_last_not_of(' ') + 1);
}

void ConsoleLines::send(Row* row) {
  const std::string_view text = shown(*row);
  const bool alone = row->updates > 0 || row->joined || !row->done || row->sent || row->cut_bytes > 0;
  const bool follows = batch_lines_ > 0 && row->line == batch_.line + batch_lines_;
  if (alone || !follows || batch_.text.size() + text.size() >= kConsolePieceBytes) send_batch();
  row->sent = true;
  row->end_sent = row->done;
  row->changed = false;
  if (alone) {
    row->changed = !emit({row->line, std::string(text), row->updates, !row->done, row->joined, row->cut_bytes, false});
    return;
  }
  if (batch_lines_++ == 0) {
    batch_.line = row->line;
    batch_.text = text;
  } else {
    batch_.text.append("\n").append(text);
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

// In the place of the first missing line; the missing lines up to the next piece are counted there.
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
