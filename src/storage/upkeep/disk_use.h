// SPDX-License-Identifier: MIT
// What a folder takes on its disk. Nothing is changed, no link below it is followed. Threads: any. Cost: a stat a file.
#pragma once

#include <cstdint>
#include <string>

namespace tracker::internal {

// Bytes allocated for the files and folders in and below `path`, which may be a link to a folder, but for what lies in
// `except` (a path below it, or empty). `wal_twice`: what is in a WAL will be in its database too before it is emptied,
// so it counts twice. What vanishes meanwhile or cannot be looked at counts nothing.
uint64_t disk_bytes(const std::string& path, const std::string& except = "", bool wal_twice = false);

}  // namespace tracker::internal
