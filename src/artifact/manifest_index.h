// SPDX-License-Identifier: MIT
// Finds single entries of one manifest without reading all of it each time. Threads: any. Cost: build() reads and
// checks the whole manifest; find() reads about 64 entries of it, or more if the manifest has more than kIndexPlacesMax
// * 64. Memory: at most kIndexPlacesMax paths and kIndexBytesMax bytes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "base/status.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr size_t kIndexPlacesMax = 16'384;
constexpr size_t kIndexBytesMax = 4u << 20;

class ManifestIndex {
 public:
  // Errors as of StoredManifest.
  static Result<ManifestIndex> build(const Store& store, const Digest& manifest);
  // nullopt: the manifest has no such entry. kNotFound, kCorrupt, kIo: the manifest is gone, or has changed.
  Result<std::optional<ManifestEntry>> find(const Store& store, std::string_view path) const;
  const Digest& manifest() const { return manifest_; }
  size_t places() const { return places_.size(); }

 private:
  struct Place {  // an entry, and the start of the next one
    std::string path;
    uint64_t next_at = 0;
  };
  void add(const std::string& path, uint64_t next_at);
  void thin_out();

  Digest manifest_;
  std::vector<Place> places_;  // each `step_`th entry
  uint64_t entries_ = 0, step_ = 64;
  uint64_t first_ = 0, bytes_ = 0;  // the start of the first entry; the size of the manifest
  size_t path_bytes_ = 0;
};

}  // namespace tracker::internal
