// SPDX-License-Identifier: MIT
#include "run/services/capture.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace tracker::internal {
namespace {

std::string env_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Status add_word(const char* what, const std::string& word, CapturePlan* plan) {
  if (word == "none") plan->environment = false;
  else if (word == "command") plan->command = true;
  else if (word == "environment") plan->variables = true;
  else if (word == "diff") plan->diff = true;
  else if (word == "source") plan->source = true;
  else
    return Status(Code::kInvalid,
                  fmt::format("{}=\"{}\": expected none, or some of command, environment, diff, source", what, word));
  return {};
}

Status add_words(const char* what, const std::string& text, CapturePlan* plan) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(", ", at), text.size());
    if (end > at) TRACKER_RETURN_IF_ERROR(add_word(what, text.substr(at, end - at), plan));
    at = end + 1;
  }
  if (!plan->environment && (plan->command || plan->variables || plan->diff || plan->source))
    return Status(Code::kInvalid, fmt::format("{}=\"{}\": \"none\" excludes all others", what, text));
  return {};
}

Status check_interval(const char* what, double seconds) {
  if (seconds == 0 || (seconds >= kSystemIntervalMin && seconds <= kSystemIntervalMax)) return {};
  return Status(Code::kInvalid, fmt::format("{}={}: expected 0 for none, or {} to {} seconds", what, seconds,
                                            kSystemIntervalMin, kSystemIntervalMax));
}

}  // namespace

Result<CapturePlan> capture_plan(const InitOptions& options) {
  CapturePlan plan;
  const bool argument = !options.capture.empty();
  TRACKER_RETURN_IF_ERROR(add_words(argument ? "capture" : "TRACKER_CAPTURE",
                                    argument ? options.capture : env_text("TRACKER_CAPTURE"), &plan));
  double seconds = plan.environment ? kSystemIntervalDefault : 0;
  if (!std::isnan(options.system_interval)) {
    seconds = options.system_interval;
    TRACKER_RETURN_IF_ERROR(check_interval("system_interval", seconds));
  } else if (const std::string text = env_text("TRACKER_SYSTEM_INTERVAL"); !text.empty()) {
    char* end = nullptr;
    const double given = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != 0)
      return Status(Code::kInvalid, fmt::format("TRACKER_SYSTEM_INTERVAL=\"{}\": expected a number of seconds", text));
    TRACKER_RETURN_IF_ERROR(check_interval("TRACKER_SYSTEM_INTERVAL", given));
    if (plan.environment) seconds = given;
  }
  plan.system_interval = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  return plan;
}

}  // namespace tracker::internal
