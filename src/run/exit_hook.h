// SPDX-License-Identifier: MIT
// Runs that nobody finished are finished when the process exits by exit() or by returning from main: glibc's on_exit
// tells the exit code, which never changes. Killed processes come nowhere near here; recovery serves them. Threads:
// any.
#pragma once

#include <memory>

namespace tracker::internal {

class Run;

// Remembers `run` until it is finished; installs the exit handler at the first call.
void finish_at_exit(const std::shared_ptr<Run>& run);

}  // namespace tracker::internal
