// SPDX-License-Identifier: MIT
#include "artifact/artifact_store.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

constexpr size_t kManifestBufferBytes = 256 * 1024;

uint64_t room_to_leave(const Store& store, uint64_t asked) {
  if (asked != 0) return asked == 1 ? 0 : asked;
  struct statvfs st{};
  if (::statvfs(store.path().c_str(), &st) != 0) return 0;
  return std::min(kArtifactFreeBytesMin, uint64_t{st.f_blocks} * st.f_frsize / kArtifactFreeShare);
}

// A manifest that is being written into a blob.
class ManifestFile {
 public:
  explicit ManifestFile(BlobBatch* batch) : batch_(batch) {}
  ~ManifestFile() {
    if (file_.fd) remove_file(file_.path);
  }
  Status begin() {
    auto file = batch_->begin();
    if (!file.ok()) return file.status();
    file_ = std::move(*file);
    return {};
  }
  Status add(const ManifestEntry& entry) {
    TRACKER_RETURN_IF_ERROR(writer_.add(entry));
    return writer_.pending() >= kManifestBufferBytes ? write() : Status();
  }
  Status finish() {
    totals_ = writer_.finish();
    TRACKER_RETURN_IF_ERROR(write());
    digest_ = hash_.finish();
    return {};
  }
  Status store(const std::atomic<bool>* cancel) { return batch_->add(std::move(file_), digest_, bytes_, cancel); }
  const ManifestTotals& totals() const { return totals_; }
  const Digest& digest() const { return digest_; }

 private:
  Status write() {
    const std::string bytes = writer_.take();
    hash_.update(bytes);
    bytes_ += bytes.size();
    if (const Status status = write_all(file_.fd.get(), bytes); !status.ok())
      return Status::from_errno(status.system_errno(), "cannot store the manifest", file_.path);
    return {};
  }

  BlobBatch* batch_;
  BlobBatch::Temporary file_;
  ManifestWriter writer_;
  Sha256 hash_;
  uint64_t bytes_ = 0;
  ManifestTotals totals_;
  Digest digest_;
};

// The time to live to record when a version is logged: the longest that any caller asked for, and for ever if one asked
// for none. What was asked for before gc removed the version does not count. None: no change.
std::optional<int64_t> ttl_to_say(std::optional<int64_t> asked, bool is_new, const ArtifactVersion& now,
                                  int64_t now_us) {
  const bool for_ever = asked.value_or(0) == 0;
  if (is_new || now.deleted) return for_ever && !now.expires_us ? std::nullopt : std::optional(asked.value_or(0));
  if (!now.expires_us) return std::nullopt;
  if (for_ever) return 0;
  const bool is_later = *asked > (*now.expires_us - now_us) / 1'000'000;
  return is_later ? asked : std::nullopt;
}

// Fills in the change to the marks when this version is logged. Returns false if nothing changes.
bool fill_mark(const StoreArtifactOptions& options, const StoredArtifact& stored, const NewVersion& version,
               const ArtifactInfo& info, ArtifactMark* mark) {
  const ArtifactVersion* now = info.version(stored.version.number);
  if (now == nullptr) return false;
  const auto has = [](const std::vector<std::string>& list, const std::string& text) {
    return std::binary_search(list.begin(), list.end(), text);
  };
  for (const std::string& alias : options.aliases)
    if (alias != kLatestAlias && !has(now->aliases, alias)) mark->aliases_added.push_back(alias);
  for (const std::string& tag : options.tags)
    if (!has(now->tags, tag)) mark->tags_added.push_back(tag);
  mark->ttl_s = ttl_to_say(options.ttl_s, stored.is_new, *now, version.now_us);
  // Logged again: it is no longer deleted, and is the latest version.
  if (!stored.is_new) {
    if (now->deleted || now->expires_us) {
      mark->deleted = false;
      mark->manifest = version.manifest;  // gc may have removed its manifest
    }
    if (!has(now->aliases, std::string(kLatestAlias))) {
      mark->logged_again_at = info.versions.back().number;
      if (!info.unread_versions.empty())
        mark->logged_again_at = std::max(*mark->logged_again_at, info.unread_versions.rbegin()->first);
    }
    // The new description replaces the old one; without a new one the old one stays.
    if (!version.description.empty() && version.description != now->description)
      mark->description = version.description;
    if (!version.metadata.as_map()->empty() && to_json(version.metadata) != to_json(now->metadata))
      mark->metadata = version.metadata;
  }
  return !mark->aliases_added.empty() || !mark->tags_added.empty() || mark->ttl_s || mark->deleted || mark->manifest ||
         mark->logged_again_at || mark->description || !mark->metadata.is_null();
}

