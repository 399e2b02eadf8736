// SPDX-License-Identifier: MIT
#include "transport/retry.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/visible.h"

namespace tracker::internal {
namespace {

std::optional<AnswerKind> kind_of(int status) {
  switch (status) {
    case 400: return AnswerKind::kInvalid;
    case 401: return AnswerKind::kNoAccess;
    case 403: return AnswerKind::kNoScope;
    case 404: return AnswerKind::kNotFound;
    case 409: return AnswerKind::kMissing;
    case 413: return AnswerKind::kTooLarge;
    case 415: return AnswerKind::kUnknownFormat;
    case 422: return AnswerKind::kDamaged;
    case 429:
    case 503:
    case 507: return AnswerKind::kBusy;
    default: return std::nullopt;
  }
}

ServerAnswer foreign(const HttpResponse& response) {
  ServerAnswer out{AnswerKind::kForeign, {}, {}, response.retry_after};
  const std::string shown = visible(response.body.substr(0, kForeignShownBytes));
  out.message = fmt::format("this is not an answer of a tracker server (status {}, \"{}\")", response.status, shown);
  return out;
}

}  // namespace

ServerAnswer judge(const Result<HttpResponse>& response) {
  if (!response.ok()) {
    const Code code = response.status().code();
    const AnswerKind kind = code == Code::kClosed        ? AnswerKind::kCancelled
                            : code == Code::kUnsupported ? AnswerKind::kNoUpload
                                                         : AnswerKind::kNoAnswer;
    return {kind, {}, response.status().to_string(), {}};
  }
  // A proxy before the server may have a smaller limit, and answers in HTML.
  constexpr int kTooLargeStatus = 413;
  if (response->status == kTooLargeStatus)
    return {AnswerKind::kTooLarge, {}, "the server, or a proxy before it, takes no request of this size (413)", {}};
  if (response->content_type != "application/json") return foreign(*response);
  auto document = from_json(response->body);
  if (!document.ok() || !document->is_map()) return foreign(*response);
  if (response->status == 200) return {AnswerKind::kOk, std::move(*document), {}, {}};
  const auto kind = kind_of(response->status);
  const Value* error = document->find("error");
  if (!kind || error == nullptr || !error->is_map()) return foreign(*response);
  std::string message = fmt::format("the server answers {} ({}): {}", response->status,
                                    visible(error->text_or("code", "")), visible(error->text_or("message", "")));
  return {*kind, std::move(*document), std::move(message), response->retry_after};
}

std::chrono::milliseconds Backoff::next(uint64_t random, std::optional<std::chrono::milliseconds> retry_after) {
  constexpr int kDoublings = 7;  // 0.5 s * 2^7 is more than kBackoffMax
  const auto most = std::min(kBackoffFirst * (1 << std::min(failures_, kDoublings)), kBackoffMax);
  ++failures_;
  if (retry_after) return std::min(*retry_after, kRetryAfterMax);
  return std::chrono::milliseconds(random % static_cast<uint64_t>(most.count() + 1));
}

}  // namespace tracker::internal
