// SPDX-License-Identifier: MIT
// The encoder of a segment's columns: chooses on a sample among all encodings of columns.h. Threads: pure functions.
// Cost: some tens of nanoseconds a value. Memory: 8 bytes a value of a mini-block, and the bytes it writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/columns.h"

namespace tracker::internal {

// Appends the column, encoding byte first. Values are raw bits; steps and times are kInt64.
void encode_best_column(std::span<const uint64_t> bits, ValueType type, std::string* out);
// Of int64, and without zstd, so that it decodes by parts.
void encode_best_parts(std::span<const uint64_t> words, std::string* out);

}  // namespace tracker::internal
