// SPDX-License-Identifier: MIT
#include "model/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/number.h"

namespace tracker::internal {

using Json = nlohmann::ordered_json;

const Value* Value::find(std::string_view key) const {
  const Map* map = as_map();
  if (map == nullptr) return nullptr;
  for (const auto& [name, value] : *map)
    if (name == key) return &value;
  return nullptr;
}

void Value::set(std::string_view key, Value value) {
  if (!is_map()) data_ = Map{};
  for (auto& [name, old] : std::get<Map>(data_)) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  std::get<Map>(data_).emplace_back(std::string(key), std::move(value));
}

const Value* Value::find_path(std::string_view path) const {
  // A key may hold a slash itself: the whole path wins over its parts.
  if (const Value* whole = find(path)) return whole;
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return nullptr;
  const Value* head = find(path.substr(0, slash));
  return head == nullptr ? nullptr : head->find_path(path.substr(slash + 1));
}

void Value::set_path(std::string_view path, Value value) {
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size()) {
    set(path, std::move(value));
    return;
  }
  const std::string_view head = path.substr(0, slash);
  if (find(head) == nullptr || !find(head)->is_map()) set(head, Value::map());
  for (auto& [name, child] : *as_map())
    if (name == head) child.set_path(path.substr(slash + 1), std::move(value));
}

std::string Value::text_or(std::string_view key, std::string_view fallback) const {
  const Value* value = find(key);
  return value != nullptr && value->as_text() != nullptr ? *value->as_text() : std::string(fallback);
}

int64_t Value::int_or(std::string_view key, int64_t fallback) const {
  const Value* value = find(key);
  return value != nullptr && value->as_int() != nullptr ? *value->as_int() : fallback;
}

bool Value::operator==(const Value& other) const {
  if (as_double() != nullptr && other.as_double() != nullptr)
    return std::bit_cast<uint64_t>(*as_double()) == std::bit_cast<uint64_t>(*other.as_double());
  return data_ == other.data_;
}

namespace {

Json json_of(const Value& value) {
  if (value.as_bool()) return *value.as_bool();
  if (value.as_int()) return *value.as_int();
  if (const double* v = value.as_double()) {
    if (std::isnan(*v)) return "NaN";
    if (std::isinf(*v)) return *v > 0 ? "Infinity" : "-Infinity";
    return *v;
  }
  if (value.as_text()) return *value.as_text();
  if (const Value::List* list = value.as_list()) {
    Json out = Json::array();
    for (const Value& item : *list) out.push_back(json_of(item));
    return out;
  }
  if (const Value::Map* map = value.as_map()) {
    Json out = Json::object();
    for (const auto& [name, item] : *map) out[name] = json_of(item);
    return out;
  }
  return nullptr;
}

Value value_of(const Json& json, int depth) {
  if (depth > kValueDepthMax) return nullptr;
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto v = json.get<uint64_t>();
      if (v > INT64_MAX) return static_cast<double>(v);
      return static_cast<int64_t>(v);
    }
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return json.get<std::string>();
    case Json::value_t::array: {
      Value::List list;
      for (const Json& item : json) list.push_back(value_of(item, depth + 1));
      return list;
    }
    case Json::value_t::object: {
      Value::Map map;
      for (const auto& [name, item] : json.items()) map.emplace_back(name, value_of(item, depth + 1));
      return map;
    }
    default: return nullptr;
  }
}

}  // namespace

std::string to_json(const Value& value, int indent) {
  return json_of(value).dump(indent, ' ', false, Json::error_handler_t::replace);
}

Result<Value> from_json(std::string_view text) {
  try {
    return value_of(Json::parse(text), 0);
  } catch (const Json::parse_error& error) {
    const size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const std::string_view before = text.substr(0, at);
    const size_t line_begin = before.rfind('\n') + 1;  // 0 in the first line
    return Status(Code::kInvalid,
                  fmt::format("no valid JSON: {} at line {}, column {}", at == text.size() ? "it ends" : "a mistake",
                              std::count(before.begin(), before.end(), '\n') + 1, at - line_begin + 1));
  } catch (const Json::exception&) {
    return Status(Code::kInvalid, "no valid JSON");
  }
}

std::string to_display(const Value& value, size_t width) {
  std::string out;
  if (const double* v = value.as_double()) out = number_text(ValueType::kFloat64, bits_of(*v));
  else if (value.as_text()) out = *value.as_text();
  else out = to_json(value);
  if (out.size() <= width) return out;
  size_t cut = width - 1;
  while (cut > 0 && (static_cast<uint8_t>(out[cut]) & 0xc0) == 0x80) --cut;  // not inside a UTF-8 sequence
  return out.substr(0, cut) + "…";
}

}  // namespace tracker::internal
