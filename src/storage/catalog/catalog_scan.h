// SPDX-License-Identifier: MIT
// What the folders of a store say about which rows of the catalog still hold. Threads: pure reads of the file system.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/catalog/catalog_rows.h"

namespace tracker::internal {

// A timestamp this close to "now" proves nothing: a change after our look could carry the same one (kernels stamp by a
// tick of some ms, network file systems by their own clock). Such a run is read again next time.
constexpr std::chrono::microseconds kCatalogRacy{2'000'000};
// A writer without an end that gave no sign of life for so long, and whose process is not seen, is believed to stay so
// until its files change.
constexpr std::chrono::microseconds kCatalogSilent{3'600'000'000};

// Host and boot of this process: who judges whether a writer lives.
std::string catalog_judge();

// The folder as it stands; none when `path` is no folder.
std::optional<CatalogSign> folder_sign(const std::string& path);
// The same relative to an open folder: one system call.
std::optional<CatalogSign> folder_sign_at(int parent, const std::string& name);

struct CatalogFiles {
  int64_t hash = 0;        // never 0
  int64_t newest_ns = 0;   // newest time of a change
  bool leftovers = false;  // a WAL or journal stands beside a database: not at rest, whatever the databases say
};
CatalogFiles look_at_files(const std::string& folder);

// Whether a row with the sign `known` still holds for the folder as `seen`. Cost: for kFiles a listing and two stats a
// writer, else none.
bool still_holds(const CatalogSign& known, const CatalogSign& seen, const std::string& path, const std::string& judge);

// The trust that a row may have which was read between `seen`/`files` and now.
CatalogTrust trust_of(const CatalogRecord& record, const CatalogSign& seen, const CatalogFiles& files, int64_t now_us);

}  // namespace tracker::internal
