// SPDX-License-Identifier: MIT
// Secrets in free text: what the rules of model/redact.h find, and values that are given to a secret name, as in
// `--password=x`, `API_KEY: "x"` and `db.token = x`. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// `text` with the value behind each secret name and each known token replaced; `count` is added to.
std::string redact_free_text(std::string_view text, uint64_t* count);
// The words of a command line; of "--password x" the second one is a secret too.
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments, uint64_t* count);

}  // namespace tracker::internal
