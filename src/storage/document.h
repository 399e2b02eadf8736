// SPDX-License-Identifier: MIT
// Small JSON documents of a store that say which format and version they are. Threads: pure functions and file reads.
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

}  // namespace tracker::internal
