// SPDX-License-Identifier: MIT
// The disk space of a folder. Nothing is changed, no link below it is followed. Threads: any. Cost: a stat a file.
#pragma once

#include <cstdint>
#include <string>

namespace tracker::internal {

// Bytes allocated for the files and folders in and below `path`, which may be a link to a folder, without those in
// `except` (a path below it, or empty). `wal_twice`: the content of a WAL will be in its database too before the WAL is
// emptied, so it counts twice. Files that disappear meanwhile or cannot be read count nothing.
uint64_t disk_bytes(const std::string& path, const std::string& except = "", bool wal_twice = false);

}  // namespace tracker::internal
