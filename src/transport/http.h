// SPDX-License-Identifier: MIT
// One HTTP request and its response: the interface between the client and libcurl. Unit tests answer requests
// themselves. Threads: one at a time for each client.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

// Limit: time to connect to a server. Beyond it: the request has failed.
constexpr std::chrono::milliseconds kConnectWait{10'000};
// Limit: time without a byte from a server. Beyond it: the request has failed.
constexpr std::chrono::milliseconds kIdleWait{30'000};
// Limit: bytes of a response. Beyond it: the request has failed.
constexpr size_t kResponseBytesMax = 16 << 20;

struct HttpRequest {
  std::string method;  // GET, POST or PUT
  std::string url;     // http or https
  std::string token;   // sent as Authorization: Bearer; may be empty
  std::string content_type;
  std::string_view body;  // must live during the call
};

struct HttpResponse {
  int status = 0;
  std::string content_type;  // without parameters, lower case
  std::optional<std::chrono::milliseconds> retry_after;
  std::string body;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // `go_on` is called about once a second and while bytes move; false ends the request. kClosed: it did; kIo: no
  // response came, the message has the reason. Redirects are not followed. Cost: blocks on the network.
  virtual Result<HttpResponse> send(const HttpRequest& request, const std::function<bool()>& go_on) = 0;
};

// Loads libtracker_http.so and with it libcurl, once a process. kUnsupported: this build has no such module, or the
// machine has no libcurl.so.4; the message names the package.
Result<std::unique_ptr<HttpClient>> open_http_client();

// Percent-encodes everything except letters, digits and -._~ for a path or a query.
std::string url_encoded(std::string_view text);

}  // namespace tracker::internal
