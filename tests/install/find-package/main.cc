// SPDX-License-Identifier: MIT
// The smallest C++ program over the C ABI: a run with 100 points, in the store that TRACKER_DIR names.
#include <tracker/tracker.h>

#include <cstdio>

int main() {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "install-test";
  options.quiet = 1;
  options.strict = 1;
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &run, &error) != TRK_OK) {
    std::fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  trk_metric* loss = trk_metric_open(run, "loss", TRK_NUL_TERMINATED, &error);
  for (int step = 0; step < 100; ++step) {
    if (trk_metric_log_f64(loss, 1.0 / (1 + step), step) != TRK_OK) return 2;
  }
  if (trk_finish(run, 0, nullptr) != TRK_OK) return 3;
  std::printf("%s\n", trk_run_id(run));
  trk_free(run);
  return 0;
}
