// SPDX-License-Identifier: MIT
// The distributions that a Python finds, from the metadata beside them: what importlib.metadata reads, without Python.
// Threads: any. Cost: a folder a path, and a small file a distribution.
#pragma once

#include <string>
#include <vector>

#include "model/value.h"

namespace tracker::internal {

// Limit: packages that are recorded. Beyond it: left out, the number is kept.
constexpr size_t kPackagesMax = 5'000;
// Limit: entries of sys.path. Beyond it: left out.
constexpr size_t kPythonPathsMax = 256;
constexpr size_t kPackageHeadBytes = 16 * 1024;  // of a METADATA or PKG-INFO file: name and version are at its head

// name -> version, sorted by name; of one name the first path wins, as for an import. `left_out` counts those beyond
// kPackagesMax. Zip files are not read.
Value python_packages(const std::vector<std::string>& paths, size_t* left_out);

}  // namespace tracker::internal
