// SPDX-License-Identifier: MIT
// For console="fd": flushes the C library's stdout and stderr before their descriptors change, without waiting for
// ever. fflush(NULL) waits for each FILE of the process, and a thread that reads from a terminal holds the lock of
// stdin until a key is pressed.
#include <poll.h>
#include <stdio_ext.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "register.h"
#include "released_gil.h"

namespace tracker::python {
namespace {

namespace py = pybind11;

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(1);

bool takes_bytes(FILE* stream) {
  pollfd look{fileno(stream), POLLOUT, 0};
  return ::poll(&look, 1, 0) != 0;  // also on an error, which the write then reports
}

// Returns false if another thread has its lock, or its reader takes nothing.
bool try_flush(FILE* stream) {
  if (::ftrylockfile(stream) != 0) return false;
  const bool held_back = ::__fpending(stream) > 0;
  const bool now = !held_back || takes_bytes(stream);
  if (held_back && now) (void)std::fflush(stream);
  ::funlockfile(stream);
  return now;
}

// What remains in the buffers is written later, by the program's own next flush.
bool flush_c_streams(int milliseconds) {
  const ReleasedGil without_gil;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  bool all = true;
  for (FILE* stream : {stdout, stderr}) {
    bool done = stream == nullptr || try_flush(stream);
    while (!done && Clock::now() < end) {
      std::this_thread::sleep_for(kLook);
      done = try_flush(stream);
    }
    all = all && done;
  }
  return all;
}

}  // namespace

void register_console(py::module_& module) { module.def("flush_c_streams", &flush_c_streams, py::arg("milliseconds")); }

}  // namespace tracker::python
