// SPDX-License-Identifier: MIT
// How people name a version of an artifact: "name", "name:alias", "name:v3", "name@digest", each also with "project/"
// in front. Threads: pure functions. Cost: as ArtifactRegistry::read().
#pragma once

#include <string>
#include <string_view>

#include "artifact/registry.h"

namespace tracker::internal {

struct ArtifactName {
  std::string project, name;
  std::string version;     // an alias, "v3" or digits of a digest; empty: the latest one
  bool is_digest = false;  // `version` stood behind "@"
};

// `project` is that of a text without one. kInvalid says what was expected.
Result<ArtifactName> parse_artifact_name(std::string_view text, std::string_view project);

struct FoundArtifact {
  ArtifactInfo info;  // with all versions
  ArtifactVersion version;
};
// kInvalid as above, or an ambiguous digest; kNotFound names close artifacts, or the versions there are; kCorrupt and
// kVersion where a file that cannot be read is that version, or may say which one it is.
Result<FoundArtifact> find_artifact(const Store& store, std::string_view text, std::string_view project);

}  // namespace tracker::internal
