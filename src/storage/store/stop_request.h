// SPDX-License-Identifier: MIT
// A request to stop, in the folder of a run: stop-request.json (docs/formats/store.md). Whoever may write there asks;
// the processes of the attempt that it names look for it and stop when their code says so. Threads: any; any number of
// processes may ask, cancel and look at the same time, the last one to ask counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace tracker::internal {

constexpr const char* kStopFile = "stop-request.json";
// Limit: bytes of UTF-8 of the reason of `tracker stop`. Beyond it: an error, nothing is asked.
constexpr size_t kStopReasonBytesMax = 4'096;

struct StopRequest {
  int64_t attempt = 1;  // of the run that is to stop; a later one goes on
  int64_t requested_us = 0;
  std::string by;      // "anna on node1"
  std::string reason;  // may be empty
  // "too slow (anna on node1, 2026-11-22 08:40:12 UTC)"
  std::string text() const;
  bool operator==(const StopRequest&) const = default;
};

// Who this process would ask as: the user's name, or "user id 1001", and the host.
std::string stop_requester();
// The file appears as a whole. Errors: kInvalid (the reason is too long or no UTF-8), kIo. Cost: a file and two fsyncs.
Status write_stop_request(const std::string& run_path, const StopRequest& request);
// kNotFound: there is none.
Status remove_stop_request(const std::string& run_path);
// nullopt: there is none. kCorrupt, kVersion, kIo name the file.
Result<std::optional<StopRequest>> read_stop_request(const std::string& run_path);

}  // namespace tracker::internal
