// SPDX-License-Identifier: MIT
// The objects of the artifact handles of the C ABI. Threads: as the ABI says.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest_index.h"
#include "artifact/reference.h"
#include "run/services/artifacts.h"
#include "tracker/tracker.h"

namespace tracker::internal {

// Of trk_artifact_new_file(): its path in the artifact, and on the disk.
struct NewFile {
  std::string path, file;
};

struct StoredVersionOfApi {
  Store store;
  ArtifactInfo info;  // project and name alone
  ArtifactVersion version;
};

// For a stored or used artifact; kInvalid: it is not stored.
Result<StoredVersionOfApi> stored_version(const trk_artifact& artifact);
// kInvalid: `text` needs more than `bytes` with its NUL; the message has the number.
Status capi_room(std::string_view argument, const std::string& text, size_t bytes);

}  // namespace tracker::internal

struct trk_artifact {
  std::optional<tracker::internal::ArtifactDraft> draft;      // of one that the caller makes
  std::shared_ptr<tracker::internal::LoggedArtifact> logged;  // set when it was logged
  std::optional<tracker::internal::FoundArtifact> found;      // of one that is used
  std::string store_path;
  std::unique_ptr<const tracker::internal::ManifestIndex> index;  // made by the first trk_artifact_get_path()
  uint64_t max_disk = 0;                                          // of the run; 0: no bound
  std::string staging;                                            // the folder of new files; empty: none yet
  std::shared_ptr<tracker::internal::NameLease> held;
  std::vector<tracker::internal::NewFile> new_files;
  uint32_t next_file = 0;
  pid_t staged_by = 0;      // in a forked child the folder is its parent's
  bool gave_files = false;  // the new files were logged

  std::optional<tracker::internal::ArtifactVersion> version() const;
};
