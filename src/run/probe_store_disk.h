// SPDX-License-Identifier: MIT
// Whether the disk of a store answers at all, asked before init works on it: a call into a file system that hangs (a
// server that is gone, a frozen volume) has no time limit of its own, and a training must not wait there.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"

namespace tracker::internal {

// Limit: time that init waits for the disk of the store. Beyond it: the run begins in memory, reported, and is stored
// later; a resume is an error.
constexpr std::chrono::seconds kStoreAnswerMax{10};  // a disk that spins up, a volume that is mounted on its first use

// Makes the store where it is not there yet and writes a byte into a file without a name in it, on a background thread.
// kIo: there was no answer within `wait`; the thread stays until there is one. An error is an answer, and the system
// that gives no thread leaves the question open: both are ok, the caller meets them by itself. Cost: a thread, four
// system calls in a store that is there.
Status probe_store_disk(const std::string& store_path, std::chrono::seconds wait = kStoreAnswerMax);

}  // namespace tracker::internal
