// SPDX-License-Identifier: MIT
// The table of column encodings: for each one how a column is encoded, checked and decoded (docs/formats/frame.md,
// "Columns"; docs/formats/segment.md). A column is one byte, its encoding, and a body. An encoding is added here, in
// the documents, and where encodings are chosen: best_column.cc for segments, columns.cc for frames. Threads: pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/packed.h"
#include "model/number.h"

namespace tracker::internal {

// First byte of an encoded column. On disk: do not change the numbers.
enum class ColumnEncoding : uint8_t {
  kPlain = 0,         // rows x width bytes, little-endian
  kConstant = 1,      // one value of `width` bytes
  kArithmetic = 2,    // int64 first, int64 stride; value i = first + i * stride, modulo 2^64
  kDelta = 3,         // rows varints: zigzag of the difference to the previous value (to 0 for the first), modulo 2^64
  kPacked = 4,        // packed.h
  kPackedDeltas = 5,  // packed.h
  kShuffled = 6,      // shuffled.h
  kPackedSecond = 7,  // packed.h: differences of order 2
  kPackedThird = 8,   // packed.h: of order 3
  kDecimal = 9,       // decimal.h
};

// The rows of a column to decode: [begin, end), begin <= end <= rows, at the type's own width into `out`, which has
// room for them. `checked`: the column was decoded before with the same rows and type, so nothing is checked again.
struct ColumnRows {
  std::string_view body;
  uint64_t rows = 0;
  ValueType type{};
  uint64_t begin = 0, end = 0;
  void* out = nullptr;
  bool checked = false;
};

struct ColumnCodec {
  std::string_view name;
  std::optional<ValueType> only;  // the encoding exists for this type alone
  bool by_parts;                  // the cost of decoding a range depends on its rows and not on those of the column
  // Appends the body. False: the encoding cannot hold these values, or takes more than kPlain; `out` may be longer.
  bool (*encode)(std::span<const uint64_t> bits, ValueType type, std::string* out);
  // Whether the body can hold so many rows; called before memory is allocated for them. kCorrupt.
  Status (*check)(std::string_view body, uint64_t rows, ValueType type);
  // kCorrupt with the offset within the column.
  Status (*decode)(const ColumnRows& column);
};

bool exists_for(const ColumnCodec& codec, ValueType type);

// Appends encoding byte and body. Returns false and leaves `out` unchanged if the encoding cannot hold the values or is
// not in the table.
bool put_column(ColumnEncoding encoding, std::span<const uint64_t> bits, ValueType type, std::string* out);

// The encoding of an encoded column. kCorrupt: the column is empty; kVersion: the encoding is not in the table.
Result<const ColumnCodec*> codec_of(std::string_view column);

Status corrupt_column(std::string_view what, size_t offset);  // kCorrupt; offset within the column

}  // namespace tracker::internal
