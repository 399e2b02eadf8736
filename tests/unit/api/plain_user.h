// SPDX-License-Identifier: MIT
// A user's code, built with and without exceptions into one program (plain_user.cc).
#pragma once

#include <cstdint>
#include <string>

struct UserResult {
  bool ok = false;  // the bad init gave a run that is not ok()
  int code = 0;
  std::string message;
  bool threw = false;
  int logged = 0;        // calls that were accepted by the good run
  int64_t version = -1;  // of the artifact that the good run logged
};

// Opens a run with resume="sometimes" in `dir`, which is refused, then a good one and logs three points of "loss".
UserResult use_with_exceptions(const std::string& dir);
UserResult use_without_exceptions(const std::string& dir);
