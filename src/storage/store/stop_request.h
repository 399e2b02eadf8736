// SPDX-License-Identifier: MIT
// A request to stop, in the folder of a run: stop-request.json (docs/formats/store.md). Any process that may write
// there can make one; the processes of its attempt read it and stop when their code reacts to it. Threads: any; any
// number of processes may request, cancel and read at the same time, the last request counts.
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
  int64_t attempt = 1;  // of the run, which is to stop; a later one continues
  int64_t requested_us = 0;
  std::string by;      // "anna on node1"
  std::string reason;  // may be empty
  // "too slow (anna on node1, 2026-11-22 08:40:12 UTC)"
  std::string text() const;
  bool operator==(const StopRequest&) const = default;
};

// The name of this process's user in a request: the user's name, or "user id 1001", and the host.
std::string stop_requester();
// The file appears complete. Errors: kInvalid (the reason is too long or not UTF-8), kIo. Cost: a file and two fsyncs.
Status write_stop_request(const std::string& run_path, const StopRequest& request);
// kNotFound: there is none.
Status remove_stop_request(const std::string& run_path);
// nullopt: there is none. kCorrupt, kVersion, kIo name the file.
Result<std::optional<StopRequest>> read_stop_request(const std::string& run_path);

}  // namespace tracker::internal
