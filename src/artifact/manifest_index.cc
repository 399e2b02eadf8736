// SPDX-License-Identifier: MIT
#include "artifact/manifest_index.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"

namespace tracker::internal {

Result<ManifestIndex> ManifestIndex::build(const Store& store, const Digest& manifest) {
  const auto stored = StoredManifest::open(store, manifest);
  if (!stored.ok()) return stored.status();
  ManifestIndex out;
  out.manifest_ = manifest;
  out.first_ = kManifestHeaderBytes;
  out.bytes_ = stored->bytes().size();
  ManifestReader reader(stored->bytes());
  ManifestEntry entry;
  for (;;) {
    const auto more = reader.next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) return out;
    out.add(entry.path, reader.offset());
  }
}

void ManifestIndex::add(const std::string& path, uint64_t next_at) {
  if (++entries_ % step_ != 0) return;
  places_.push_back({path, next_at});
  path_bytes_ += path.size();
  if (places_.size() > kIndexPlacesMax || path_bytes_ > kIndexBytesMax) thin_out();
}

void ManifestIndex::thin_out() {
  step_ *= 2;
  path_bytes_ = 0;
  size_t kept = 0;
  for (size_t i = 1; i < places_.size(); i += 2) {  // those whose number of entries is a multiple of the new step
    path_bytes_ += places_[i].path.size();
    places_[kept++] = std::move(places_[i]);
  }
  places_.resize(kept);
}

Result<std::optional<ManifestEntry>> ManifestIndex::find(const Store& store, std::string_view path) const {
  // The first place whose path is not less than `path`: the entry is there, or between it and the previous place.
  const auto next = std::lower_bound(places_.begin(), places_.end(), path,
                                     [](const Place& place, std::string_view wanted) { return place.path < wanted; });
  const uint64_t from = next == places_.begin() ? first_ : (next - 1)->next_at;
  const uint64_t to = next == places_.end() ? bytes_ : next->next_at;
  const BlobStore blobs(store.path());
  const auto fd = blobs.open(manifest_);
  if (!fd.ok()) return fd.status();
  std::string part(to - from, '\0');
  for (size_t done = 0; done < part.size();) {
    const ssize_t n = ::pread(fd->get(), part.data() + done, part.size() - done, static_cast<off_t>(from + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", blobs.path_of(manifest_));
    if (n == 0) return Status(Code::kCorrupt, fmt::format("{} is cut", blobs.path_of(manifest_)));
    done += static_cast<size_t>(n);
  }
  return find_in_part(part, next == places_.begin() ? std::string_view() : (next - 1)->path, path);
}

}  // namespace tracker::internal
