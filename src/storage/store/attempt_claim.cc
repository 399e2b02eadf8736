// SPDX-License-Identifier: MIT
#include "storage/store/attempt_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/fs.h"
#include "model/value.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kClaimPrefix = "attempt-", kSuffix = ".json", kClaimFormat = "tracker-attempt";
constexpr size_t kClaimBytesMax = 64 * 1024;

// From a claim, or from run.json, which has the same key.
AttemptClaim read_claim(const std::string& path, int64_t attempt) {
  AttemptClaim out{attempt, std::nullopt, 0};
  const auto text = read_file(path, kClaimBytesMax);
  const auto document = text.ok() ? from_json(*text) : Result<Value>(text.status());
  if (!document.ok() || !document->is_map()) return out;
  const Value* launch = document->find("launch");
  if (const std::string* said = launch == nullptr ? nullptr : launch->as_text()) out.launch = *said;
  out.world_size = document->int_or("world_size", 0);
  const Value* step = document->find("resume_step");
  if (const int64_t* said = step == nullptr ? nullptr : step->as_int()) out.resume_step = *said;
  return out;
}

}  // namespace

std::string attempt_file(int64_t attempt) { return fmt::format("{}{}{}", kClaimPrefix, attempt, kSuffix); }

std::optional<int64_t> claimed_attempt(std::string_view name) {
  if (!name.starts_with(kClaimPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(kClaimPrefix.size(), name.size() - kClaimPrefix.size() - kSuffix.size());
  int64_t attempt = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), attempt);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size() && digits[0] != '0';
  return is_number && attempt >= 1 && attempt <= kAttemptMax ? std::optional(attempt) : std::nullopt;
}

Status check_claim(const std::string& path) {
  auto text = read_file(path, kClaimBytesMax);
  if (!text.ok()) return text.status();
  const auto document = from_json(*text);
  if (!document.ok() || document->text_or("format", "") != kClaimFormat)
    return Status(Code::kCorrupt, "is no document of an attempt");
  if (const int64_t version = document->int_or("version", 0); version > kAttemptVersion)
    return Status(Code::kVersion,
                  fmt::format("is of version {}, this library reads up to {}", version, kAttemptVersion));
  return {};
}

Status check_claims(const std::string& run_path) {
  for (const std::string& name : list_dir(run_path).value_or({})) {
    const std::string path = join_path(run_path, name);
    const Status status = claimed_attempt(name) ? check_claim(path) : Status();
    if (status.code() == Code::kVersion) return Status(status.code(), path + " " + status.message());
  }
  return {};
}

std::vector<AttemptClaim> attempt_claims(const std::string& run_path) {
  std::vector<AttemptClaim> out;
  const std::string run_file = join_path(run_path, kRunFile);
  if (path_exists(run_file)) out.push_back(read_claim(run_file, 1));
  const auto names = list_dir(run_path);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>())
    if (const auto attempt = claimed_attempt(name)) out.push_back(read_claim(join_path(run_path, name), *attempt));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  return out;
}

Status claim_attempt(const std::string& run_path, const AttemptClaim& claim) {
  Value::Map map{{"format", std::string(kClaimFormat)}, {"version", kAttemptVersion}, {"attempt", claim.attempt}};
  map.emplace_back("launch", claim.launch.value_or(""));
  map.emplace_back("world_size", claim.world_size);
  if (claim.resume_step) map.emplace_back("resume_step", *claim.resume_step);
  map.emplace_back("made_by", this_process_document());
  const std::string path = join_path(run_path, attempt_file(claim.attempt));
  if (path_exists(path)) return Status(Code::kExists, path);
  return create_file_exclusive(path, to_json(map, 2) + "\n", 0666, false);
}

}  // namespace tracker::internal
