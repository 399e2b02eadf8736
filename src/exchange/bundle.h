// SPDX-License-Identifier: MIT
// A run in one file, byte for byte: what `tracker export --bundle` writes and `tracker import` reads back into another
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

// Whether a bundle may hold a file of this name: run.json, attempt-<n>.json, a writer's database, part or .frames file,
// a medium, a document of an artifact, a mark of one, a blob. Never anything that leads out of the folder.
bool is_bundle_name(std::string_view name);
// Whether the file begins as a bundle does.
bool is_bundle(const std::string& path);

struct BundleResult {
  uint32_t files = 0;
  uint64_t bytes = 0;                 // of the bundle
  std::vector<std::string> left_out;  // names in the run's folder that are no part of a run, at most kImportProblemsMax
  std::vector<std::string> problems;  // of the run: what of it cannot be read, and is in the bundle as it stands
  Code worst = Code::kOk;             // of them
};

// A file beside those of the run: at `path`, or without one `content`.
struct BundleExtra {
  std::string name, path, content;
};
// What becomes of them: called when the run's files verify, before the run is in the store, with the folder that they
// lie in. Its failure ends the import.
using TakeBundleExtras = std::function<Status(const std::string& folder, const RunIdentity& run)>;

// Writes `output`, which appears whole or not at all. `progress`: bytes of the files. kBusy: somebody records the run,
// or changed it meanwhile; kLimit: more than kBundleFilesMax files; kIo.
Result<BundleResult> export_bundle(const RunFolder& run, const std::string& output,
                                   const std::vector<BundleExtra>& extras = {}, const ImportProgress& progress = {});

// Reads it to its end; the errors that import_bundle() finds in the file itself.
Status check_bundle(const std::string& path);

// Puts the run of a bundle into the store. A run that is there already, by its uid, is left as it is. Errors leave the
// store as it was: kCorrupt names the byte of the bundle that is wrong, kVersion a newer version, kExists another run
// of that name, kLimit too little room on the disk.
Status import_bundle(ImportStore* store, const ImportOptions& options, const ImportProgress& progress,
                     const TakeBundleExtras& take_extras = {});
// The same of the folder of a run, which is only read: by way of a bundle within the store, so it takes twice its room
// for as long. What the run used and made stays where it is. kBusy: somebody records the run.
Status import_run_folder(ImportStore* store, const ImportOptions& options, const ImportProgress& progress);

}  // namespace tracker::internal
