// SPDX-License-Identifier: MIT
// One column to bytes and back. The encoders here choose the smallest of the cheap encodings, for frames; best_column.h
// has the one for segments. The decoders use the table of column_table.h and trust nothing: every length is checked
// against the available bytes before memory is allocated.
// Threads: pure functions. Cost: plain columns run at memory speed, deltas at some hundred million values a second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codec/column_table.h"
#include "codec/packed.h"
#include "model/number.h"

namespace tracker::internal {

void encode_int_column(std::span<const int64_t> values, std::string* out);
void encode_value_column(std::span<const uint64_t> bits, ValueType type, std::string* out);

// Append `rows` values to `out`. kCorrupt names the offset within the column, kVersion an encoding of a newer version.
// After a failure, the content of `out` after its former end is unspecified.
Status decode_int_column(std::string_view column, uint64_t rows, std::vector<int64_t>* out);
Status decode_value_column(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out);

// Whether the column can hold so many rows; called before memory is allocated for them. kCorrupt, kVersion.
Status check_length(std::string_view column, uint64_t rows, ValueType type);

// Whether the cost of decoding a range depends on its rows and not on those of the column.
bool decodes_by_parts(std::string_view column);
// The rows of `range`, at the type's own width (float64 and int64 8 bytes, float32 4, ...), into `out`, which has room
// for them. Packed columns are decoded by mini-blocks, zstd and varints from their start. `checked`: the column was
// decoded before with the same rows and type, and nothing is checked again; if that is not true, memory is read and
// written out of bounds. Failures as above.
Status decode_rows(std::string_view column, uint64_t rows, ValueType type, RowRange range, void* out,
                   bool checked = false);

}  // namespace tracker::internal
