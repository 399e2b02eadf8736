/* SPDX-License-Identifier: MIT */
/* Newton's method for the square root of 2, recorded from C99: config, handles, several values a call, summary, status.
 */
#include <stdio.h>
#include <tracker/tracker.h>

static int record(trk_run* run) {
  trk_metric* error_metric = trk_metric_open(run, "error", TRK_NUL_TERMINATED, NULL);
  const trk_value start = trk_f64(100.0);
  trk_value last;
  double x = 100.0;
  int64_t step;

  trk_config_set(run, "start", TRK_NUL_TERMINATED, &start);
  for (step = 0; step < 12; ++step) {
    const double next = 0.5 * (x + 2.0 / x);
    const trk_point points[] = {{"x", TRK_NUL_TERMINATED, trk_f64(next)},
                                {"converged", TRK_NUL_TERMINATED, trk_bool(next == x)}};
    trk_log(run, points, sizeof points / sizeof points[0], step);
    trk_metric_log_f64(error_metric, next * next - 2.0, step);
    x = next;
  }
  last = trk_f64(x);
  return trk_summary_set(run, "root", TRK_NUL_TERMINATED, &last) == TRK_OK ? 0 : 1;
}

int main(void) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  trk_error error = TRK_ERROR_INIT;
  trk_status status = TRK_STATUS_INIT;
  trk_run* run = NULL;
  int failed;

  options.project = "newton";
  if (trk_init(&options, &run, &error) != TRK_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  failed = record(run);
  trk_finish(run, failed, NULL);
  trk_get_status(run, &status);
  printf("%s/%s: %llu points stored\n", trk_run_project(run), trk_run_id(run),
         (unsigned long long)status.points_stored);
  trk_free(run);
  return status.points_stored == 36 ? 0 : 1;
}