// For a version that has another manifest now, only damage matters: the files' times may differ.
bool is_whole(const Store& store, const Digest& manifest) {
  const auto stored = StoredManifest::open(store, manifest);
  return stored.ok() && sha256(stored->bytes()) == manifest;
}

class Storing {
 public:
  Storing(const Store& store, std::string_view project, const ArtifactDraft& draft, const StoreArtifactOptions& options)
      : store_(store),
        project_(project),
        draft_(draft),
        options_(options),
        registry_(store),
        blobs_(store.path()),
        batch_(blobs_),
        cache_(store.path()),
        snapshots_(blobs_, &batch_, &cache_,
                   {room_to_leave(store, options.free_bytes_min), options.cancel,
                    [this](uint64_t bytes) { report_progress(bytes); }, options.between_reads_for_testing}) {}

  Result<StoredArtifact> run() {
    for (const std::string& alias : options_.aliases)
      if (alias != kLatestAlias) TRACKER_RETURN_IF_ERROR(check_alias(alias));
    for (const std::string& tag : options_.tags) TRACKER_RETURN_IF_ERROR(check_tag(tag));
    TRACKER_RETURN_IF_ERROR(registry_.create(project_, draft_.name, draft_.type));
    ManifestFile manifest(&batch_);
    TRACKER_RETURN_IF_ERROR(manifest.begin());
    TRACKER_RETURN_IF_ERROR(draft_.visit([&](const ArtifactDraft::Item& item) { return take(item, &manifest); }));
    TRACKER_RETURN_IF_ERROR(manifest.finish());
    TRACKER_RETURN_IF_ERROR(manifest.store(options_.cancel));
    const int64_t now_us = options_.now_us != 0 ? options_.now_us : realtime_us();
    if (options_.about_to_name) options_.about_to_name(manifest.totals().content, manifest.digest(), now_us);
    // From here on every byte of the version is on the disk.
    TRACKER_RETURN_IF_ERROR(batch_.commit());
    if (monotonic_ns() - begun_ns_ >= std::chrono::nanoseconds(options_.look_again_after).count())
      TRACKER_RETURN_IF_ERROR(look_again(manifest.digest()));
    if (options_.may_name && !options_.may_name()) return Status(Code::kClosed, "the artifact was given up");
    return name_version(manifest, now_us);
  }

 private:
  Status take(const ArtifactDraft::Item& item, ManifestFile* manifest) {
    if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
      return Status(Code::kClosed, "the artifact was given up");
    if (item.entry.kind == EntryKind::kReference) return manifest->add(item.entry);
    auto digest = snapshots_.take(item.folder, item.source, item.held.get());
    if (!digest.ok()) return digest.status();
    ManifestEntry entry = item.entry;
    entry.digest = *digest;
    ++files_;
    bytes_ += entry.bytes;
    reported_ = bytes_;
    if (options_.progress) options_.progress(files_, bytes_);
    return manifest->add(entry);
  }

  // What was found or stored at the start is protected for half a day only: gc knows of no version yet.
  Status look_again(const Digest& manifest) const {
    const auto stored = StoredManifest::open(store_, manifest);
    if (!stored.ok()) return stored.status();
    return stored->visit([this](const ManifestEntry& entry) {
      if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
        return Status(Code::kClosed, "the artifact was given up");
      if (entry.kind == EntryKind::kReference || blobs_.keep(entry.digest, entry.bytes)) return Status();
      // Another user's blob cannot be touched; it has been protected since it was found, so half a day is left.
      if (blobs_.is_younger(entry.digest, entry.bytes, kBlobAge - kLookAgainAfter)) return Status();
      return Status(Code::kBusy, fmt::format("{} was stored, and removed by gc while the others were", entry.path),
                    "log the artifact again: what is there is not stored twice");
    });
  }

  // Also within a large file; the count never falls when a file is read again.
  void report_progress(uint64_t of_this_file) {
    if (!options_.progress || bytes_ + of_this_file < reported_ + 64 * kSnapshotBufferBytes) return;
    reported_ = bytes_ + of_this_file;
    options_.progress(files_, reported_);
  }

