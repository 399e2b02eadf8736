// SPDX-License-Identifier: MIT
// An HttpClient that a test answers.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "transport/server_link.h"

namespace tracker::internal {

class FakeHttp : public HttpClient {
 public:
  using Handler = std::function<Result<HttpResponse>(const HttpRequest&)>;
  explicit FakeHttp(Handler handler) : handler_(std::move(handler)) {}
  Result<HttpResponse> send(const HttpRequest& request, const std::function<bool()>&) override {
    return handler_(request);
  }

  static ServerLink::OpenClient opener(Handler handler) {
    return [handler]() -> Result<std::unique_ptr<HttpClient>> { return {std::make_unique<FakeHttp>(handler)}; };
  }
  static HttpResponse json(int status, std::string body) {
    HttpResponse out;
    out.status = status;
    out.content_type = "application/json";
    out.body = std::move(body);
    return out;
  }

 private:
  const Handler handler_;
};

}  // namespace tracker::internal
