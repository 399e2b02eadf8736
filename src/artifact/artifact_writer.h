// SPDX-License-Identifier: MIT
// Adds versions and marks to one artifact whose documents are read once, however many are added: an import brings
// thousands. What other processes add meanwhile is met by the numbers that they have taken. Threads: one.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "artifact/registry.h"

namespace tracker::internal {

class ArtifactWriter {
 public:
  // The errors of ArtifactRegistry::read(). kVersion: it has documents of a newer program, and is left alone.
  static Result<ArtifactWriter> open(const ArtifactRegistry& registry, std::string_view project, std::string_view name);

  // As those of ArtifactRegistry. Cost: a file each.
  Result<ArtifactVersion> add(const NewVersion& version, bool* is_new);
  Status mark(ArtifactMark mark);

  // With the aliases and tags that it has by now; nullptr: none of that number. Valid until the next add().
  const ArtifactVersion* version(int64_t number) const { return info_.version(number); }
  // The number of the version that ArtifactInfo::find() would give for an alias, and its errors.
  Result<int64_t> named(const std::string& alias) const;

 private:
  ArtifactWriter(ArtifactInfo info, std::string path, RegistryLimits limits);
  void take(ArtifactVersion version);
  void apply(const ArtifactMark& mark);
  ArtifactVersion* own(int64_t number) { return const_cast<ArtifactVersion*>(info_.version(number)); }

  ArtifactInfo info_;
  std::string path_;
  RegistryLimits limits_;
  std::map<Digest, int64_t> by_content_;     // the first one that has it
  std::map<std::string, int64_t> by_alias_;  // of versions that are there
  int64_t next_ = 0;                         // the first number that is not known to be taken
  int64_t next_mark_ = 1;
};

}  // namespace tracker::internal
