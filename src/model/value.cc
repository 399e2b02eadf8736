// SPDX-License-Identifier: MIT
#include "model/value.h"

#include <bit>

#include "model/number.h"

namespace tracker::internal {

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
    if (name == head) return child.set_path(path.substr(slash + 1), std::move(value));
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
