// SPDX-License-Identifier: MIT
// Values as JSON. No document object of nlohmann_json is made, as its noexcept destructor allocates (to flatten arrays
// and objects): where memory is short, that ends the process, which here is somebody's training. So text is read by
// events, and written item by item; strings and numbers, which its destructor frees without more, stay the library's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/value.h"
#include "model/value_tree.h"

namespace tracker::internal {

using Json = nlohmann::json;

namespace {

void append_text(std::string* out, const std::string& text) {
  *out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_scalar(std::string* out, const Value& value) {
  if (value.as_bool()) *out += *value.as_bool() ? "true" : "false";
  else if (value.as_int()) *out += std::to_string(*value.as_int());
  else if (value.as_text()) append_text(out, *value.as_text());
  else if (const double* v = value.as_double()) {
    if (std::isnan(*v)) *out += "\"NaN\"";
    else if (std::isinf(*v)) *out += *v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    else *out += Json(*v).dump();
  } else *out += "null";
}

// `indent` spaces a level, each item on a line of its own; with a negative one, no white space at all.
void append_json(std::string* out, const Value& value, int indent, int depth) {
  const auto item_begins = [&](bool first) {
    if (!first) *out += ',';
    if (indent >= 0) out->append(1, '\n').append(static_cast<size_t>(indent * (depth + 1)), ' ');
  };
  const auto end = [&](bool empty, char bracket) {
    if (indent >= 0 && !empty) out->append(1, '\n').append(static_cast<size_t>(indent * depth), ' ');
    *out += bracket;
  };
  bool first = true;
  if (const Value::List* list = value.as_list()) {
    *out += '[';
    for (const Value& item : *list) {
      item_begins(std::exchange(first, false));
      append_json(out, item, indent, depth + 1);
    }
    end(list->empty(), ']');
  } else if (const Value::Map* map = value.as_map()) {
    *out += '{';
    for (const auto& [name, item] : *map) {
      item_begins(std::exchange(first, false));
      append_text(out, name);
      *out += indent >= 0 ? ": " : ":";
      append_json(out, item, indent, depth + 1);
    }
    end(map->empty(), '}');
  } else {
    append_scalar(out, value);
  }
}

// Builds a value from the events of nlohmann's parser; what is deeper than kValueDepthMax becomes null.
class ValueBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(int64_t v) override { return add(v); }
  bool number_unsigned(uint64_t v) override {
    return v > INT64_MAX ? add(static_cast<double>(v)) : add(static_cast<int64_t>(v));
  }
  bool number_float(double v, const std::string& /*text*/) override { return add(v); }
  bool string(std::string& v) override { return add(std::move(v)); }
  bool binary(Json::binary_t& /*v*/) override { return add(nullptr); }
  bool key(std::string& name) override {
    if (deeper_ == 0) open_.back().key = std::move(name);
    return true;
  }
  bool start_array(size_t /*size*/) override { return start(Value::List{}); }
  bool start_object(size_t /*size*/) override { return start(Value::Map{}); }
  bool end_array() override { return end(); }
  bool end_object() override { return end(); }
  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception& error) override {
    is_syntax_error_ = dynamic_cast<const Json::parse_error*>(&error) != nullptr;
    error_position_ = position;
    return false;
  }

  Value take() { return std::move(root_); }
  bool is_syntax_error() const { return is_syntax_error_; }
  size_t error_position() const { return error_position_; }  // in bytes, counted from 1

 private:
  struct Open {
    Value value;
    std::string key;  // the next item's, of a map
  };

  bool start(Value empty) {
    // The outermost value is level 0, and one of level kValueDepthMax is still kept.
    if (deeper_ > 0 || open_.size() > static_cast<size_t>(kValueDepthMax)) {
      if (deeper_ == 0) add(nullptr);
      ++deeper_;
    } else {
      open_.push_back({std::move(empty), {}});
    }
    return true;
  }

  bool end() {
    if (deeper_ > 0) {
      --deeper_;
      return true;
    }
    Value done = std::move(open_.back().value);
    open_.pop_back();
    if (done.is_map()) drop_repeated_keys(done.as_map());
    return add(std::move(done));
  }

  bool add(Value value) {
    if (deeper_ > 0) return true;
    if (open_.size() > static_cast<size_t>(kValueDepthMax)) value = nullptr;
    if (open_.empty()) root_ = std::move(value);
    else if (Value::Map* map = open_.back().value.as_map()) map->emplace_back(open_.back().key, std::move(value));
    else open_.back().value.as_list()->push_back(std::move(value));
    return true;
  }

  Value root_;
  std::vector<Open> open_;
  size_t deeper_ = 0;  // levels below the last one that is kept
  bool is_syntax_error_ = false;
  size_t error_position_ = 0;
};

}  // namespace

std::string to_json(const Value& value, int indent) {
  std::string out;
  append_json(&out, value, indent, 0);
  return out;
}

Result<Value> from_json(std::string_view text) {
  ValueBuilder builder;
  // The parser treats a zero byte as the end and would ignore the rest.
  const size_t zero = text.find('\0');
  const bool parsed = Json::sax_parse(text, &builder);
  if (parsed && zero == std::string_view::npos) return builder.take();
  if (!parsed && !builder.is_syntax_error()) return Status(Code::kInvalid, "no valid JSON");
  const size_t at = parsed ? zero : std::min(std::max<size_t>(builder.error_position(), 1) - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') + 1;  // 0 in the first line
  return Status(Code::kInvalid,
                fmt::format("no valid JSON: {} at line {}, column {}", at == text.size() ? "it ends" : "a mistake",
                            std::count(before.begin(), before.end(), '\n') + 1, at - line_begin + 1));
}

}  // namespace tracker::internal
