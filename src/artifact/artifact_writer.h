// SPDX-License-Identifier: MIT
// Adds versions and marks to one artifact whose documents are read once, however many are added: an import adds
// thousands. Versions that other processes add meanwhile are noticed by their numbers. Threads: one.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "artifact/registry.h"

namespace tracker::internal {

class ArtifactWriter {
 public:
  // The errors of ArtifactRegistry::read(). kVersion: it has documents of a newer program, and is not changed.
  static Result<ArtifactWriter> open(const ArtifactRegistry& registry, std::string_view project, std::string_view name);

  // As in ArtifactRegistry. Cost: a file each.
  Result<ArtifactVersion> add(const NewVersion& version, bool* is_new);
  Status mark(ArtifactMark mark);

  // With its present aliases and tags; nullptr: no version has that number. Valid until the next add().
  const ArtifactVersion* version(int64_t number) const { return info_.version(number); }
  // The number of the version that ArtifactInfo::find() would return for an alias, and its errors.
  Result<int64_t> named(const std::string& alias) const;

 private:
  ArtifactWriter(ArtifactInfo info, std::string path, RegistryLimits limits);
  void take(ArtifactVersion version);
  void apply(const ArtifactMark& mark);
  ArtifactVersion* own(int64_t number) { return const_cast<ArtifactVersion*>(info_.version(number)); }

  ArtifactInfo info_;
  std::string path_;
  RegistryLimits limits_;
  std::map<Digest, int64_t> by_content_;     // the first version with this content
  std::map<std::string, int64_t> by_alias_;  // of existing versions
  int64_t next_ = 0;                         // the first number that is not known to be used
  int64_t next_mark_ = 1;
};

}  // namespace tracker::internal
