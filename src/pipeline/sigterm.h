// SPDX-License-Identifier: MIT
// init(on_sigterm="mark"): a handler of SIGTERM that marks the process's runs as preempted and calls the handler that
// was there before, or lets the signal end the process as it would have (decision 0035). The mark is a file in the
// run's journal, so it survives the process, and a flag for the drain thread, which records it. Threads: any; not in a
// signal's handler.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace tracker::internal {

// One a run. Never freed: a handler may be reading it.
struct SigtermMark {
  SigtermMark* next = nullptr;
  pid_t pid = 0;     // a forked child marks nothing of its parent's
  std::string path;  // of the file that is the mark; empty: the journal has no folder
  std::atomic<bool> watched{true};
  std::atomic<bool> seen{false};  // SIGTERM has come
};

// nullptr: somebody has put a handler in the place of ours, which may call ours; a second one of ours would call it in
// turn, for ever.
SigtermMark* watch_sigterm(const std::string& journal_dir);
// After the last one the previous handler is restored, unless another handler has replaced ours.
void unwatch_sigterm(SigtermMark* mark);

}  // namespace tracker::internal
