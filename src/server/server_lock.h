// SPDX-License-Identifier: MIT
// <store>/server.lock: a server holds it alone, a command that removes files of the store shares it with its like.
// Threads: pure functions. Cost: a few system calls.
#pragma once

#include "base/fs.h"
#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kServerLockFile = "server.lock";

// For as long as the result lives. kBusy: a server has the store, or such a command is at work.
Result<Fd> lock_for_server(const Store& store);
// No descriptor where no server has ever had the store. kBusy names the server that has it.
Result<Fd> lock_for_removal(const Store& store);

}  // namespace tracker::internal
