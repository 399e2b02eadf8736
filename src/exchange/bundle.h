// SPDX-License-Identifier: MIT
// A run in one file, byte for byte: `tracker export --bundle` writes it and `tracker import` reads it into another
// store (docs/formats/bundle.md). Threads: one at a time. Cost: reads and writes the run's files once, an import reads
// the bundle twice; kBundleBufferBytes of memory for any size.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/import_source.h"
#include "exchange/import_store.h"

namespace tracker::internal {

constexpr std::string_view kBundleMagic = "TRKBUND\n";
constexpr std::string_view kBundleEnd = "TRKBEND\n";
constexpr uint32_t kBundleVersion = 1;
constexpr std::string_view kBundleArtifacts = "artifacts/", kBundleBlobs = "blobs/", kBundleMark = "-mark-";
// Limit: files of a bundle. Beyond it: an error.
constexpr uint32_t kBundleFilesMax = 1'000'000;
// Limit: bytes of the name of a file in a bundle. Beyond it: an error.
constexpr size_t kBundleNameBytesMax = 255;
constexpr size_t kBundleBufferBytes = 128 << 10;

// Whether a bundle may have a file of this name: run.json, attempt-<n>.json, a writer's database, part or .frames file,
// a medium, a document or mark of an artifact, a blob. Never a path that leads out of the folder.
bool is_bundle_name(std::string_view name);
// Whether the file starts as a bundle does.
bool is_bundle(const std::string& path);

struct BundleResult {
  uint32_t files = 0;
  uint64_t bytes = 0;  // of the bundle
  // files in the run's folder that are not part of a run, at most kImportProblemsMax
  std::vector<std::string> left_out;
  std::vector<std::string> problems;  // of the run: what cannot be read; it is in the bundle unchanged
  Code worst = Code::kOk;             // of them
};

// A file in addition to those of the run: the file `path`, or if it is empty `content`.
struct BundleExtra {
  std::string name, path, content;
};
// Called with the folder of the additional files when the run's files verify, before the run is in the store. An error
// of it ends the import.
using TakeBundleExtras = std::function<Status(const std::string& folder, const RunIdentity& run)>;

// Writes `output`, which appears complete or not at all. `progress`: bytes of the files. kBusy: a process records the
// run, or changed it meanwhile; kLimit: more than kBundleFilesMax files; kIo.
Result<BundleResult> export_bundle(const RunFolder& run, const std::string& output,
                                   const std::vector<BundleExtra>& extras = {}, const ImportProgress& progress = {});

// Reads it to its end; the errors of import_bundle() that come from the file itself.
Status check_bundle(const std::string& path);

// Puts the run of a bundle into the store. A run that exists there, by its uid, is not changed. After an error the
// store is unchanged: kCorrupt names the wrong byte of the bundle, kVersion a newer version, kExists another run of
// that name, kLimit too little disk space.
Status import_bundle(ImportStore* store, const ImportOptions& options, const ImportProgress& progress,
                     const TakeBundleExtras& take_extras = {});
// The same for the folder of a run, which is only read: through a bundle within the store, so it needs twice its space
// meanwhile. The artifacts that the run used and made are not copied. kBusy: a process records the run.
Status import_run_folder(ImportStore* store, const ImportOptions& options, const ImportProgress& progress);

}  // namespace tracker::internal
