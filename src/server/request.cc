// SPDX-License-Identifier: MIT
#include "server/request.h"

#include <fmt/format.h>

#include <cerrno>

namespace tracker::internal {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

// Converted for programs whose only numbers are doubles.
Value for_json(const Value& value) {
  if (const int64_t* number = value.as_int())
    return *number > kExactInDouble || *number < -kExactInDouble ? Value(fmt::format("{}", *number)) : value;
  if (const Value::List* list = value.as_list()) {
    Value::List out;
    for (const Value& each : *list) out.push_back(for_json(each));
    return out;
  }
  if (const Value::Map* map = value.as_map()) {
    Value::Map out;
    for (const auto& [key, each] : *map) out.emplace_back(key, for_json(each));
    return out;
  }
  return value;
}

}  // namespace

Value count_value(uint64_t n) { return static_cast<int64_t>(n); }

Response json_response(const Value& value) {
  Response out;
  out.body = to_json(for_json(value));
  return out;
}

Response error_response(int status, std::string_view code, std::string_view message) {
  Response out = json_response(Value::Map{{"error", Value::Map{{"code", code}, {"message", message}}}});
  out.status = status;
  if (status == 429 || status == 503) out.headers.emplace_back("Retry-After", "1");
  return out;
}

Response error_response(const Status& status) {
  switch (status.code()) {
    case Code::kInvalid: return error_response(400, "invalid", status.to_string());
    case Code::kNotFound: return error_response(404, "not_found", status.to_string());
    case Code::kExists: return error_response(409, "missing", status.to_string());
    case Code::kLimit: return error_response(413, "too_large", status.to_string());
    case Code::kVersion: return error_response(415, "unknown_format", status.to_string());
    case Code::kCorrupt: return error_response(422, "damaged", status.to_string());
    default: break;
  }
  if (status.system_errno() == ENOSPC || status.system_errno() == EDQUOT)
    return error_response(507, "full", "the server's disk is full; nothing of this request is stored, send it again");
  return error_response(503, "busy", "the server's disk cannot take or give this now; send the request again");
}

Result<Value> json_object(std::string_view body) {
  if (body.size() > kJsonRequestBytesMax)
    return Status(Code::kLimit, fmt::format("a request of {} bytes; at most {}", body.size(), kJsonRequestBytesMax));
  auto value = from_json(body);
  if (!value.ok()) return value;
  if (!value->is_map()) return Status(Code::kInvalid, "the body is no JSON object");
  return value;
}

Result<std::vector<std::string>> texts_of(const Value& object, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = object.find(key);
  if (list == nullptr || list->is_null()) return out;
  if (list->as_list() == nullptr) return Status(Code::kInvalid, fmt::format("{} is no list", key));
  for (const Value& each : *list->as_list()) {
    if (each.as_text() == nullptr)
      return Status(Code::kInvalid, fmt::format("{} holds something else than texts", key));
    out.push_back(*each.as_text());
  }
  return out;
}

}  // namespace tracker::internal
