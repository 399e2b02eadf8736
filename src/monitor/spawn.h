// SPDX-License-Identifier: MIT
// A program that a thread of the monitor starts and reads. Threads: any.
#pragma once

#include <sys/types.h>

namespace tracker::internal {

// Starts `program` (looked for in PATH where it has no "/") with `output` as its standard output and /dev/null beside
// that; in a process group of its own, so that Ctrl-C is the caller's alone and what it starts is killed with it; with
// all signals as at the beginning, which the monitor's threads block. 0, or errno.
int spawn_apart(pid_t* pid, const char* program, char* const* arguments, char* const* environment, int output);

}  // namespace tracker::internal
