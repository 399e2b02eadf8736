// SPDX-License-Identifier: MIT
// Classifies a response and computes how long to wait before the next request (docs/formats/http.md, Errors). Pure
// functions. Threads: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "model/value.h"
#include "transport/http.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kBackoffFirst{500};
// Limit: longest pause after a failed request, at random up to it.
constexpr std::chrono::milliseconds kBackoffMax{60'000};
// Limit: longest pause that a server may ask for. Beyond it: the client asks again then.
constexpr std::chrono::milliseconds kRetryAfterMax{3'600'000};
// Limit: bytes shown of an answer that no tracker server gave. Beyond it: cut.
constexpr size_t kForeignShownBytes = 80;

enum class AnswerKind {
  kOk,
  kInvalid,        // 400: this unit is given up
  kNoAccess,       // 401: the token is missing or unknown
  kNoScope,        // 403: the token may not do this
  kNotFound,       // 404
  kMissing,        // 409: the document names what to send first
  kTooLarge,       // 413: halves
  kUnknownFormat,  // 415: stop
  kDamaged,        // 422: the document names the offset
  kBusy,           // 429, 503, 507
  kForeign,        // not a response of a tracker server
  kNoAnswer,       // no connection, or an incomplete response
  kCancelled,      // the caller ended it
  kNoUpload,       // libcurl is missing
};

struct ServerAnswer {
  AnswerKind kind = AnswerKind::kOk;
  Value document;       // for kOk the response, else the whole error document
  std::string message;  // one line; empty for kOk
  std::optional<std::chrono::milliseconds> retry_after;
  bool ok() const { return kind == AnswerKind::kOk; }
  // The same request may succeed later without a user's action.
  bool passes() const {
    return kind == AnswerKind::kBusy || kind == AnswerKind::kNoAnswer || kind == AnswerKind::kForeign;
  }
};

ServerAnswer judge(const Result<HttpResponse>& response);

// Exponential backoff with full jitter: a random time up to 0.5 s * 2^n, at most 60 s. Retry-After beats it.
class Backoff {
 public:
  std::chrono::milliseconds next(uint64_t random, std::optional<std::chrono::milliseconds> retry_after = {});
  void reset() { failures_ = 0; }

 private:
  int failures_ = 0;
};

}  // namespace tracker::internal
