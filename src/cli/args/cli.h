// SPDX-License-Identifier: MIT
// The command line of tracker, shared by the native program and the Python entry point: ls, show, tail,
// export, import, verify, gc, rm, doctor, server, ui, version.
// docs/cli.md documents every command and exit code. Writes to the descriptors 1 and 2. Threads: one call at a time.
#pragma once

namespace tracker::internal {

struct PythonSide;  // cli/commands/python_side.h

// Runs one command line, argv[0] being the program; returns its exit code. Never throws, never exits.
// `python`: what the Python package adds; null without it.
int cli_main(int argc, const char* const* argv, const PythonSide* python = nullptr);

}  // namespace tracker::internal
