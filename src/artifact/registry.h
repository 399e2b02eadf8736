// SPDX-License-Identifier: MIT
// The versions of a named artifact in a project: small files that appear once and are never changed
// (docs/formats/artifact.md, docs/decisions/0018-a-version-is-a-file-whose-name-is-claimed.md). Any number of processes
// may add versions and marks at the same time, on any file system that can link or rename, and may be killed at any
// point. Threads: values; no file is kept open. Cost: reads every version's and mark's file of the one artifact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "base/ids.h"
#include "base/status.h"
#include "model/value.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kArtifactsFolder = "artifacts";
// Limit: bytes of the document of a version or change. Beyond it: named as damaged.
constexpr size_t kArtifactDocumentBytesMax = 2 << 20;
// Limit: bytes of the metadata of an artifact as JSON. Beyond it: an error.
constexpr size_t kArtifactMetadataBytesMax = 1 << 20;
// Limit: bytes of the description of an artifact. Beyond it: an error.
constexpr size_t kArtifactDescriptionBytesMax = 64 * 1024;
// Limit: versions of an artifact. Beyond it: an error.
constexpr int64_t kArtifactVersionsMax = 1'000'000;
// Limit: changes of aliases and tags of an artifact. Beyond it: an error.
constexpr int64_t kArtifactMarksMax = 10'000'000;
// Limit: aliases, and tags, of one change. Beyond it: an error.
constexpr size_t kAliasesAMarkMax = 64;
// Limit: aliases, and tags, of one version. Beyond it: an error.
constexpr size_t kAliasesAVersionMax = 256;
constexpr std::string_view kLatestAlias = "latest";

// A name: a label without "/", ":" and "@". An alias or tag: the same; an alias is not of the form v<digits>.
Status check_artifact_name(std::string_view name);
Status check_alias(std::string_view alias);
Status check_tag(std::string_view tag);
Status check_artifact_type(std::string_view type);

// One change to a version's data. Marks are numbered from 1; a later one overrides earlier ones.
struct ArtifactMark {
  int64_t number = 0;  // assigned when it is written
  int64_t of = 0;      // the version
  int64_t time_us = 0;
  std::string run;  // uid of the run that made it; may be empty
  std::vector<std::string> aliases_added, aliases_removed, tags_added, tags_removed;
  std::optional<int64_t> ttl_s;    // from this mark on; 0: it is kept for ever
  std::optional<bool> deleted;     // false: it is no longer deleted
  std::optional<Digest> manifest;  // replaces the previous one
  // The same content was logged again: "latest" is this version until there is one with a higher number than this.
  std::optional<int64_t> logged_again_at;
  std::optional<std::string> description;
  Value metadata;  // null: as before
};

struct ArtifactVersion {
  int64_t number = 0;  // v0, v1, ...
  Digest content, manifest;
  uint64_t files = 0, references = 0, bytes = 0;
  int64_t created_us = 0;
  std::string run;  // uid of the run that made it; empty: none did
  std::string description;
  Value metadata = Value::map();
  // By the present marks, like manifest, description and metadata.
  std::vector<std::string> aliases, tags;  // sorted; "latest" too
  std::optional<int64_t> expires_us;
  bool deleted = false;
  std::string name() const;  // "v3"
};

struct ArtifactInfo {
  std::string project, name, type;
  int64_t created_us = 0;
  std::vector<ArtifactVersion> versions;                 // by number
  std::vector<ArtifactMark> marks;                       // by number, for the history of aliases and the rest
  std::vector<Status> problems;                          // files that cannot be read: kCorrupt, kVersion, kIo
  std::map<int64_t, Status> unread_versions;             // those of `problems` that are of versions, by number
  std::map<std::string, int64_t> unread_aliases;         // of such versions; "latest" too
  Status unread_mark;                                    // the worst of those that are of marks; ok: all were read
  const ArtifactVersion* version(int64_t number) const;  // deleted ones too; nullptr
  // "v3", an alias, 6 or more digits of a content digest, or "" for "latest". kNotFound lists the existing ones;
  // kInvalid: an ambiguous digest. The code of a problem if an unreadable file is that version, or may determine which
  // one it is: a mark for an alias and for "latest", the newest version for "latest". `is_digest`: `text` is not an
  // alias.
  Result<const ArtifactVersion*> find(std::string_view text, bool is_digest = false) const;
};

// The data of a new version. `run` may be zero.
struct NewVersion {
  ManifestTotals totals;
  Digest manifest;
  std::string description;
  Value metadata = Value::map();
  std::string run;
  int64_t now_us = 0;
};

// Limits of an artifact.
struct RegistryLimits {
  int64_t versions = kArtifactVersionsMax, marks = kArtifactMarksMax;
};

class ArtifactRegistry {
 public:
  explicit ArtifactRegistry(const Store& store, RegistryLimits limits = {})
      : store_path_(store.path()), limits_(limits) {}

  // kNotFound names it. Damaged files are reported in `problems` and the rest is read.
  Result<ArtifactInfo> read(std::string_view project, std::string_view name) const;
  // The content of one version, which no mark changes. Cost: reads only its document. kNotFound, kCorrupt.
  Result<Digest> content_of(std::string_view project, std::string_view name, int64_t number) const;
  // Sorted by project and name. `project` empty: all. `problems`: one for each folder that cannot be listed or has lost
  // its artifact.json, and for each artifact that cannot be read; if it is empty, the list is complete.
  std::vector<ArtifactInfo> list(std::string_view project, std::vector<Status>* problems = nullptr) const;

  // Makes the artifact's folder if it is missing. kInvalid: it has another type.
  Status create(std::string_view project, std::string_view name, std::string_view type) const;
  // Adds one; ArtifactWriter adds many. Returns the version with this content: a new one, or the existing one
  // (`*is_new` false). Durable when this returns. kVersion: the artifact has documents of a newer program, and is not
  // changed; the same for mark().
  Result<ArtifactVersion> add(std::string_view project, std::string_view name, const NewVersion& version,
                              bool* is_new) const;
  // Durable when this returns. kNotFound: no such version.
  Status mark(std::string_view project, std::string_view name, ArtifactMark mark) const;

  std::string folder(std::string_view project, std::string_view name) const;
  const RegistryLimits& limits() const { return limits_; }

 private:
  std::string store_path_;
  RegistryLimits limits_;
};

}  // namespace tracker::internal
