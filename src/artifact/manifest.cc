// SPDX-License-Identifier: MIT
#include "artifact/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "model/key.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kMagic = "TRKM";
constexpr std::string_view kContentPrefix = "tracker-artifact-content-1\n";
constexpr uint8_t kEndOfList = 0;
constexpr uint64_t kBytesMax = INT64_MAX;  // of a file, and of all files
constexpr size_t kCrcBytes = 4;

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
                             a.begin());
}

// The part of an entry that is content.
void encode_content(const ManifestEntry& entry, std::string_view previous, ByteWriter* out) {
  const size_t shared = common_prefix(previous, entry.path);
  out->u8(static_cast<uint8_t>(entry.kind));
  out->varint(shared);
  out->sized(std::string_view(entry.path).substr(shared));
  out->varint(entry.bytes);
  if (entry.kind == EntryKind::kFile) return out->bytes(entry.digest.view());
  out->sized(entry.uri);
  out->sized(entry.checksum);
}

// Decodes the content of an entry after its kind. Returns what is wrong, or null.
const char* decode_content(ByteReader* in, std::string_view previous, ManifestEntry* out) {
  const uint64_t shared = in->varint();
  const std::string_view suffix = in->sized();
  if (!in->ok() || shared > previous.size()) return "a path is cut";
  out->path = previous.substr(0, shared);
  out->path += suffix;
  out->bytes = in->varint();
  if (out->kind == EntryKind::kFile) {
    const std::string_view digest = in->bytes(out->digest.bytes.size());
    if (in->ok()) std::memcpy(out->digest.bytes.data(), digest.data(), digest.size());
  } else {
    out->uri = in->sized();
    out->checksum = in->sized();
  }
  return in->ok() ? nullptr : "an entry is cut";
}

Status count(const ManifestEntry& entry, ManifestTotals* totals) {
  if (entry.bytes > kBytesMax - totals->bytes) return Status(Code::kLimit, "the files have more than 2^63 bytes");
  if (entry.kind == EntryKind::kReference) return ++totals->references, Status();
  ++totals->files;
  totals->bytes += entry.bytes;
  return {};
}

Status check_text(std::string_view what, std::string_view text, size_t least) {
  if (text.size() < least) return Status(Code::kInvalid, fmt::format("{} is empty", what));
  if (text.size() > kReferenceBytesMax)
    return Status(Code::kLimit,
                  fmt::format("{} has {} bytes, at most {} are kept", what, text.size(), kReferenceBytesMax));
  if (!is_utf8(text)) return Status(Code::kInvalid, fmt::format("{} is not UTF-8", what));
  for (const char c : text)
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f)
      return Status(Code::kInvalid, fmt::format("{} holds a control character", what));
  return {};
}

Status check_entry(const ManifestEntry& entry) {
  TRACKER_RETURN_IF_ERROR(check_artifact_path(entry.path));
  if (entry.kind == EntryKind::kFile) return {};
  TRACKER_RETURN_IF_ERROR(check_text("the URI of a reference", entry.uri, 1));
  return check_text("the checksum of a reference", entry.checksum, 0);
}

}  // namespace

Status check_artifact_path(std::string_view path) {
  if (path.empty()) return Status(Code::kInvalid, "a path in an artifact is empty");
  if (path.size() > kArtifactPathBytesMax)
    return Status(Code::kLimit, fmt::format("a path in an artifact has {} bytes, at most {} are kept: {}…", path.size(),
                                            kArtifactPathBytesMax, path.substr(0, 64)));
  const auto refuse = [path](std::string_view why) {
    return Status(Code::kInvalid, fmt::format("\"{}\" is no path in an artifact: {}", path, why));
  };
  if (!is_utf8(path)) return Status(Code::kInvalid, "a path in an artifact is not UTF-8", "rename the file");
  for (const char c : path) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f)
      return Status(Code::kInvalid, "a path in an artifact holds a control character", "rename the file");
    if (c == '\\') return refuse("it holds a backslash");
  }
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty()) return refuse("a part of it is empty");
    if (part == "." || part == "..") return refuse(fmt::format("it holds \"{}\"", part));
    if (part.size() > kArtifactPathPartBytesMax) return refuse("a part of it has more than 255 bytes");
    at = end + 1;
  }
  return {};
}

