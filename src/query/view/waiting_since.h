// SPDX-License-Identifier: MIT
// What a living writer has stored and counted between two snapshots, in the form of what waits in its journal: a reader
// that counts by the earlier snapshot takes it for waiting. Threads: pure functions. Cost: a pass over the series.
#pragma once

#include "storage/recovery/recovery.h"

namespace tracker::internal {

WaitingPoints stored_since(const WriterSnapshot& before, const WriterSnapshot& now);
void add_waiting(const WaitingPoints& more, WaitingPoints* into);

}  // namespace tracker::internal