  Result<StoredArtifact> name_version(const ManifestFile& manifest, int64_t now_us) {
    StoredArtifact out;
    NewVersion version{manifest.totals(), manifest.digest(), draft_.description, draft_.metadata, options_.run, now_us};
    redact("", &version.metadata, &out.redacted);
    version.description = redact_text(version.description, &out.redacted);
    auto added = registry_.add(project_, draft_.name, version, &out.is_new);
    if (!added.ok()) return added.status();
    out.version = std::move(*added);
    auto info = registry_.read(project_, draft_.name);
    if (!info.ok()) return info.status();
    ArtifactMark mark;
    mark.of = out.version.number;
    mark.run = options_.run;
    mark.time_us = version.now_us;
    if (const ArtifactVersion* now = info->version(out.version.number); now != nullptr && !out.is_new)
      if (now->manifest != version.manifest && !is_whole(store_, now->manifest)) mark.manifest = version.manifest;
    if (fill_mark(options_, out, version, *info, &mark)) {
      TRACKER_RETURN_IF_ERROR(registry_.mark(project_, draft_.name, mark));
      info = registry_.read(project_, draft_.name);
      if (!info.ok()) return info.status();
    }
    if (const ArtifactVersion* now = info->version(out.version.number)) out.version = *now;
    out.files_read = snapshots_.files_read();
    out.bytes_read = snapshots_.bytes_read();
    out.files_cloned = snapshots_.files_cloned();
    return out;
  }

  const Store& store_;
  const std::string_view project_;
  const ArtifactDraft& draft_;
  const StoreArtifactOptions& options_;
  ArtifactRegistry registry_;
  BlobStore blobs_;
  BlobBatch batch_;
  DigestCache cache_;
  Snapshooter snapshots_;
  const int64_t begun_ns_ = monotonic_ns();
  uint64_t files_ = 0, bytes_ = 0;
  uint64_t reported_ = 0;  // bytes in the last call of `progress`
};

}  // namespace

Result<StoredArtifact> store_artifact(const Store& store, std::string_view project, const ArtifactDraft& draft,
                                      const StoreArtifactOptions& options) {
  return Storing(store, project, draft, options).run();
}

Result<uint64_t> new_artifact_bytes(const Store& store, const ArtifactDraft& draft, uint64_t enough,
                                    const std::atomic<bool>* cancel) {
  const BlobStore blobs(store.path());
  BlobBatch none(blobs);
  DigestCache cache(store.path());
  Snapshooter snapshots(blobs, &none, &cache, {0, cancel, {}, {}});
  std::set<Digest> counted;
  uint64_t out = 0;
  const Status status = draft.visit([&](const ArtifactDraft::Item& item) -> Status {
    if (item.entry.kind == EntryKind::kReference || out > enough) return {};
    const auto missing = snapshots.missing(item.folder, item.source, item.held.get());
    if (!missing.ok()) return missing.status();
    if (*missing && counted.insert(**missing).second) out += item.entry.bytes;
    return {};
  });
  if (!status.ok()) return status;
  return out;
}

Result<StoredManifest> StoredManifest::open(const Store& store, const Digest& manifest) {
  const BlobStore blobs(store.path());
  auto fd = blobs.open(manifest);
  if (!fd.ok()) return fd.status();
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0) return Status::from_errno(errno, "cannot read", blobs.path_of(manifest));
  const auto bytes = static_cast<size_t>(st.st_size);
  if (bytes == 0 || bytes > kManifestBytesMax)
    return Status(Code::kCorrupt, fmt::format("{} is no manifest: {} bytes", blobs.path_of(manifest), bytes));
  StoredManifest out;
  if (bytes < kManifestMappedBytes || fs_kind(store.path()) != FsKind::kLocal) {
    auto text = read_file(blobs.path_of(manifest), kManifestBytesMax);
    if (!text.ok()) return text.status();
    out.text_ = std::move(*text);
    return out;
  }
  void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd->get(), 0);
  if (at == MAP_FAILED) return Status::from_errno(errno, "cannot read", blobs.path_of(manifest));
  out.at_ = at;
  out.bytes_ = bytes;
  return out;
}

StoredManifest::StoredManifest(StoredManifest&& other) noexcept
    : text_(std::move(other.text_)), at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

StoredManifest::~StoredManifest() {
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

Status StoredManifest::visit(const std::function<Status(const ManifestEntry&)>& visit) const {
  ManifestReader reader(bytes());
  ManifestEntry entry;
  for (;;) {
    const auto more = reader.next(&entry);
    if (!more.ok()) return more.status();
    if (!*more) return totals_ = reader.totals(), Status();
    TRACKER_RETURN_IF_ERROR(visit(entry));
  }
}

}  // namespace tracker::internal
