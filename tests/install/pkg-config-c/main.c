/* SPDX-License-Identifier: MIT */
/* The smallest C99 program: a run with 100 points, in the store that TRACKER_DIR names. */
#include <stdio.h>
#include <tracker/tracker.h>

int main(void) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  trk_run* run = NULL;
  trk_error error = TRK_ERROR_INIT;
  int64_t step;

  options.project = "install-test";
  options.quiet = 1;
  options.strict = 1;
  if (trk_init(&options, &run, &error) != TRK_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (step = 0; step < 100; ++step) {
    if (trk_log_f64(run, "loss", TRK_NUL_TERMINATED, 1.0 / (double)(1 + step), step) != TRK_OK) return 2;
  }
  if (trk_finish(run, 0, NULL) != TRK_OK) return 3;
  printf("%s\n", trk_run_id(run));
  trk_free(run);
  return 0;
}
