// SPDX-License-Identifier: MIT
// Text of the system's as UTF-8, which records hold: other bytes become U+FFFD. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tracker::internal {

std::string as_utf8(std::string_view bytes);
// At most so many bytes and …, at a character's end.
std::string cut_utf8(std::string text, size_t bytes);

}  // namespace tracker::internal
