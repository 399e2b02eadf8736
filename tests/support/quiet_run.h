// SPDX-License-Identifier: MIT
// In a child: the run p/r through the classes of the library, so that its threads can be paused.
#pragma once

#include <memory>

#include "run/run.h"
#include "support/child.h"

namespace tracker::internal {

inline std::shared_ptr<Run> begin_run(const char* on_full = "wait") {
  InitOptions options;
  options.project = "p";
  options.id = "r";
  options.on_full = on_full;
  options.quiet = true;
  auto run = Run::init(options);
  CHILD_CHECK(run.ok());
  return std::move(*run);
}

}  // namespace tracker::internal
