// SPDX-License-Identifier: MIT
// The runs that this process records. Those that are not finished yet are finished when the process exits by exit() or
// by returning from main: glibc's on_exit has the exit code, which never changes. Killed processes come nowhere near
// here; recovery serves them. Threads: any.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace tracker::internal {

class Run;

// Remembers `run` while somebody holds it; installs the exit handler at the first call, which finishes those that end
// with the process.
void finish_at_exit(const std::shared_ptr<Run>& run);

// Those of them that record the run `uid`, finished ones too. In a forked child only the child's own.
std::vector<std::shared_ptr<Run>> own_runs(std::string_view uid);

}  // namespace tracker::internal
