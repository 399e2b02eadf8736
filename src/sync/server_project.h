// SPDX-License-Identifier: MIT
// <run>/upload.json: the project on a server that upload(folder=) named for the run (docs/formats/store.md), so that a
// later `tracker sync` sends the rest there. Threads: any.
#pragma once

#include <string>

#include "storage/store/store.h"

namespace tracker::internal {

// The named one, else the run's own.
std::string upload_project(const RunFolder& run);
// Nothing is written if that is the default.
Status remember_project(const RunFolder& run, const std::string& project);

}  // namespace tracker::internal
