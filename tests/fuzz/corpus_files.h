// SPDX-License-Identifier: MIT
// The first inputs of the fuzzers that make a file, a row or calls of their input (make_corpus.cc). Threads: one.
#pragma once

#include <string>

namespace tracker::internal {

// Writes them below `root`, each in its fuzzer's folder. False: one could not be written.
bool write_built_inputs(const std::string& root);

}  // namespace tracker::internal
