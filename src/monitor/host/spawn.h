// SPDX-License-Identifier: MIT
// A program that a thread of the monitor starts and reads. Threads: any.
#pragma once

#include <sys/types.h>

#include "base/fs.h"

namespace tracker::internal {

// Starts `program` (searched for in PATH where it has no "/") with `output` as its standard output and /dev/null beside
// that; in a process group of its own, so that Ctrl-C is the caller's alone and what it starts is killed with it; with
// all signals as at the beginning, which the monitor's threads block. 0, or errno.
int spawn_apart(pid_t* pid, const char* program, char* const* arguments, char* const* environment, int output);

// The same, as no child of this process, whose wait() shall not meet it: one in between starts it, which wait() does
// not see either, and ends. Where this process is the one that orphans go to (process 1 of a container) it is a child
// all the same. *exited becomes readable when it has ended, and names it to pidfd_send_signal(); none before Linux 5.3.
int spawn_orphan(pid_t* pid, Fd* exited, const char* program, char* const* arguments, char* const* environment,
                 int output);

}  // namespace tracker::internal
