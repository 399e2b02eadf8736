// SPDX-License-Identifier: MIT
#include "cli/output/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/output/text.h"

namespace tracker::internal {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): the command line sets no variables
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// A line without its end; none where the terminal has no more.
std::optional<std::string> read_answer() {
  constexpr size_t kAnswerBytesMax = 4096;
  std::string out;
  for (char c = 0; out.size() < kAnswerBytesMax;) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out.empty() ? std::nullopt : std::optional(out);
    if (c == '\n') break;
    out.push_back(c);
  }
  return out;
}

int terminal_width() {
  if (::isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

void Console::print(std::string_view text) {
  if (out_status.ok()) out_status = write_out(text);
}

void Console::note(std::string_view text) { write_err(fmt::format("tracker: {}\n", visible(text))); }

void Console::error(const Status& status) {
  write_err(fmt::format("tracker: {}\n", visible_lines(status.to_string())));
}

bool Console::reader_left() const { return out_status.system_errno() == EPIPE; }

std::string Console::paint(std::string_view text, std::string_view sgr) const {
  return color ? fmt::format("\033[{}m{}\033[0m", sgr, text) : std::string(text);
}

Console process_console() {
  Console console;
  console.write_out = [](std::string_view text) { return write_all(STDOUT_FILENO, text); };
  console.pipe_closed = [] {
    pollfd out{STDOUT_FILENO, 0, 0};
    return ::poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
  };
  console.write_err = [](std::string_view text) { (void)write_all(STDERR_FILENO, text); };
  if (::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0) console.read_line = read_answer;
  console.width = terminal_width();
  console.color = console.width > 0 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  console.progress = ::isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb";
  console.now_us = realtime_us();
  return console;
}

}  // namespace tracker::internal
