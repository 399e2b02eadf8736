/* SPDX-License-Identifier: MIT */
/* A run recorded without a network and sent at its end. Without arguments the server is that of TRACKER_HOST and
 * TRACKER_TOKEN, or of an earlier login. */
#include <stdio.h>
/* [sample] */
#include <tracker/tracker.h>

int main(int argc, char** argv) { /* upload_c [HOST TOKEN] */
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  trk_error error = TRK_ERROR_INIT;
  trk_run* run = NULL;
  trk_metric* loss;
  int step;

  /* Once a user: saves both in a file that runs and `tracker sync` read. */
  if (argc == 3 && trk_login(argv[1], argv[2], &error) != TRK_OK) fprintf(stderr, "%s\n", error.message);

  options.project = "upload";
  options.mode = "offline"; /* a bare `tracker sync` sends it too */
  if (trk_init(&options, &run, &error) != TRK_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  loss = trk_metric_open(run, "loss", TRK_NUL_TERMINATED, NULL);
  for (step = 0; step < 1000; ++step) trk_metric_log_f64(loss, 1.0 / (1 + step), step);
  trk_finish(run, 0, NULL);

  /* Waits while bytes flow. What a server cannot be given now stays in the store. */
  if (trk_upload(run, NULL, 0, &error) == TRK_OK) printf("sent %s/%s\n", trk_run_project(run), trk_run_id(run));
  else fprintf(stderr, "%s\n", error.message);
  trk_free(run);
  return 0;
}
/* [/sample] */
