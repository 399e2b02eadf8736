// SPDX-License-Identifier: MIT
// Small JSON documents of a store that contain their format and version. Threads: pure functions and file reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

constexpr size_t kDocumentBytesMax = 64 * 1024;

// kNotFound, kCorrupt, kLimit, and kVersion above `version_max`; all name the file.
Result<Value> read_document(const std::string& path, std::string_view format, int version_max,
                            size_t bytes_max = kDocumentBytesMax);

// A damaged document is renamed to <name>.damaged-1, -2, …
// Limit: damaged store.json or run.json files that are kept beside the new one. Beyond it: the damaged file stays and
// is reported.
constexpr int kDamagedKeptMax = 100;

// Replaces the damaged document at `path`, keeps the damaged one under another name and returns that name; empty if
// there was none: a missing one is made, and one that another process has repaired meanwhile is kept. Any number of
// processes may do it at the same time. `is_sound`: must return true also for a document of a newer version, and for
// one that cannot be read. Errors: kIo, kLimit.
Result<std::string> repair_document(const std::string& path, std::string_view text,
                                    bool (*is_sound)(const std::string& path));

}  // namespace tracker::internal
