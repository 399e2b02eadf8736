// SPDX-License-Identifier: MIT
// Threads of a run that are never joined and on which no signal handler of the user ever runs. Threads: any. Cost: one
// clone(2).
#pragma once

#include <functional>

#include "storage/store/store.h"

namespace tracker::internal {

// False when the system gives no thread.
bool start_background_thread(const char* name, const std::function<void()>& body);

// Replays what dead writers of `store` left in this user's journals (design 2: the next init does), without making init
// wait for it. Starts no thread when no journal is there. The thread may be killed at any point. Unless `quiet`
// it prints one line that journals of a former store at this path are still there.
void recover_in_background(const Store& store, bool quiet);

}  // namespace tracker::internal
