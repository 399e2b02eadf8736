// SPDX-License-Identifier: MIT
// The numbers a series can hold. A value travels as its raw bits in the low bytes of a uint64, so that NaN payloads, -0
// and denormals keep every bit (P6). Threads: pure functions.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace tracker::internal {

// On disk and in the C ABI (trk_type): do not change the numbers.
enum class ValueType : uint8_t {
  kFloat64 = 1,
  kFloat32 = 2,
  kFloat16 = 3,
  kBFloat16 = 4,
  kInt64 = 5,
  kBool = 6,
};

constexpr bool is_value_type(uint8_t type) { return type >= 1 && type <= 6; }
constexpr size_t value_width(ValueType type) {  // bytes of one stored value
  switch (type) {
    case ValueType::kFloat64:
    case ValueType::kInt64: return 8;
    case ValueType::kFloat32: return 4;
    case ValueType::kFloat16:
    case ValueType::kBFloat16: return 2;
    case ValueType::kBool: return 1;
  }
  return 8;
}
const char* value_type_name(ValueType type);  // "float64", "float32", "float16", "bfloat16", "int64", "bool"

inline uint64_t bits_of(double v) { return std::bit_cast<uint64_t>(v); }
inline uint64_t bits_of(float v) { return std::bit_cast<uint32_t>(v); }
inline uint64_t bits_of(int64_t v) { return std::bit_cast<uint64_t>(v); }
inline uint64_t bits_of(bool v) { return v ? 1 : 0; }

// The value as a double: exact for every float type and bool; int64 beyond 2^53 rounds.
double to_double(ValueType type, uint64_t bits);
// Shortest text that reads back to the same value: "0.1", "nan", "inf", "-inf", "-0.0", "true", "9223372036854775807".
std::string number_text(ValueType type, uint64_t bits);

}  // namespace tracker::internal
