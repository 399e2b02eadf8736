// SPDX-License-Identifier: MIT
// Decides from the folders of a store which rows of the catalog are up to date. Threads: pure reads of the file system.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/catalog/catalog_rows.h"

namespace tracker::internal {

// A timestamp this close to now proves nothing: a later change could get the same one (kernels update their clock every
// few ms, network file systems use a clock of their own). Such a run is read again at the next refresh.
constexpr std::chrono::microseconds kCatalogRacy{2'000'000};
// A writer that has no end, had no heartbeat for this long and whose process is not found: its run is trusted to be
// unchanged until its files change.
constexpr std::chrono::microseconds kCatalogSilent{3'600'000'000};

// Host and boot of this process, which determined whether a writer lives.
std::string catalog_judge();

// The signature of the folder now; none if `path` is not a folder.
std::optional<CatalogSign> folder_sign(const std::string& path);
// The same relative to an open folder: one system call.
std::optional<CatalogSign> folder_sign_at(int parent, const std::string& name);

struct CatalogFiles {
  int64_t hash = 0;        // never 0
  int64_t newest_ns = 0;   // newest time of a change
  bool leftovers = false;  // a database has a WAL or journal: the run is not at rest, whatever the databases say
};
CatalogFiles look_at_files(const std::string& folder);

// Whether a row with the signature `known` is up to date for the folder as `seen`. Cost: for kFiles a listing and two
// stats for each writer, else none.
bool still_holds(const CatalogSign& known, const CatalogSign& seen, const std::string& path, const std::string& judge);

// The trust for a row that was read between `seen`/`files` and now.
CatalogTrust trust_of(const CatalogRecord& record, const CatalogSign& seen, const CatalogFiles& files, int64_t now_us);

}  // namespace tracker::internal
