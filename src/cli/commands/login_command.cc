// SPDX-License-Identifier: MIT
// tracker login: host and token of a server, saved for this user's runs.
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "cli/commands/command.h"
#include "cli/output/text.h"
#include "run/services/upload.h"

namespace tracker::internal {
namespace {

// One line of stdin. At a terminal it is asked for and not shown; `ps` would show a token in the arguments.
std::string read_token(Console& console) {
  termios shown{};
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &shown) == 0;
  if (is_terminal) {
    termios hidden = shown;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);  // a Ctrl-C here would leave a terminal that shows nothing
    console.write_err("Token: ");
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  }
  std::string out;
  std::getline(std::cin, out);
  if (is_terminal) {
    (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    console.write_err("\n");
  }
  return out;
}

}  // namespace

int run_login(Console& console, const std::string& host) {
  const char* variable = std::getenv("TRACKER_TOKEN");
  std::string token = variable != nullptr ? variable : "";
  if (token.empty()) token = read_token(console);
  if (token.empty())
    return fail(console, Status(Code::kInvalid, "no token was given: nothing was saved",
                                "type it, send it on stdin, or set TRACKER_TOKEN"));
  if (const Status status = login(host, token, [] { return true; }); !status.ok()) {
    (void)fail(console, status);
    return kExitFailed;
  }
  console.print("logged in: runs of mode online, tracker sync and tracker.connect() use this server\n");
  return finish(console, {}, Code::kOk);
}

}  // namespace tracker::internal
