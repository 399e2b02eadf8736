// SPDX-License-Identifier: MIT
// Parses users' names for a version of an artifact: "name", "name:alias", "name:v3", "name@digest", each also with
// "project/" in front. Threads: pure functions. Cost: as ArtifactRegistry::read().
#pragma once

#include <string>
#include <string_view>

#include "artifact/registry.h"

namespace tracker::internal {

struct ArtifactName {
  std::string project, name;
  std::string version;     // an alias, "v3" or digits of a digest; empty: the latest one
  bool is_digest = false;  // `version` followed "@"
};

// `project` is the default. kInvalid with the expected form.
Result<ArtifactName> parse_artifact_name(std::string_view text, std::string_view project);

struct FoundArtifact {
  ArtifactInfo info;  // with all versions
  ArtifactVersion version;
};
// kInvalid as above, or for an ambiguous digest; kNotFound names similar artifacts, or the existing versions; kCorrupt
// and kVersion if an unreadable file is that version, or may determine which one it is.
Result<FoundArtifact> find_artifact(const Store& store, std::string_view text, std::string_view project);

}  // namespace tracker::internal
