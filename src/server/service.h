// SPDX-License-Identifier: MIT
// The server of docs/formats/http.md without a transport: request in, response out. Every path is in one table with the
// scope that it needs; other paths do not exist. Threads: any; requests are independent. Cost: blocks on the disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/access.h"
#include "server/request.h"
#include "storage/store/store.h"

namespace tracker::internal {

// A path of the table: `pattern` has names in braces for variable parts.
struct RouteInfo {
  std::string method, pattern;
  Scope scope = kNoScope;  // none: open to all
  size_t body_max = 0;
};

class Service {
 public:
  // `takes_uploads`: a server, of which a store can have one; else a reader of the store.
  static Result<std::unique_ptr<Service>> open(const Store& store, bool takes_uploads);
  ~Service();

  // Checks the request without its body: null, or the refusal. For shells, before they read a body.
  std::unique_ptr<Response> refusal(const Request& request);
  // Never fails: an error is a response.
  Response handle(const Request& request);

  // After it each request is answered with 503. Ends the threads and leaves the store in plain files if that is quick.
  void close();

  static std::vector<RouteInfo> routes();
  Access& access();

  struct Impl;  // service_impl.h

 private:
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
