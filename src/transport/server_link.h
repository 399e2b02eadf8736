// SPDX-License-Identifier: MIT
// A client's connection to a tracker server: address, token, limits, and one request at a time (docs/formats/http.md).
// Threads: one at a time. Cost: blocks on the network.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transport/http.h"
#include "transport/known_server.h"
#include "transport/retry.h"

namespace tracker::internal {

// The limits of a server; the defaults are those of a server that sent none.
struct ServerLimits {
  size_t batch_bytes = 32 << 20, batch_units = 4096, part_bytes = 16 << 20, digests = 1000;
};

class ServerLink {
 public:
  // `open`: makes the client at the first request. Tests pass their own.
  using OpenClient = std::function<Result<std::unique_ptr<HttpClient>>()>;
  explicit ServerLink(KnownServer server, OpenClient open = open_http_client);

  const std::string& url() const { return server_.url; }
  const ServerLimits& limits() const { return limits_; }
  // The id of the server's store; empty before greet().
  const std::string& store() const { return store_; }
  // Called while a request runs; false ends it.
  void set_go_on(std::function<bool()> go_on) { go_on_ = std::move(go_on); }

  // GET server, until it has answered once: kUnknownFormat if it supports no version of this client.
  ServerAnswer greet();
  // `path` is below /api/v1/ and encoded. After 401 and 403 the token is read again, and if it is another one the
  // request is repeated once.
  ServerAnswer call(const char* method, const std::string& path, std::string_view body = {},
                    const std::string& content_type = "application/json");
  // How long to wait after a failed response.
  std::chrono::milliseconds pause_after(const ServerAnswer& answer);

 private:
  ServerAnswer call_once(const HttpRequest& request);

  KnownServer server_;
  const OpenClient open_;
  std::unique_ptr<HttpClient> client_;
  std::function<bool()> go_on_ = [] { return true; };
  ServerLimits limits_;
  std::string store_;
  Backoff backoff_;
  bool greeted_ = false;
};

}  // namespace tracker::internal
