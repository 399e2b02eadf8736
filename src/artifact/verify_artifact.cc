// SPDX-License-Identifier: MIT
// Checks a version against its stored data.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "artifact/artifact_store.h"
#include "artifact/digest_cache.h"
#include "storage/verify/verify.h"

namespace tracker::internal {
namespace {

constexpr size_t kReadBytes = 1 << 20;

// What is wrong with the blob; empty: nothing. `read` is called for each piece that was read.
std::string look_at_blob(const BlobStore& blobs, const Digest& digest, uint64_t bytes, bool deep,
                         const std::function<void(uint64_t bytes)>& read) {
  auto fd = blobs.open(digest);
  if (!fd.ok()) return fd.status().message();
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0) return "cannot be read";
  if (static_cast<uint64_t>(st.st_size) != bytes)
    return fmt::format("the blob {} has {} bytes instead of {}", digest.hex(), st.st_size, bytes);
  if (!deep) return "";
  std::string buffer(kReadBytes, '\0');
  Sha256 hash;
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", blobs.path_of(digest)).message();
    if (n == 0) break;
    hash.update({buffer.data(), static_cast<size_t>(n)});
    read(static_cast<uint64_t>(n));
  }
  if (hash.finish() == digest) return "";
  DigestCache(blobs.store_path()).forget(digest);
  return fmt::format("the blob {} is damaged", digest.hex());
}

}  // namespace

Result<ArtifactFindings> verify_artifact(const Store& store, const ArtifactVersion& version, bool deep,
                                         const ArtifactProgress& progress) {
  ArtifactFindings out;
  const BlobStore blobs(store.path());
  const auto found = [&out](const std::string& path, std::string what) {
    if (what.empty()) return;
    if (out.listed.size() < kFindingsMax) out.listed.push_back({path, std::move(what)});
    else ++out.left_out;
  };
  auto manifest = StoredManifest::open(store, version.manifest);
  if (!manifest.ok()) {
    found(blobs.path_of(version.manifest), manifest.status().message());
    return out;
  }
  if (sha256(manifest->bytes()) != version.manifest)
    found(blobs.path_of(version.manifest), "the manifest's bytes are not those of its digest");
  uint64_t files = 0, bytes = 0;
  const auto was_read = [&](uint64_t n) {
    bytes += n;
    if (progress) progress(files, bytes);
  };
  ClashFinder clashes;
  const Status read = manifest->visit([&](const ManifestEntry& entry) {
    if (entry.kind != EntryKind::kFile) return Status();
    if (const auto above = clashes.add(entry.path); !above.empty())
      found(entry.path, fmt::format("\"{}\" is a file too: they cannot be downloaded together", above));
    found(entry.path, look_at_blob(blobs, entry.digest, entry.bytes, deep, was_read));
    ++files;
    was_read(0);
    return Status();
  });
  if (read.code() == Code::kVersion && out.empty())  // its bytes have its digest
    return Status(read.code(), fmt::format("{}: {}", blobs.path_of(version.manifest), read.message()),
                  "update tracker; nothing was changed");
  if (!read.ok()) {
    found(blobs.path_of(version.manifest), read.message());
    return out;
  }
  const ManifestTotals totals = manifest->totals();
  if (totals.content != version.content) found("", "the manifest holds another content than the version says");
  if (totals.files != version.files || totals.bytes != version.bytes || totals.references != version.references)
    found("", "the manifest holds other numbers of files or bytes than the version says");
  return out;
}

}  // namespace tracker::internal
