// SPDX-License-Identifier: MIT
// A request of docs/formats/http.md and its response, without the transport. Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

// Limit: bytes of a request of JSON. Beyond it: 413.
constexpr size_t kJsonRequestBytesMax = 8 << 20;

struct Request {
  std::string method;
  std::string path;  // below /api/v1/, percent-decoded once
  std::vector<std::pair<std::string, std::string>> query;
  std::string authorization, cookie, origin;  // headers
  std::string own_origin;                     // scheme and host in the client's request
  std::string client;                         // its address
  bool marked = false;                        // it has the header X-Tracker: 1
  bool over_tls = false;
  std::string_view body;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string file;  // not empty: the content of this file is the body
};

// Integers beyond 2^53, NaN and infinities are written as texts.
Response json_response(const Value& value);
Response error_response(int status, std::string_view code, std::string_view message);
// Status and code by the table in http.md. Messages of the disk name files of the server and are omitted.
Response error_response(const Status& status);

// kInvalid: no JSON object, or too large.
Result<Value> json_object(std::string_view body);
// The list of texts under `key`; empty if it is absent. kInvalid for any other value.
Result<std::vector<std::string>> texts_of(const Value& object, std::string_view key);
Value count_value(uint64_t n);

}  // namespace tracker::internal
