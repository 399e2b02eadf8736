// SPDX-License-Identifier: MIT
#include "monitor/host/text_files.h"

#include <charconv>

#include "base/fs.h"

namespace tracker::internal {

std::string text_of_file(const std::string& path, size_t bytes) {
  auto text = read_file_start(path, bytes);
  return text.ok() ? std::move(*text) : std::string();
}

std::string lines_of_file(const std::string& path, size_t bytes) {
  std::string text = text_of_file(path, bytes + 1);
  if (text.size() <= bytes) return text;
  text.resize(bytes);
  text.resize(text.rfind('\n') + 1);  // none: npos + 1 is 0
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string_view field_of(std::string_view text, std::string_view name, char separator) {
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = trimmed(line.substr(name.size()));
    if (rest.starts_with(separator)) return trimmed(rest.substr(1));
  }
  return {};
}

std::optional<uint64_t> number_in(std::string_view text) {
  text = trimmed(text);
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end != text.data() ? std::optional<uint64_t>(out) : std::nullopt;
}

}  // namespace tracker::internal
