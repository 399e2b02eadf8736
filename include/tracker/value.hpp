// SPDX-License-Identifier: MIT
// Values of log(), config and summary. A Value and a Point refer to text without owning it and are meant to live for
// one call; an Entry owns its content. Included by tracker.hpp. Threads: as any value type. Cost: no allocation in
// Value and Point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "error.hpp"

namespace tracker {
inline namespace TRACKER_INLINE_NAMESPACE {

/// A bool, an integer, a float, a double or a text; the type is kept as given. An unsigned integer beyond int64 and a
/// long double become a double.
class Value {
 public:
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T number) noexcept {  // NOLINT(google-explicit-constructor): {"loss", 0.25} is the interface
    if constexpr (std::is_same_v<T, bool>) {
      set(TRK_BOOL).u64 = number ? 1 : 0;
    } else if constexpr (std::is_same_v<T, float>) {
      set(TRK_F32).f32 = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      set(TRK_F64).f64 = static_cast<double>(number);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(int64_t)) {
      if (number > static_cast<T>(INT64_MAX)) set(TRK_F64).f64 = static_cast<double>(number);
      else set(TRK_I64).i64 = static_cast<int64_t>(number);
    } else {
      set(TRK_I64).i64 = static_cast<int64_t>(number);
    }
  }
  Value(std::string_view text) noexcept { set_text(text); }    // NOLINT(google-explicit-constructor)
  Value(const std::string& text) noexcept { set_text(text); }  // NOLINT(google-explicit-constructor)
  Value(const char* text) noexcept {
    set_text(text == nullptr ? std::string_view() : std::string_view(text));
  }  // NOLINT
  Value(std::nullptr_t) = delete;

  const trk_value& c_value() const noexcept { return value_; }

 private:
  decltype(trk_value::as)& set(trk_type type) noexcept {
    value_.type = type;
    return value_.as;
  }
  void set_text(std::string_view text) noexcept {
    set(TRK_TEXT).text.data = text.data();
    value_.as.text.size = text.size();
  }

  trk_value value_{};
};

/// A name with a value, for one call of log(). It is a trk_point, so a list of them needs no conversion.
struct Point : trk_point {
  Point(std::string_view name_text, const Value& point_value) noexcept
      : trk_point{name_text.data(), name_text.size(), point_value.c_value()} {}
};
static_assert(sizeof(Point) == sizeof(trk_point), "an array of Point is passed as an array of trk_point");

/// A key of a config with its value; it owns both. `key` nests by "/": "optimizer/lr".
class Entry {
 public:
  Entry(std::string_view key, const Value& value) : key_(key), value_(value.c_value()) {
    if (value_.type == TRK_TEXT && value_.as.text.size > 0) text_.assign(value_.as.text.data, value_.as.text.size);
  }
  const std::string& key() const noexcept { return key_; }
  /// Points into this entry.
  trk_value c_value() const noexcept {
    trk_value value = value_;
    if (value.type == TRK_TEXT) {
      value.as.text.data = text_.data();
      value.as.text.size = text_.size();
    }
    return value;
  }

 private:
  std::string key_;
  trk_value value_;
  std::string text_;
};
using Config = std::vector<Entry>;

}  // namespace TRACKER_INLINE_NAMESPACE
}  // namespace tracker
