// SPDX-License-Identifier: MIT
// Goal: no bytes make the decoder of any column encoding read or write out of bounds; a part of a column is that part
// of the whole. Method: the input is type, number of rows, range and column; the caller's memory is as large as it must
// be, so that AddressSanitizer sees each byte too many.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "codec/columns.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 7;
  if (size < kHead) return 0;
  const auto type = static_cast<ValueType>(1 + data[0] % 6);
  uint16_t numbers[3];
  std::memcpy(numbers, data + 1, sizeof numbers);
  const uint64_t rows = numbers[0];
  const uint64_t end = std::min<uint64_t>(numbers[2], rows);
  const uint64_t begin = std::min<uint64_t>(numbers[1], end);
  const std::string_view column(reinterpret_cast<const char*>(data) + kHead, size - kHead);
  const size_t width = value_width(type);
  // Made by new: aligned as memory of any type.
  const auto whole = std::make_unique<char[]>(rows * width);
  const auto part = std::make_unique<char[]>((end - begin) * width);
  std::vector<uint64_t> wide;
  const bool wide_ok = decode_value_column(column, rows, type, &wide).ok();  // also of what is refused below
  const bool ok = decode_rows(column, rows, type, RowRange(), whole.get()).ok();
  const bool part_ok = decode_rows(column, rows, type, {begin, end}, part.get()).ok();
  if (!ok) return 0;
  if (!part_ok || std::memcmp(part.get(), whole.get() + begin * width, (end - begin) * width) != 0) std::abort();
  if (!decode_rows(column, rows, type, {begin, end}, part.get(), true).ok() ||
      std::memcmp(part.get(), whole.get() + begin * width, (end - begin) * width) != 0)
    std::abort();
  if (!wide_ok || wide.size() != rows) std::abort();
  for (uint64_t row = 0; row < rows; ++row)
    if (std::memcmp(&wide[row], whole.get() + row * width, width) != 0) std::abort();
  return 0;
}