std::string_view ClashFinder::add(std::string_view path) {
  const size_t shared = common_prefix(last_, path);
  while (!ends_.empty() && ends_.back() > shared) ends_.pop_back();
  // For an earlier end, the same byte followed it in the previous path, for which it was checked.
  const bool clash = !ends_.empty() && ends_.back() == shared && shared < path.size() && path[shared] == '/';
  last_ = path;
  ends_.push_back(path.size());
  return clash ? std::string_view(last_).substr(0, shared) : std::string_view();
}

Status clash_status(std::string_view path, std::string_view above) {
  return Status(Code::kInvalid,
                fmt::format("\"{}\" cannot be in the artifact: \"{}\" is a file of it, not a folder", path, above));
}

ManifestWriter::ManifestWriter(uint64_t entries_max) : entries_max_(entries_max) {
  out_.bytes(kMagic);
  out_.u16(kManifestVersion);
  out_.u16(0);
  content_.update(kContentPrefix);
}

Status ManifestWriter::add(const ManifestEntry& entry) {
  TRACKER_RETURN_IF_ERROR(check_entry(entry));
  if (entries_ > 0 && entry.path <= last_path_)
    return Status(entry.path == last_path_ ? Code::kExists : Code::kInvalid,
                  fmt::format("\"{}\" comes twice or out of order", entry.path));
  if (entries_ >= entries_max_)
    return Status(Code::kLimit, fmt::format("an artifact has at most {} files", entries_max_));
  if (const auto above = clashes_.add(entry.path); !above.empty()) return clash_status(entry.path, above);
  TRACKER_RETURN_IF_ERROR(count(entry, &totals_));
  ByteWriter content;
  encode_content(entry, last_path_, &content);
  content_.update(content.buffer());
  out_.bytes(content.buffer());
  if (entry.kind == EntryKind::kFile) out_.zigzag(entry.mtime_us);
  last_path_ = entry.path;
  ++entries_;
  return {};
}

std::string ManifestWriter::take() {
  crc_ = crc32c(std::string_view(out_.buffer()).substr(checked_), crc_);
  checked_ = 0;
  std::string out = out_.take();
  out_ = ByteWriter();
  return out;
}

ManifestTotals ManifestWriter::finish() {
  out_.u8(kEndOfList);
  out_.varint(entries_);
  crc_ = crc32c(std::string_view(out_.buffer()), crc_);
  checked_ = out_.size();
  out_.u32(crc_);
  totals_.content = content_.finish();
  return totals_;
}

ManifestReader::ManifestReader(std::string_view bytes, uint64_t entries_max)
    : bytes_(bytes),
      in_(bytes.substr(0, bytes.size() >= kCrcBytes ? bytes.size() - kCrcBytes : 0)),
      entries_max_(entries_max) {}

Status ManifestReader::corrupt(std::string_view what) const {
  return Status(Code::kCorrupt, fmt::format("damaged manifest at byte {}: {}", in_.failed_at(), what));
}

Status ManifestReader::header() {
  if (bytes_.size() > kManifestBytesMax) return Status(Code::kLimit, "the manifest is larger than 4 GiB");
  const std::string_view magic = in_.bytes(kMagic.size());
  const uint16_t version = in_.u16(), flags = in_.u16();
  if (!in_.ok() || magic != kMagic) return corrupt("it does not begin as one");
  if (version > kManifestVersion || flags != 0)
    return Status(Code::kVersion,
                  fmt::format("the manifest has version {}, this program knows up to {}", version, kManifestVersion));
  if (version == 0) return corrupt("no valid version");
  content_.update(kContentPrefix);
  begun_ = true;
  return {};
}

