// SPDX-License-Identifier: MIT
#include "transport/server_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ids.h"

namespace tracker::internal {

namespace {

constexpr int64_t kApiVersion = 1;

ServerLimits read_limits(const Value& document) {
  ServerLimits out;
  const Value* said = document.find("limits");
  if (said == nullptr) return out;
  const std::pair<const char*, size_t*> limits[] = {{"batch_bytes", &out.batch_bytes},
                                                    {"batch_units", &out.batch_units},
                                                    {"part_bytes", &out.part_bytes},
                                                    {"digests", &out.digests}};
  for (const auto& [name, limit] : limits)
    if (const int64_t value = said->int_or(name, 0); value > 0) *limit = std::min(*limit, static_cast<size_t>(value));
  return out;
}

}  // namespace

ServerLink::ServerLink(KnownServer server, OpenClient open) : server_(std::move(server)), open_(std::move(open)) {}

ServerAnswer ServerLink::greet() {
  if (greeted_) return {};
  ServerAnswer answer = call("GET", "server");
  if (!answer.ok()) return answer;
  const Value* versions = answer.document.find("api");
  if (answer.document.text_or("service", "") != "tracker" || versions == nullptr || !versions->is_list())
    return {AnswerKind::kForeign, {}, "this is not a tracker server", {}};
  const Value::List& list = *versions->as_list();
  if (std::find(list.begin(), list.end(), Value(kApiVersion)) == list.end())
    return {AnswerKind::kUnknownFormat,
            {},
            fmt::format("the server speaks versions {} of the interface, this tracker speaks {}", to_json(*versions),
                        kApiVersion),
            {}};
  limits_ = read_limits(answer.document);
  store_ = answer.document.text_or("store", "");
  greeted_ = true;
  return answer;
}

ServerAnswer ServerLink::call_once(const HttpRequest& request) {
  if (!client_) {
    auto client = open_();
    if (!client.ok()) return judge(client.status());
    client_ = std::move(*client);
  }
  ServerAnswer answer = judge(client_->send(request, go_on_));
  if (answer.ok()) backoff_.reset();
  return answer;
}

ServerAnswer ServerLink::call(const char* method, const std::string& path, std::string_view body,
                              const std::string& content_type) {
  HttpRequest request{method, server_.url + "/api/v1/" + path, server_.token, body.empty() ? "" : content_type, body};
  ServerAnswer answer = call_once(request);
  if (answer.kind != AnswerKind::kNoAccess && answer.kind != AnswerKind::kNoScope) return answer;
  std::string token = read_token_again(server_);
  if (token == server_.token) return answer;
  request.token = server_.token = std::move(token);
  return call_once(request);
}

std::chrono::milliseconds ServerLink::pause_after(const ServerAnswer& answer) {
  return backoff_.next(random_u64(), answer.retry_after);
}

}  // namespace tracker::internal
