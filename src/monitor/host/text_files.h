// SPDX-License-Identifier: MIT
// Small text files of the kernel and of git, read by hand: what cannot be read is empty. Threads: any. Cost: system
// calls; nothing here is called by a thread that trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// Limit: bytes of a small file of the system or of git. Beyond it: its first bytes count.
constexpr size_t kMonitorFileBytesMax = 1024 * 1024;

// The first `bytes` of a regular file, or "".
std::string text_of_file(const std::string& path, size_t bytes = kMonitorFileBytesMax);
// The same without the last line if that is longer than the bytes read.
std::string lines_of_file(const std::string& path, size_t bytes);
std::string_view trimmed(std::string_view text);
// Lines without their ends; the last one needs none.
std::vector<std::string_view> lines_of(std::string_view text);
// The rest of the first line that begins with "name<separator>", trimmed; "" where there is none.
std::string_view field_of(std::string_view text, std::string_view name, char separator = ':');
// The decimal number that the text begins with, leading blanks skipped.
std::optional<uint64_t> number_in(std::string_view text);

}  // namespace tracker::internal
