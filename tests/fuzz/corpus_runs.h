// SPDX-License-Identifier: MIT
// The first inputs of the fuzzers of whole runs, of imports, and of files around a run (make_corpus.cc). Threads: one.
#pragma once

#include <string>

namespace tracker::internal {

// Writes them below `root`, each in its fuzzer's folder. False: one could not be written.
bool write_run_inputs(const std::string& root);

}  // namespace tracker::internal
