// SPDX-License-Identifier: MIT
// Goal: no bytes that a program prints crash, stall or grow what folds them into lines and takes secrets out of them,
// what is shown of a text moves no terminal, and a JSON document stays one. Method: the input is written to a console
// in pieces, whose size the first byte says; and redacted, made visible and read again as a whole.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/redact/private_key_lines.h"
#include "model/redact/redact.h"
#include "model/visible.h"
#include "monitor/console/console_lines.h"

using namespace tracker::internal;

namespace {

void fold(std::string_view text, size_t piece) {
  uint64_t lines_end = 0;
  size_t bytes = 0;
  ConsoleLines console([&](const ConsolePiece& out) {
    if (out.text.size() > kConsolePieceBytes) std::abort();
    if (out.line > lines_end + text.size()) std::abort();
    lines_end = std::max(lines_end, out.line);
    bytes += out.text.size();
    return true;
  });
  int64_t now_ns = 0;
  for (size_t at = 0; at < text.size(); at += piece) {
    console.write(text.substr(at, piece), now_ns);
    now_ns += kConsoleRefreshNs / 3;
  }
  console.finish();
  // A line is handed on again only each second: here at the most after each third piece.
  if (bytes > (text.size() + kConsoleRows * kConsoleLineBytes) * (text.size() / piece + 2)) std::abort();
}

void redact_twice(std::string_view text) {
  uint64_t count = 0;
  const std::string once = redact_text(text, &count);
  if ((count == 0) != (once == text)) std::abort();
  if (check_no_secret("text", text).ok() != (count == 0)) std::abort();
  (void)redact_code(text, &count);
}

// A document that is JSON stays JSON.
void redact_documents(std::string_view text) {
  uint64_t count = 0;
  const std::string clean = redact_json(text, &count);
  if (count == 0 && clean != text) std::abort();
  if (from_json(text).ok() && !from_json(clean).ok()) std::abort();
  count = 0;
  const std::string markup = redact_markup(text, &count);
  if ((count == 0) != (markup == text)) std::abort();
}

// As lines that follow each other: none goes and none comes, but where a key's first line takes the rest of its piece.
void redact_lines(std::string_view text, size_t piece) {
  PrivateKeyLines keys;
  uint64_t line = 0, count = 0;
  for (size_t at = 0; at < text.size(); at += piece) {
    const std::string_view part = text.substr(at, piece);
    const std::string clean = keys.redact(line, part, &count);
    if (std::count(clean.begin(), clean.end(), '\n') > std::count(part.begin(), part.end(), '\n')) std::abort();
    ++line;
  }
}

void check_visible(std::string_view text) {
  const std::string shown = visible(text);
  for (const char c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  if (visible(shown) != shown) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fold(text, 1 + data[0] % 64);
  redact_twice(text);
  redact_documents(text);
  redact_lines(text, 1 + data[0]);
  check_visible(text);
  return 0;
}
