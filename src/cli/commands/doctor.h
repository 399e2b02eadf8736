// SPDX-License-Identifier: MIT
// What tracker sees of this machine, this store and this process, and what is wrong with it. Nothing is made or
// changed. Secrets in the environment are masked. Threads: one. Cost: system calls; a check of each journal of this
// user.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

struct DoctorFact {
  std::string key;
  Value value;       // for JSON
  std::string text;  // for people
};
struct DoctorSection {
  std::string title;
  std::vector<DoctorFact> facts;
};
struct DoctorAdvice {
  Code code = Code::kOk;  // kCorrupt, kVersion: the exit code says so; else kOk
  std::string problem;    // one line
  std::string advice;     // one line
};
struct DoctorReport {
  std::vector<DoctorSection> sections;
  std::vector<DoctorAdvice> advice;
};

// Limit: journals of other stores that `tracker doctor` lists. Beyond it: counted only.
constexpr size_t kUnrecoveredListed = 64;
constexpr uint64_t kFreeBytesLow = 2ull << 30;  // design 3: below it media pause
constexpr double kFreeShareLow = 0.02;
constexpr uint64_t kOpenFilesLow = 256;          // a run holds about 20 descriptors
constexpr uint64_t kAddressSpaceLow = 1u << 30;  // 64 MiB of ours, and what the training needs beside

DoctorReport examine(const std::string& given_dir, int64_t now_us);

}  // namespace tracker::internal
