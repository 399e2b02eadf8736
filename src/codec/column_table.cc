// SPDX-License-Identifier: MIT
#include "codec/column_table.h"

#include <fmt/format.h>

#include <array>

#include "codec/decimal.h"
#include "codec/shuffled.h"
#include "codec/simple_columns.h"

namespace tracker::internal {
namespace {

template <unsigned kOrder>
bool encode_packed_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  encode_packed(bits, type, kOrder, out);
  return true;
}

template <unsigned kOrder>
Status decode_packed_column(const ColumnRows& c) {
  return decode_packed(c.body, c.rows, c.type, kOrder, c.begin, c.end, c.out, c.checked);
}

Status check_packed_column(std::string_view body, uint64_t rows, ValueType /*type*/) {
  if (rows / kMiniRows <= body.size()) return {};
  return corrupt_column("fewer mini-blocks than rows", body.size());
}

bool encode_shuffled_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  encode_shuffled(bits, value_width(type), out);
  return true;
}

Status decode_shuffled_column(const ColumnRows& c) {
  return decode_shuffled(c.body, c.rows, value_width(c.type), c.begin, c.end, c.out);
}

// A few bytes can encode any number of rows.
Status any_length(std::string_view /*body*/, uint64_t /*rows*/, ValueType /*type*/) { return {}; }

// By the number of the encoding.
constexpr std::array<ColumnCodec, 10> kCodecs{{
    {"plain", {}, true, encode_plain, check_plain, decode_plain},
    {"constant", {}, true, encode_constant, any_length, decode_constant},
    {"arithmetic", ValueType::kInt64, true, encode_arithmetic, any_length, decode_arithmetic},
    {"delta", ValueType::kInt64, false, encode_delta, check_delta, decode_delta},
    {"packed", {}, true, encode_packed_column<0>, check_packed_column, decode_packed_column<0>},
    {"packed deltas", {}, true, encode_packed_column<1>, check_packed_column, decode_packed_column<1>},
    {"shuffled", {}, false, encode_shuffled_column, any_length, decode_shuffled_column},
    {"packed second differences", {}, true, encode_packed_column<2>, check_packed_column, decode_packed_column<2>},
    {"packed third differences", {}, true, encode_packed_column<3>, check_packed_column, decode_packed_column<3>},
    {"decimal", ValueType::kFloat64, true, encode_decimal, check_decimal, decode_decimal},
}};

}  // namespace

bool exists_for(const ColumnCodec& codec, ValueType type) { return !codec.only || *codec.only == type; }

Status corrupt_column(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("column: {} at byte {}", what, offset));
}

bool put_column(ColumnEncoding encoding, std::span<const uint64_t> bits, ValueType type, std::string* out) {
  const auto number = static_cast<size_t>(encoding);
  if (number >= kCodecs.size() || !exists_for(kCodecs[number], type)) return false;
  const size_t start = out->size();
  out->push_back(static_cast<char>(encoding));
  if (kCodecs[number].encode(bits, type, out)) return true;
  out->resize(start);
  return false;
}

Result<const ColumnCodec*> codec_of(std::string_view column) {
  if (column.empty()) return corrupt_column("empty", 0);
  const auto number = static_cast<uint8_t>(column.front());
  if (number < kCodecs.size()) return &kCodecs[number];
  return Status(Code::kVersion, fmt::format("column encoding {} is of a newer version; this one knows 0 (plain) to {} "
                                            "({})",
                                            number, kCodecs.size() - 1, kCodecs.back().name));
}

}  // namespace tracker::internal
