// SPDX-License-Identifier: MIT
#include "storage/store/stop_request.h"

#include <errno.h>
#include <fmt/format.h>
#include <pwd.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "base/fs.h"
#include "model/key.h"
#include "model/records.h"
#include "model/redact/redact.h"
#include "model/value.h"
#include "storage/store/document.h"

namespace tracker::internal {
namespace {

constexpr const char* kStopFormat = "tracker-stop-request";
constexpr int kStopVersion = 1;

std::string user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16 * 1024> room{};
  const uid_t user = ::geteuid();
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr && is_utf8(entry.pw_name))
    return entry.pw_name;
  return fmt::format("user id {}", user);
}

std::string utc_text(int64_t time_us) {
  const time_t seconds = time_us / 1'000'000;
  tm parts{};
  std::array<char, 40> out{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "?";
  out[::strftime(out.data(), out.size() - 1, "%Y-%m-%d %H:%M:%S UTC", &parts)] = 0;
  return out.data();
}

}  // namespace

std::string StopRequest::text() const {
  const std::string who = fmt::format("{}, {}", by.empty() ? "somebody" : by, utc_text(requested_us));
  return reason.empty() ? "asked by " + who : fmt::format("{} ({})", reason, who);
}

std::string stop_requester() { return fmt::format("{} on {}", user_name(), this_process().host); }

Status write_stop_request(const std::string& run_path, const StopRequest& request) {
  if (request.reason.size() > kStopReasonBytesMax)
    return Status(Code::kInvalid,
                  fmt::format("the reason has {} bytes, {} at most", request.reason.size(), kStopReasonBytesMax),
                  "nothing was asked");
  if (!is_utf8(request.reason)) return Status(Code::kInvalid, "the reason is not UTF-8", "nothing was asked");
  uint64_t redacted = 0;
  const Value document = Value::Map{{"format", kStopFormat},      {"version", kStopVersion},
                                    {"attempt", request.attempt}, {"requested_us", request.requested_us},
                                    {"by", request.by},           {"reason", redact_text(request.reason, &redacted)}};
  return write_file_atomic(join_path(run_path, kStopFile), to_json(document, 2) + "\n", 0666);
}

Status remove_stop_request(const std::string& run_path) {
  const std::string path = join_path(run_path, kStopFile);
  if (::unlink(path.c_str()) == 0) return {};
  if (errno == ENOENT) return Status(Code::kNotFound, path);
  return Status(Code::kIo, fmt::format("{}: {}", path, ::strerror(errno)));
}

Result<std::optional<StopRequest>> read_stop_request(const std::string& run_path) {
  const auto document = read_document(join_path(run_path, kStopFile), kStopFormat, kStopVersion);
  if (document.status().code() == Code::kNotFound) return std::optional<StopRequest>();
  if (!document.ok()) return document.status();
  StopRequest out;
  out.attempt = document->int_or("attempt", 0);
  out.requested_us = document->int_or("requested_us", 0);
  out.by = document->text_or("by", "").substr(0, kStopReasonBytesMax);
  out.reason = document->text_or("reason", "").substr(0, kStopReasonBytesMax);
  return std::optional<StopRequest>(std::move(out));
}

}  // namespace tracker::internal
