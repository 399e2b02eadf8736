// SPDX-License-Identifier: MIT
// The smallest program over the C++ header, in C++17 and in what every compiler flag leaves of it.
#include <cstdio>
#include <string>
#include <tracker/tracker.hpp>

int main() {
  tracker::InitOptions options;
  options.project = "install-test";
  options.config = {{"lr", 0.1}, {"model", "mlp"}};
  options.strict = true;
  options.quiet = true;
  tracker::Run run = tracker::init(options);
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n", run.error().c_str());
    return 1;
  }
  const tracker::Metric loss = run.metric("loss");
  for (int step = 0; step < 100; ++step) {
    if (loss.log(1.0 / (1 + step), step) != tracker::Code::kOk) return 2;
  }
  if (run.finish() != tracker::Code::kOk) return 3;
  std::printf("%s\n", std::string(run.id()).c_str());
  return 0;
}
