// SPDX-License-Identifier: MIT
// The content of an artifact's version: one entry for each file or reference, sorted by path. Canonical: one list of
// entries has one encoding, and the digest of the content is that of the entries without their times. Format:
// docs/formats/artifact.md. Pure functions on spans; threads: values. Cost: no memory for each entry, in either
// direction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/digest.h"
#include "base/bytes.h"
#include "base/status.h"

namespace tracker::internal {

constexpr uint16_t kManifestVersion = 1;
constexpr size_t kManifestHeaderBytes = 8;
// Limit: files and references of an artifact. Beyond it: an error.
constexpr uint64_t kManifestEntriesMax = 10'000'000;
// Limit: bytes of a manifest. Beyond it: an error.
constexpr size_t kManifestBytesMax = size_t{4} << 30;
// Limit: bytes of a path in an artifact. Beyond it: an error that names it.
constexpr size_t kArtifactPathBytesMax = 4096;
// Limit: bytes of a part of a path in an artifact. Beyond it: an error that names it.
constexpr size_t kArtifactPathPartBytesMax = 255;
// Limit: bytes of a URI, and of its checksum. Beyond it: an error.
constexpr size_t kReferenceBytesMax = 8192;

// On disk: do not change the numbers.
enum class EntryKind : uint8_t { kFile = 1, kReference = 2 };

struct ManifestEntry {
  EntryKind kind = EntryKind::kFile;
  std::string path;      // within the artifact, parts joined by "/"
  uint64_t bytes = 0;    // of a reference: as given by the caller, 0 if unknown
  Digest digest;         // of a file
  std::string uri;       // of a reference
  std::string checksum;  // of a reference, as given by the caller; may be empty
  int64_t mtime_us = 0;  // of a file; not part of the content
  bool operator==(const ManifestEntry&) const = default;
};

// A relative path of 1 to 4,096 bytes of UTF-8, parts of at most 255, none of them "", "." or "..", no control
// characters and no backslash. kInvalid names the violated rule.
Status check_artifact_path(std::string_view path);

// Finds, among paths in order, one that is below another: "q" and "q/r" cannot be files of one folder. Cost: no memory
// for each path.
class ClashFinder {
 public:
  // The path that this one is below; empty: none.
  std::string_view add(std::string_view path);

 private:
  std::string last_;
  std::vector<size_t> ends_;  // of the paths that are prefixes of the last one, and of itself; ascending
};
Status clash_status(std::string_view path, std::string_view above);

struct ManifestTotals {
  uint64_t files = 0, references = 0;
  uint64_t bytes = 0;  // of the files
  Digest content;      // identifies what the artifact holds
  bool operator==(const ManifestTotals&) const = default;
};

// Encodes entries in order; the caller takes the encoded bytes out of buffer().
class ManifestWriter {
 public:
  explicit ManifestWriter(uint64_t entries_max = kManifestEntriesMax);
  // kInvalid: not greater than the previous entry, a bad path, or one below another. kLimit: too many entries.
  Status add(const ManifestEntry& entry);
  // Writes the end. Nothing may be added after it.
  ManifestTotals finish();
  // Encoded bytes that were not taken yet.
  size_t pending() const { return out_.size(); }
  std::string take();

 private:
  void emit(const std::string& bytes);

  ByteWriter out_;
  std::string last_path_;
  ClashFinder clashes_;
  const uint64_t entries_max_;
  uint64_t entries_ = 0;
  uint32_t crc_ = 0;
  size_t checked_ = 0;  // bytes of `out_` that are in crc_
  ManifestTotals totals_;
  Sha256 content_;
};

// Reads an encoded manifest. Damaged, not canonical or unsorted bytes are refused with kCorrupt and the offset, a newer
// version with kVersion; files below files are accepted, because earlier writers allowed them. `bytes` must outlive it.
class ManifestReader {
 public:
  explicit ManifestReader(std::string_view bytes, uint64_t entries_max = kManifestEntriesMax);
  // False at the end; then totals() is valid and the CRC has been checked.
  Result<bool> next(ManifestEntry* entry);
  const ManifestTotals& totals() const { return totals_; }
  size_t offset() const { return in_.offset(); }  // of the first byte after the last entry

 private:
  Status header();
  Status corrupt(std::string_view what) const;
  Status end();

  std::string_view bytes_;
  ByteReader in_;
  const uint64_t entries_max_;
  bool begun_ = false, ended_ = false;
  std::string last_path_;
  uint64_t entries_ = 0;
  ManifestTotals totals_;
  Sha256 content_;
};

// Searches for the entry of `path` in `part`: some consecutive entries, after the entry of path `previous`, of a
// manifest that was read to its end before. nullopt: it is not among them. kCorrupt: the bytes have changed.
Result<std::optional<ManifestEntry>> find_in_part(std::string_view part, std::string_view previous,
                                                  std::string_view path);

// Checks all of it; kCorrupt for files below files too. `totals` may be null.
Status check_manifest(std::string_view bytes, ManifestTotals* totals);

}  // namespace tracker::internal
