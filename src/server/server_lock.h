// SPDX-License-Identifier: MIT
// <store>/server.lock: a server holds it exclusively; commands that remove files of the store share it. Threads: pure
// functions. Cost: a few system calls.
#pragma once

#include "base/fs.h"
#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kServerLockFile = "server.lock";

// Held for the life of the result. kBusy: a server has the store, or such a command is running.
Result<Fd> lock_for_server(const Store& store);
// No descriptor if no server has ever had the store. kBusy names the server that has it.
Result<Fd> lock_for_removal(const Store& store);

}  // namespace tracker::internal
