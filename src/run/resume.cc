// SPDX-License-Identifier: MIT
#include "run/resume.h"

#include <fmt/format.h>

#include <charconv>

#include "model/key.h"
#include "run/run.h"

namespace tracker::internal {

Result<ResumePoint> parse_resume_from(std::string_view text) {
  ResumePoint out;
  const size_t at = text.rfind('@');
  out.run = text.substr(0, at);
  const auto wrong = [text](std::string_view what) {
    return Status(Code::kInvalid, fmt::format("resume_from=\"{}\": {}; expected \"run@step\" or \"run\"", text, what));
  };
  if (out.run.empty()) return wrong("no run is named");
  if (!is_utf8(text)) return Status(Code::kInvalid, "resume_from is not UTF-8");
  if (at == std::string_view::npos) return out;
  std::string_view digits = text.substr(at + 1);
  if (!digits.empty() && digits[0] == '+') digits.remove_prefix(1);
  int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error == std::errc::result_out_of_range || (error == std::errc() && step == INT64_MIN))
    return wrong("the step is beyond int64");
  if (error != std::errc() || end != digits.data() + digits.size())
    return wrong(fmt::format("\"{}\" is no whole number", text.substr(at + 1)));
  out.step = step;
  return out;
}

Status check_resume(InitOptions* o, bool run_id_in_environment) {
  if (o->resume_from.empty()) {
    if (o->resume.empty()) o->resume = "never";
    if (o->resume == "must" && o->id.empty() && !run_id_in_environment)
      return Status(Code::kInvalid, "resume=\"must\" needs to know which run: expected id=…");
    return {};
  }
  auto point = parse_resume_from(o->resume_from);
  if (!point.ok()) return point.status();
  if (o->resume == "never")
    return Status(Code::kInvalid,
                  "resume=\"never\" and resume_from exclude each other: expected \"allow\" or \"must\"");
  if (o->resume.empty()) o->resume = "must";
  if (!o->id.empty() && o->id != point->run)
    return Status(Code::kInvalid, fmt::format("id=\"{}\" and resume_from=\"{}\" name two runs: expected one of them",
                                              o->id, o->resume_from));
  return {};
}

}  // namespace tracker::internal
