// SPDX-License-Identifier: MIT
// <run>/upload.json: the project on a server that upload(folder=) named for the run (docs/formats/store.md), so that a
// later `tracker sync` sends the rest there. Threads: any.
#pragma once

#include <string>

#include "storage/store/store.h"

namespace tracker::internal {

// Empty where nothing was named, or the file cannot be read.
std::string remembered_project(const RunFolder& run);
// Nothing is written where it is the project that the run is sent to anyway.
Status remember_project(const RunFolder& run, const std::string& project);

}  // namespace tracker::internal
