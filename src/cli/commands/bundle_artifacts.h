// SPDX-License-Identifier: MIT
// The versions that a run used and made, on their way into a bundle and out of it (docs/formats/bundle.md). Threads:
// one at a time. Cost: reads the manifests, on the way out of a bundle every blob once.
#pragma once

#include <string>
#include <vector>

#include "exchange/bundle.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Limit: versions of artifacts in a bundle. Beyond it: an error; nothing is written.
constexpr size_t kBundleArtifactsMax = 10'000;
// Limit: bytes of a manifest in a bundle. Beyond it: the version is left out and named.
constexpr size_t kBundleManifestBytesMax = size_t{256} << 20;

struct BundledArtifacts {
  std::vector<BundleExtra> files;
  std::vector<std::string> names;     // "project/name:v3"
  std::vector<std::string> left_out;  // one line each: a version of which something is not in the store
};
// kLimit: more than kBundleArtifactsMax versions, or kBundleFilesMax files.
Result<BundledArtifacts> artifacts_for_bundle(const Store& store, const RunFolder& run);

// Puts those that lie in `folder` into the store, in the projects and under the names they had. Every blob is held
// against its digest, every version against its manifest, before anything is written: kCorrupt leaves the store as it
// was. A content that an artifact has already is the version it is; another one becomes its next version. A name that
// has another type here is a problem of the report, which also gets the names of the versions that are new.
Status take_bundled_artifacts(const Store& store, const std::string& folder, const RunIdentity& run,
                              ImportReport* report);

}  // namespace tracker::internal
