// SPDX-License-Identifier: MIT
#include "storage/document.h"

#include <fmt/format.h>

#include "base/fs.h"

namespace tracker::internal {

Result<Value> read_document(const std::string& path, std::string_view format, int version_max, size_t bytes_max) {
  auto text = read_file(path, bytes_max);
  if (!text.ok()) return text.status();
  auto value = from_json(*text);
  if (!value.ok()) return Status(Code::kCorrupt, fmt::format("{}: {}", path, value.status().message()));
  if (value->text_or("format", "") != format)
    return Status(Code::kCorrupt, fmt::format("{}: not a document of the format \"{}\"", path, format));
  const int64_t version = value->int_or("version", 0);
  if (version > version_max)
    return Status(Code::kVersion,
                  fmt::format("{} has version {}, this program knows up to {}", path, version, version_max),
                  "update tracker; nothing was changed");
  if (version < 1) return Status(Code::kCorrupt, fmt::format("{}: no valid version", path));
  return value;
}

}  // namespace tracker::internal
