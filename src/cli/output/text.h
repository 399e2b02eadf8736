// SPDX-License-Identifier: MIT
// Text for people: widths, and numbers, times and durations in words. Foreign text goes through visible() first. Pure
// functions.
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/number.h"
#include "model/visible.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Columns a terminal gives to visible() text: 2 for East Asian wide characters and emoji, 0 for combining marks.
size_t display_width(std::string_view text);
// At most `width` columns, the last one "…" when something was cut.
std::string cut_to(std::string_view text, size_t width);
// The same with the "…" in the middle: names of metrics differ at their ends.
std::string cut_middle(std::string_view text, size_t width);
// Each cut so; of different names that would then be the same the cut is elsewhere, as far as the width allows that.
std::vector<std::string> cut_names(const std::vector<std::string>& names, size_t width);
// Filled with blanks up to `width` columns, after the text or before it.
std::string pad_to(std::string_view text, size_t width, bool right = false);
// Lines of at most `width` columns, ended at blanks, the later ones two columns further right; 0: one line. A longer
// word stays whole.
std::string wrapped(std::string_view text, size_t width);

std::string count_text(uint64_t count);                      // "12,345"
std::string counted(uint64_t count, std::string_view noun);  // "1 point", "12,345 points"; "1 entry", "2 entries"
std::string bytes_text(uint64_t bytes);                      // "512 B", "1.4 KiB", "24.0 MiB"
std::string short_number(double value);                      // five significant digits: "0.25", "1.2346e+08", "nan"
std::string short_number(ValueType type, uint64_t bits);     // ints and bools as they are
std::string duration_text(int64_t duration_us);              // "0.8 s", "45 s", "3 min 12 s", "2 h 5 min", "3 d 4 h"
std::string ago_text(int64_t then_us, int64_t now_us);       // "just now", "5 min ago", "3 d ago", "in 2 min"
std::string time_text(int64_t time_us);                      // "2026-11-21 10:00:16 UTC"

// "mnist/otter", of a copy or a run that was renamed "mnist/otter in mnist/otter-copy": a command can be given that to
// distinguish it. Not yet visible().
std::string run_text(const RunFolder& run);

}  // namespace tracker::internal
