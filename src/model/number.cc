// SPDX-License-Identifier: MIT
#include "model/number.h"

#include <fmt/format.h>

#include <cmath>

namespace tracker::internal {
namespace {

// IEEE 754 binary16 to float: shift mantissa and exponent into place; denormals by an exact multiplication.
float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

std::string float_text(double value, const std::string& shortest) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // "1" would read back as an integer.
  return shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest;
}

}  // namespace

const char* value_type_name(ValueType type) {
  switch (type) {
    case ValueType::kFloat64: return "float64";
    case ValueType::kFloat32: return "float32";
    case ValueType::kFloat16: return "float16";
    case ValueType::kBFloat16: return "bfloat16";
    case ValueType::kInt64: return "int64";
    case ValueType::kBool: return "bool";
  }
  return "unknown";
}

double to_double(ValueType type, uint64_t bits) {
  switch (type) {
    case ValueType::kFloat64: return std::bit_cast<double>(bits);
    case ValueType::kFloat32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case ValueType::kFloat16: return half_to_float(static_cast<uint16_t>(bits));
    case ValueType::kBFloat16: return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case ValueType::kInt64: return static_cast<double>(std::bit_cast<int64_t>(bits));
    case ValueType::kBool: return bits != 0 ? 1.0 : 0.0;
  }
  return 0;
}

std::string number_text(ValueType type, uint64_t bits) {
  switch (type) {
    case ValueType::kInt64: return fmt::format("{}", std::bit_cast<int64_t>(bits));
    case ValueType::kBool: return bits != 0 ? "true" : "false";
    case ValueType::kFloat64: {
      const double v = std::bit_cast<double>(bits);
      return float_text(v, fmt::format("{}", v));
    }
    default: {  // the narrow floats: the shortest text of the float that equals them exactly
      const auto v = static_cast<float>(to_double(type, bits));
      return float_text(v, fmt::format("{}", v));
    }
  }
}

}  // namespace tracker::internal
