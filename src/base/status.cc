// SPDX-License-Identifier: MIT
#include "base/status.h"

#include <fmt/format.h>

#include <cstring>

namespace tracker::internal {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalid: return "invalid";
    case Code::kNotFound: return "not found";
    case Code::kExists: return "exists";
    case Code::kIo: return "i/o error";
    case Code::kCorrupt: return "corrupt";
    case Code::kVersion: return "newer version";
    case Code::kBusy: return "busy";
    case Code::kTimeout: return "timeout";
    case Code::kLimit: return "limit";
    case Code::kClosed: return "closed";
    case Code::kUnsupported: return "unsupported";
  }
  return "unknown";
}

Status::Status(Code code, std::string message, std::string hint) {
  auto detail = std::make_shared<Detail>();
  detail->code = code;
  detail->message = std::move(message);
  detail->hint = std::move(hint);
  detail_ = std::move(detail);
}

Status Status::from_errno(int error, std::string_view what, std::string_view path) {
  char text[128];
  const char* reason = ::strerror_r(error, text, sizeof text);
  auto detail = std::make_shared<Detail>();
  detail->code = error == ENOENT ? Code::kNotFound : error == EEXIST ? Code::kExists : Code::kIo;
  detail->system_errno = error;
  detail->message = path.empty() ? fmt::format("{}: {}", what, reason) : fmt::format("{} {}: {}", what, path, reason);
  Status status;
  status.detail_ = std::move(detail);
  return status;
}

namespace {
const std::string& empty_string() {
  static const std::string* empty = new std::string;  // never destroyed: no static destructors (design 2)
  return *empty;
}
}  // namespace

const std::string& Status::message() const { return detail_ ? detail_->message : empty_string(); }
const std::string& Status::hint() const { return detail_ ? detail_->hint : empty_string(); }

std::string Status::to_string() const {
  if (!detail_) return "ok";
  return detail_->hint.empty() ? detail_->message : fmt::format("{} ({})", detail_->message, detail_->hint);
}

}  // namespace tracker::internal
