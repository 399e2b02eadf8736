// SPDX-License-Identifier: MIT
// <run>/upload.json: the project on a server that upload(folder=) named for the run (docs/formats/store.md), so that a
// later `tracker sync` sends the rest there. Threads: any.
#pragma once

#include <string>

#include "storage/store/store.h"

namespace tracker::internal {

// The one that was named, else the run's own.
std::string upload_project(const RunFolder& run);
// Nothing is written where the run is sent to this project anyway.
Status remember_project(const RunFolder& run, const std::string& project);

}  // namespace tracker::internal
