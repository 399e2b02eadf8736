// SPDX-License-Identifier: MIT
// A run that is sent while it goes on. Without arguments the server is that of TRACKER_HOST and TRACKER_TOKEN, or of an
// earlier login().
#include <cstdio>
// [sample]
#include <tracker/tracker.hpp>

int main(int argc, char** argv) {  // upload_cpp [HOST TOKEN]
  const std::string host = argc == 3 ? argv[1] : "", token = argc == 3 ? argv[2] : "";
  auto run = tracker::init({.project = "upload", .mode = "online", .host = host, .token = token});
  auto loss = run.metric("loss");
  for (int step = 0; step < 1000; ++step) loss.log(1.0 / (1 + step), step);
  run.finish();  // gives the server at most 10 s

  // In any mode, after finish() too: waits as long as bytes flow.
  const tracker::Code code = run.upload();
  std::printf("%s: %s\n", std::string(run.id()).c_str(), tracker::to_string(code));
}
// [/sample]
