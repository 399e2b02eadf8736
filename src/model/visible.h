// SPDX-License-Identifier: MIT
// Foreign text made harmless before it reaches a terminal: names, config and texts of a run are whatever a program
// logged, and a file of a store may come from anyone. Pure functions. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tracker::internal {

// Control characters become their pictures (ESC is ␛, a line end ␊), characters that turn or hide text (bidi controls,
// zero widths, C1, tags) become their numbers as in \u202e, bytes that are no UTF-8 become U+FFFD. What is visible
// already stays as it is.
std::string visible(std::string_view text);
// The same of a message in which a line that begins with two blanks stays one: no text that it holds can begin a line
// as another message does.
std::string visible_lines(std::string_view message);
// The same for a JSON document, by escapes that read back as what they stand for. Its line ends stay.
std::string visible_json(std::string_view document);

// The character at `at`, which moves to the next one; a byte that begins no well-formed character counts as one U+FFFD.
// `at` lies below text.size().
char32_t next_character(std::string_view text, size_t* at);

}  // namespace tracker::internal
