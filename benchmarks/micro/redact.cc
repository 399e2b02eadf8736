// SPDX-License-Identifier: MIT
// Question: what does the search for secrets cost a line of console output? Informational, CPU time of this thread.
// Workload: 20,000 times each kind of line: a log's, one with colours, one of names and values, one that holds a token,
// one of letters alone.
#include <string>
#include <vector>

#include "harness.h"
#include "model/redact/redact.h"

namespace {

using namespace tracker::internal;  // NOLINT(google-build-using-namespace): a program, no header

constexpr int kLines = 20'000;
constexpr int kRounds = 15;

void measure(bench::Report* report, const std::string& name, const std::string& line, uint64_t secrets) {
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t count = 0;
    const uint64_t begin = bench::thread_cpu_ns();
    for (int i = 0; i < kLines; ++i) bench::keep(redact_text(line, &count).size());
    samples.push_back(static_cast<double>(bench::thread_cpu_ns() - begin) / kLines);
    bench::Report::require(count == secrets * kLines, "each secret is found");
  }
  report->add({name + ", " + std::to_string(line.size()) + " bytes", "ns/line", samples});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("redact", argc, argv);
  const std::string log =
      "2026-01-02 03:04:05,678 INFO train.py:120 - epoch 3 | it 1200/5000 | loss=0.3312 acc=0.912 lr=1.0e-04";
  measure(&report, "a line of a log", log, 0);
  measure(&report, "with colours", "\x1b[32mINFO\x1b[0m \x1b[1mepoch 3\x1b[0m loss=\x1b[36m0.3312\x1b[0m it/s 12.5", 0);
  measure(&report, "names and values",
          "sort_key=loss next_token=the token: 17 max_tokens=4096 seed=1 monkey=2 password is", 0);
  measure(&report, "with a token", "login with ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4 to https://u:pw@host/x?token=abc", 3);
  measure(&report, "letters alone", std::string(1000, 'x'), 0);
  return report.write();
}
