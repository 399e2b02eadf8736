// SPDX-License-Identifier: MIT
#include "monitor/source/python_packages.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/fs.h"
#include "monitor/host/text_files.h"
#include "monitor/host/utf8_text.h"

namespace tracker::internal {
namespace {

// Names are equal but for case and runs of "-", "_", "." (PEP 503).
std::string normal_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  return out;
}

std::string metadata_of(const std::string& folder, const std::string& entry) {
  const std::string path = join_path(folder, entry);
  if (entry.ends_with(".dist-info")) return lines_of_file(join_path(path, "METADATA"), kPackageHeadBytes);
  if (!entry.ends_with(".egg-info")) return "";
  return lines_of_file(is_directory(path) ? join_path(path, "PKG-INFO") : path, kPackageHeadBytes);
}

}  // namespace

Value python_packages(const std::vector<std::string>& paths, size_t* left_out) {
  constexpr size_t kTextBytesMax = 256;
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (size_t i = 0; i < std::min(paths.size(), kPythonPathsMax); ++i) {
    const std::string folder = paths[i].empty() ? "." : paths[i];
    const auto entries = is_directory(folder) ? list_dir(folder) : Result<std::vector<std::string>>(Status());
    if (!entries.ok()) continue;
    for (const std::string& entry : *entries) {
      const std::string text = metadata_of(folder, entry);
      const std::string_view name = field_of(text, "Name"), version = field_of(text, "Version");
      if (name.empty() || found.count(normal_name(name)) > 0) continue;
      if (found.size() >= kPackagesMax) ++*left_out;
      else
        found.try_emplace(normal_name(name), cut_utf8(as_utf8(name), kTextBytesMax),
                          cut_utf8(as_utf8(version), kTextBytesMax));
    }
  }
  Value::Map out;
  for (auto& [key, package] : found) out.emplace_back(std::move(package.first), std::move(package.second));
  return out;
}

}  // namespace tracker::internal
