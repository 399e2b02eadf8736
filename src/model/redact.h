// SPDX-License-Identifier: MIT
// Secrets are never stored (P12): text values whose key's last word names a credential, or which have the form of a
// known token, become "[redacted]". Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/value.h"

namespace tracker::internal {

constexpr std::string_view kRedacted = "[redacted]";

// True when the last word of `key` (words split at anything but letters and digits, and at camelCase) is api_key,
// secret, password, passwd, token or private_key.
bool is_secret_key(std::string_view key);
// `text` with every known token in it replaced: AKIA…, ghp_…/github_pat_…, hf_…, sk-…, JWTs, user:pass@ in URLs, PEM
// private keys. Returns how many were replaced through `count` (added).
std::string redact_text(std::string_view text, uint64_t* count);
// Applies both rules to a value that stands under `key`, maps and lists included.
void redact(std::string_view key, Value* value, uint64_t* count);

}  // namespace tracker::internal
