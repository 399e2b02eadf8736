// SPDX-License-Identifier: MIT
// Value: one typed value of config, summary or an event: null, bool, int64, float64, text, list or map (keys in the
// order given). Encoded as CBOR (RFC 8949) with doubles always as 8 bytes, so that NaN payloads survive; shown as JSON.
// Limits: kValueDepthMax levels, checked by decoder and by the bindings. Threads: values, no sharing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace tracker::internal {

// Limit: nesting of a config value in the format. Beyond it: refused.
constexpr int kValueDepthMax = 64;

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::vector<std::pair<std::string, Value>>;

  Value() = default;
  Value(std::nullptr_t) {}                              // NOLINT(google-explicit-constructor)
  Value(bool v) : data_(v) {}                           // NOLINT(google-explicit-constructor)
  Value(int v) : data_(static_cast<int64_t>(v)) {}      // NOLINT(google-explicit-constructor)
  Value(int64_t v) : data_(v) {}                        // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                         // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}       // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}         // NOLINT(google-explicit-constructor)
  Value(List v) : data_(std::move(v)) {}                // NOLINT(google-explicit-constructor)
  Value(Map v) : data_(std::move(v)) {}                 // NOLINT(google-explicit-constructor)
  // Written out: libstdc++'s copy of such a variant destroys what was never made when it throws std::bad_alloc.
  Value(const Value& other) {
    std::visit([this](const auto& v) { data_ = std::decay_t<decltype(v)>(v); }, other.data_);
  }
  Value& operator=(const Value& other) {
    Value copy(other);
    data_.swap(copy.data_);
    return *this;
  }
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) noexcept = default;
  ~Value() = default;
  static Value map() { return Value(Map{}); }
  static Value list() { return Value(List{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_number() const { return as_int() != nullptr || as_double() != nullptr || as_bool() != nullptr; }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&data_); }
  const double* as_double() const { return std::get_if<double>(&data_); }
  const std::string* as_text() const { return std::get_if<std::string>(&data_); }
  const List* as_list() const { return std::get_if<List>(&data_); }
  const Map* as_map() const { return std::get_if<Map>(&data_); }
  List* as_list() { return std::get_if<List>(&data_); }
  Map* as_map() { return std::get_if<Map>(&data_); }

  // Map access. find: nullptr when this is no map or has no such key. set: replaces in place, else appends.
  const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
  // Like find/set with a path "a/b/c" through nested maps; set_path makes the maps between, replacing what is no map.
  const Value* find_path(std::string_view path) const;
  void set_path(std::string_view path, Value value);
  // Convenience for documents of our own: the text, int or fallback.
  std::string text_or(std::string_view key, std::string_view fallback) const;
  int64_t int_or(std::string_view key, int64_t fallback) const;

  // Same type and bits: NaN equals the same NaN, 1 differs from 1.0.
  bool operator==(const Value& other) const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Map> data_;
};

// CBOR. decode refuses with kCorrupt (and the offset) what is cut, deeper than kValueDepthMax, indefinite, or of
// another kind.
std::string encode_cbor(const Value& value);
Result<Value> decode_cbor(std::string_view bytes);

// JSON text. Non-finite floats become the strings "NaN", "Infinity", "-Infinity" (JSON has none); text that is not
// UTF-8 is shown with U+FFFD. indent < 0: one line.
std::string to_json(const Value& value, int indent = -1);
// JSON text to a Value; kInvalid with the position. Integers beyond int64 become doubles.
Result<Value> from_json(std::string_view text);
// One short human form for tables: numbers as written, text unquoted, lists and maps as JSON, cut at `width`
// characters.
std::string to_display(const Value& value, size_t width = 80);

}  // namespace tracker::internal