Status ManifestReader::end() {
  const size_t at = in_.offset();
  const uint64_t entries = in_.varint();
  ByteWriter again;
  again.varint(entries);
  if (!in_.ok() || entries != entries_ || !in_.at_end() || again.buffer() != bytes_.substr(at, in_.offset() - at))
    return corrupt("the end does not fit");
  uint32_t stored = 0;
  std::memcpy(&stored, bytes_.data() + bytes_.size() - kCrcBytes, sizeof stored);
  if (stored != crc32c(bytes_.substr(0, bytes_.size() - kCrcBytes))) return corrupt("the CRC does not fit");
  totals_.content = content_.finish();
  ended_ = true;
  return {};
}

Result<bool> ManifestReader::next(ManifestEntry* entry) {
  if (ended_) return false;
  if (!begun_) TRACKER_RETURN_IF_ERROR(header());
  const size_t start = in_.offset();
  const uint8_t kind = in_.u8();
  if (!in_.ok()) return corrupt("it is cut");
  if (kind == kEndOfList) {
    TRACKER_RETURN_IF_ERROR(end());
    return false;
  }
  if (kind > 2) return corrupt("an entry of an unknown kind");
  ManifestEntry out;
  out.kind = static_cast<EntryKind>(kind);
  if (const char* wrong = decode_content(&in_, last_path_, &out); wrong != nullptr) return corrupt(wrong);
  ByteWriter again;
  encode_content(out, last_path_, &again);
  const std::string_view content = bytes_.substr(start, in_.offset() - start);
  if (again.buffer() != content) return corrupt("an entry is not in its canonical form");
  if (out.kind == EntryKind::kFile) {
    const size_t time_at = in_.offset();
    out.mtime_us = in_.zigzag();
    ByteWriter time;
    time.zigzag(out.mtime_us);
    if (!in_.ok() || time.buffer() != bytes_.substr(time_at, in_.offset() - time_at)) return corrupt("a bad time");
  }
  if (entries_ > 0 && out.path <= last_path_) return corrupt("a path out of order");
  if (const Status bad = check_entry(out); !bad.ok()) return corrupt(bad.message());
  if (const Status bad = count(out, &totals_); !bad.ok()) return corrupt(bad.message());
  if (++entries_ > entries_max_) return Status(Code::kLimit, "the manifest has too many entries");
  content_.update(content);
  last_path_ = out.path;
  *entry = std::move(out);
  return true;
}

Result<std::optional<ManifestEntry>> find_in_part(std::string_view part, std::string_view previous,
                                                  std::string_view path) {
  std::string last(previous);
  for (ByteReader in(part); !in.at_end();) {
    const uint8_t kind = in.u8();
    if (kind == kEndOfList) break;
    ManifestEntry entry;
    entry.kind = static_cast<EntryKind>(kind);
    const char* wrong = kind > 2 ? "an entry of an unknown kind" : decode_content(&in, last, &entry);
    if (wrong == nullptr && entry.kind == EntryKind::kFile) entry.mtime_us = in.zigzag();
    if (wrong == nullptr && !in.ok()) wrong = "a bad time";
    if (wrong == nullptr && entry.path <= last) wrong = "a path out of order";
    if (wrong != nullptr) return Status(Code::kCorrupt, fmt::format("damaged manifest: {}", wrong));
    if (entry.path == path) return std::optional(std::move(entry));
    if (entry.path > path) break;
    last = std::move(entry.path);
  }
  return std::optional<ManifestEntry>();
}

Status check_manifest(std::string_view bytes, ManifestTotals* totals) {
  ManifestReader reader(bytes);
  ManifestEntry entry;
  ClashFinder clashes;
  for (;;) {
    const auto more = reader.next(&entry);
    if (!more.ok()) return more.status();
    if (*more && entry.kind == EntryKind::kFile)
      if (const auto above = clashes.add(entry.path); !above.empty())
        return Status(Code::kCorrupt, clash_status(entry.path, above).message());
    if (*more) continue;
    if (totals != nullptr) *totals = reader.totals();
    return {};
  }
}

}  // namespace tracker::internal
