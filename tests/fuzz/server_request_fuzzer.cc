// SPDX-License-Identifier: MIT
// Goal: no request makes the server crash or go on for long; without a token each answer but that to a login is 401; an
// error is a JSON object of the table of docs/formats/http.md. Method: the input's lines are method, path, query
// ("name=value&…") and then the body; each is asked with a token and without.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "scratch.h"
#include "server/service.h"

using namespace tracker::internal;

namespace {

struct Setting {
  Setting() {
    auto store = Store::open_or_create(scratch.file("store"));
    if (!store.ok()) std::abort();
    auto opened = Service::open(*store, true);
    if (!opened.ok()) std::abort();
    service = std::move(*opened);
    const auto made = service->access().create_token("fuzz", kScopeRead | kScopeIngest | kScopeEdit, std::nullopt);
    if (!made.ok()) std::abort();
    token = *made;
  }
  Scratch scratch;
  std::unique_ptr<Service> service;
  std::string token;
};

std::string_view take_until(char end, std::string_view* rest) {
  const size_t at = rest->find(end);
  const std::string_view out = rest->substr(0, at);
  *rest = at == std::string_view::npos ? std::string_view() : rest->substr(at + 1);
  return out;
}

void check(const Response& response) {
  if (response.status == 200) return;
  const auto body = from_json(response.body);
  if (!body.ok() || body->find("error") == nullptr) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Setting setting;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Request request;
  request.method = take_until('\n', &rest);
  request.path = take_until('\n', &rest);
  std::string_view query = take_until('\n', &rest);
  while (!query.empty()) {
    std::string_view pair = take_until('&', &query);
    const std::string_view name = take_until('=', &pair);
    request.query.emplace_back(name, pair);
  }
  request.body = rest;
  const Response without = setting.service->handle(request);
  check(without);
  if (without.status != 401 && request.path != "login") std::abort();
  request.authorization = "Bearer " + setting.token;
  check(setting.service->handle(request));
  return 0;
}
