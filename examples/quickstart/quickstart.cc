// SPDX-License-Identifier: MIT
// [sample]
#include <tracker/tracker.hpp>

int main() {
  auto run = tracker::init({.project = "mnist", .config = {{"lr", 0.1}}});
  auto loss = run.metric("train/loss");
  for (int step = 0; step < 1000; ++step) loss.log(1.0 / (1 + step), step);
  run.log({{"val/loss", 0.25}, {"val/acc", 0.9}}, 1000);
}
// [/sample]
