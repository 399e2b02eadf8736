// SPDX-License-Identifier: MIT
// A line of a terminal as columns: characters of UTF-8 take one or two, marks that combine and escape sequences none. A
// tab and a byte that is no UTF-8 count as one. Pure functions; cost: a read of each byte up to the place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tracker::internal {

// How many columns `text` takes.
size_t terminal_columns(std::string_view text);

// Where in `text` the column begins; in the middle of a wide character: after it. `*missing`: so many columns the text
// is too short, then the answer is its end.
size_t terminal_offset(std::string_view text, size_t column, size_t* missing);

// What is at the front of `text`, not empty: an escape sequence, or a character with the marks that belong to it.
size_t terminal_cell(std::string_view text);

// Writes a cell into `*line` at `at`, which is in front of its end: in place of as many columns as it takes. An escape
// sequence takes the place of those that begin there. Returns where the cursor is then.
size_t terminal_overwrite(std::string* line, size_t at, std::string_view cell);

// How many bytes at the end of `text` are the start of a character, 0 to 3.
size_t terminal_torn_tail(std::string_view text);

}  // namespace tracker::internal
