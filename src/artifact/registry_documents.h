// SPDX-License-Identifier: MIT
// The documents of an artifact's folder: artifact.json, v<n>.json, mark-<n>.json. Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "artifact/registry.h"

namespace tracker::internal {

constexpr const char* kArtifactFile = "artifact.json";

std::string version_file(int64_t number);  // "v3.json"
std::string mark_file(int64_t number);     // "mark-3.json"
// The number in such a name; none for any other name.
std::optional<int64_t> version_number(std::string_view file);
std::optional<int64_t> mark_number(std::string_view file);
// The digits of a decimal number without leading zeros, at most 18.
std::optional<int64_t> decimal(std::string_view text);

std::string artifact_document(std::string_view project, std::string_view name, std::string_view type, int64_t now_us);
std::string version_document(const ArtifactVersion& version);
std::string mark_document(const ArtifactMark& mark);
// kNotFound, kCorrupt, kLimit, kVersion; all name the file.
Result<ArtifactInfo> read_artifact_document(const std::string& path);
Result<ArtifactVersion> read_version_document(const std::string& path, int64_t number);
Result<ArtifactMark> read_mark_document(const std::string& path, int64_t number);

}  // namespace tracker::internal
