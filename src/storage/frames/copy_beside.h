// SPDX-License-Identifier: MIT
// The copy of a damaged file that is kept for a person, before what is sound of it is gone on with. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace tracker::internal {

// The first `size` bytes of the file that `fd` has open, at `path`, to `to` in the same folder, whose it was: fsynced,
// and under that name as a whole or not at all. kIo: also where the file is shorter.
Status copy_beside(int fd, uint64_t size, const std::string& path, const std::string& to);

}  // namespace tracker::internal
