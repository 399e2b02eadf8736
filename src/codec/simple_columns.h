// SPDX-License-Identifier: MIT
// Column encodings 0 to 3 (docs/formats/frame.md, "Columns"), for column_table.h. Threads: pure functions. Cost: plain
// columns run at memory speed, deltas at some hundred million values a second.
#pragma once

#include "codec/column_table.h"

namespace tracker::internal {

bool encode_plain(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status check_plain(std::string_view body, uint64_t rows, ValueType type);
Status decode_plain(const ColumnRows& column);

bool encode_constant(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status decode_constant(const ColumnRows& column);

bool encode_arithmetic(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status decode_arithmetic(const ColumnRows& column);

bool encode_delta(std::span<const uint64_t> bits, ValueType type, std::string* out);
Status check_delta(std::string_view body, uint64_t rows, ValueType type);
Status decode_delta(const ColumnRows& column);

bool is_arithmetic(std::span<const uint64_t> values);  // at least three values

}  // namespace tracker::internal
