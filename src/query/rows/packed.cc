// SPDX-License-Identifier: MIT
#include "query/rows/packed.h"

#include <bit>
#include <cstring>
#include <utility>

#include "query/rows/huge_pages.h"

namespace tracker::internal {
namespace {

template <typename T>
PackedColumn hold(std::vector<T> values, size_t rows, ValueType type) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  PackedColumn column;
  column.data = owner->data();
  column.owner = std::move(owner);
  column.rows = rows;
  column.type = type;
  return column;
}

template <typename T>
PackedColumn narrow(const std::vector<uint64_t>& bits, ValueType type) {
  std::vector<T> out;
  reserve_huge(&out, bits.size());
  for (const uint64_t one : bits) out.push_back(static_cast<T>(one));
  const size_t rows = out.size();
  return hold(std::move(out), rows, type);
}

template <typename T>
double widened(ValueType type, T narrow) {
  return to_double(type, narrow);
}

template <typename T>
void fill(ValueType type, const T* from, size_t count, double* out) {
  switch (type) {
    case ValueType::kFloat64:
      for (size_t i = 0; i < count; ++i) out[i] = std::bit_cast<double>(uint64_t{from[i]});
      return;
    case ValueType::kFloat32:
      for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(from[i])));
      return;
    case ValueType::kBFloat16:
      for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16));
      return;
    case ValueType::kInt64:
      for (size_t i = 0; i < count; ++i) out[i] = static_cast<double>(static_cast<int64_t>(from[i]));
      return;
    case ValueType::kFloat16:
    case ValueType::kBool: break;
  }
  for (size_t i = 0; i < count; ++i) out[i] = widened(type, from[i]);
}

}  // namespace

PackedColumn pack_values(std::vector<uint64_t> bits, ValueType type) {
  switch (value_width(type)) {
    case 1: return narrow<uint8_t>(bits, type);
    case 2: return narrow<uint16_t>(bits, type);
    case 4: return narrow<uint32_t>(bits, type);
    default: break;
  }
  const size_t rows = bits.size();
  return hold(std::move(bits), rows, type);
}

PackedColumn pack_ints(std::vector<int64_t> values) {
  const size_t rows = values.size();
  return hold(std::move(values), rows, ValueType::kInt64);
}

PackedColumn pack_flags(std::vector<uint8_t> flags) {
  const size_t rows = flags.size();
  return hold(std::move(flags), rows, ValueType::kBool);
}

PackedColumn pack_doubles(std::vector<double> values) {
  const size_t rows = values.size();
  return hold(std::move(values), rows, ValueType::kFloat64);
}

PackedColumn widen_bfloat16(const PackedColumn& column) {
  if (column.type != ValueType::kBFloat16) return column;
  std::vector<uint32_t> out(column.rows);
  const auto* from = column.as<uint16_t>();
  for (size_t i = 0; i < column.rows; ++i) out[i] = uint32_t{from[i]} << 16;
  return hold(std::move(out), column.rows, ValueType::kFloat32);
}

PackedColumn as_doubles(const PackedColumn& column) {
  if (column.type == ValueType::kFloat64) return column;
  std::vector<double> out(column.rows);
  switch (value_width(column.type)) {
    case 1: fill(column.type, column.as<uint8_t>(), column.rows, out.data()); break;
    case 2: fill(column.type, column.as<uint16_t>(), column.rows, out.data()); break;
    case 4: fill(column.type, column.as<uint32_t>(), column.rows, out.data()); break;
    default: fill(column.type, column.as<uint64_t>(), column.rows, out.data());
  }
  return pack_doubles(std::move(out));
}

void to_doubles(ValueType type, const uint64_t* bits, size_t count, double* out) { fill(type, bits, count, out); }

PackedHistory pack_history(std::string name, History history) {
  PackedHistory out;
  out.name = std::move(name);
  if (!history.has_step.empty()) out.has_step = pack_flags(std::move(history.has_step));
  if (!history.source.empty()) out.source = pack_ints({history.source.begin(), history.source.end()});
  out.sources = std::move(history.sources);
  out.steps = pack_ints(std::move(history.steps));
  out.times_us = pack_ints(std::move(history.times_us));
  out.values = pack_values(std::move(history.bits), history.type);
  return out;
}

PackedColumn column_of_sources(const PackedHistory& history, int64_t RowSource::* number) {
  if (!history.source) return pack_ints({history.sources.empty() ? 0 : history.sources.front().*number});
  std::vector<int64_t> out(history.source.rows);
  const auto* source = history.source.as<int64_t>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = history.sources[static_cast<size_t>(source[i])].*number;
  return pack_ints(std::move(out));
}

}  // namespace tracker::internal
