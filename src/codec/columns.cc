// SPDX-License-Identifier: MIT
#include "codec/columns.h"

#include <algorithm>
#include <cstring>

#include "codec/simple_columns.h"

namespace tracker::internal {
namespace {

constexpr size_t kFewWords = 8;   // up to so many small equal numbers are shorter as deltas than as a constant
constexpr size_t kFewTerms = 16;  // a sequence of at most so many values may be shorter as deltas
constexpr size_t kArithmeticBytes = 1 + 16;  // first value and stride

void encode_words(std::span<const uint64_t> v, std::string* out) {
  constexpr ValueType kType = ValueType::kInt64;
  const bool same = v.size() > 1 && std::all_of(v.begin(), v.end(), [&v](uint64_t x) { return x == v.front(); });
  if (same && v.size() < kFewWords && put_column(ColumnEncoding::kDelta, v, kType, out)) return;
  if (same && put_column(ColumnEncoding::kConstant, v, kType, out)) return;
  const size_t start = out->size();
  if (v.size() < kFewTerms && is_arithmetic(v) && put_column(ColumnEncoding::kDelta, v, kType, out)) {
    if (out->size() - start <= kArithmeticBytes) return;
    out->resize(start);
  }
  if (put_column(ColumnEncoding::kArithmetic, v, kType, out)) return;
  if (!put_column(ColumnEncoding::kDelta, v, kType, out)) put_column(ColumnEncoding::kPlain, v, kType, out);
}

// A pointer to `rows` new values at the end of `out`.
template <typename T>
T* grow(std::vector<T>* out, uint64_t rows) {
  const size_t start = out->size();
  out->resize(start + rows);
  return out->data() + start;
}

template <typename Word>
void widen(const std::string& values, uint64_t* to) {
  for (size_t i = 0; i < values.size() / sizeof(Word); ++i) {
    Word word;
    std::memcpy(&word, values.data() + i * sizeof word, sizeof word);
    to[i] = word;
  }
}

}  // namespace

void encode_int_column(std::span<const int64_t> values, std::string* out) {
  // int64_t and uint64_t may alias each other.
  encode_words({reinterpret_cast<const uint64_t*>(values.data()), values.size()}, out);
}

void encode_value_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  if (type == ValueType::kInt64) return encode_words(bits, out);
  if (bits.size() > 1 && put_column(ColumnEncoding::kConstant, bits, type, out)) return;
  put_column(ColumnEncoding::kPlain, bits, type, out);
}

Status check_length(std::string_view column, uint64_t rows, ValueType type) {
  auto codec = codec_of(column);
  TRACKER_RETURN_IF_ERROR(codec.status());
  if (!exists_for(**codec, type)) return corrupt_column("an encoding this type does not have", 0);
  return (*codec)->check(column.substr(1), rows, type);
}

bool decodes_by_parts(std::string_view column) {
  auto codec = codec_of(column);
  return codec.ok() && (*codec)->by_parts;
}

Status decode_rows(std::string_view column, uint64_t rows, ValueType type, RowRange range, void* out, bool checked) {
  auto codec = codec_of(column);
  if (!codec.ok()) return codec.status();
  if (!exists_for(**codec, type)) return corrupt_column("an encoding this type does not have", 0);
  const uint64_t end = std::min(range.end, rows);
  return (*codec)->decode({column.substr(1), rows, type, std::min(range.begin, end), end, out, checked});
}

Status decode_int_column(std::string_view column, uint64_t rows, std::vector<int64_t>* out) {
  TRACKER_RETURN_IF_ERROR(check_length(column, rows, ValueType::kInt64));
  return decode_rows(column, rows, ValueType::kInt64, {0, rows}, grow(out, rows));
}

Status decode_value_column(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out) {
  TRACKER_RETURN_IF_ERROR(check_length(column, rows, type));
  const size_t width = value_width(type);
  uint64_t* const to = grow(out, rows);
  if (width == 8) return decode_rows(column, rows, type, {0, rows}, to);
  std::string values(rows * width, '\0');
  TRACKER_RETURN_IF_ERROR(decode_rows(column, rows, type, {0, rows}, values.data()));
  if (width == 4) widen<uint32_t>(values, to);
  if (width == 2) widen<uint16_t>(values, to);
  if (width == 1) widen<uint8_t>(values, to);
  return {};
}

}  // namespace tracker::internal
