// SPDX-License-Identifier: MIT
// Secrets in the words of a command line: what redact_code() of model/redact/redact.h finds, and the word after a
// secret option. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tracker::internal {

// The words with each secret replaced; of "--password x" the second one is a secret. `count` is added to.
// Of the last word the first `last_bytes` are kept: it is redacted first and then cut.
std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments, uint64_t* count,
                                          size_t last_bytes = std::string::npos);

}  // namespace tracker::internal
