// SPDX-License-Identifier: MIT
#include <csignal>

#include "cli/args/cli.h"

int main(int argc, char** argv) {
  // A reader that leaves is no failure (docs/cli.md): the write fails instead, and the exit code is 0.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails too
  return tracker::internal::cli_main(argc, argv);
}
