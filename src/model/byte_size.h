// SPDX-License-Identifier: MIT
// Numbers of bytes as people write them. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

// "1048576", "10GB", "1.5 GiB", "512k": a number from 0 and B, kB, MB, GB, TB (powers of 1,000) or KiB, MiB, GiB, TiB
// (of 1,024), in letters of either case, the B of them left out or not. kInvalid names `what` and says what was
// expected.
Result<uint64_t> parse_byte_size(std::string_view what, std::string_view text);

}  // namespace tracker::internal
