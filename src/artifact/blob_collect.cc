// SPDX-License-Identifier: MIT
#include "artifact/blob_collect.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "artifact/artifact_store.h"
#include "base/ids.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kCondemned = ".gc-";  // added to a blob's name while it is being removed
constexpr size_t kNameDigits = 62;

struct Candidate {
  Digest digest;
  bool referenced = false;
};

class BlobCollector {
 public:
  BlobCollector(const Store& store, const BlobCollectOptions& options)
      : store_(store), options_(options), blobs_(store.path()), registry_(store) {}

  BlobCollectReport run() {
    std::vector<Status> damaged;
    for (ArtifactInfo& info : registry_.list("", &damaged)) {
      damaged.insert(damaged.end(), info.problems.begin(), info.problems.end());
      expire(&info);
    }
    for (const Status& problem : damaged) give_up(problem.to_string());
    leftovers();
    staging();
    const std::vector<std::string> folders = list_dir(blobs_.folder()).value_or({});
    for (size_t i = 0; i < folders.size(); ++i) {
      if (folders[i].size() == 2) gather(folders[i]);
      if (options_.listed) options_.listed(i + 1, folders.size());
    }
    sweep();
    return std::move(report_);
  }

 private:
  void give_up(std::string problem) {
    report_.problems.push_back(std::move(problem));
    report_.gave_up = true;
  }

  // Marks versions whose time to live is over as deleted; a later check of the references removes their blobs.
  void expire(ArtifactInfo* info) {
    for (ArtifactVersion& version : info->versions) {
      if (version.deleted || !version.expires_us || *version.expires_us > options_.now_us) continue;
      const std::string name = fmt::format("{}/{}:{}", info->project, info->name, version.name());
      if (!options_.dry_run && !remove_version(*info, version.number)) continue;
      expired_.push_back({info->project, info->name, version.number});
      report_.removed.push_back({"version", name, version.bytes});
    }
  }

  // If another process has made a mark since `info` was read, that one counts.
  bool remove_version(const ArtifactInfo& info, int64_t number) {
    ArtifactMark mark;
    mark.of = number;
    mark.deleted = true;
    mark.time_us = options_.now_us;
    Status status = registry_.mark(info.project, info.name, mark);
    const auto now = status.ok() ? registry_.read(info.project, info.name) : Result<ArtifactInfo>(status);
    if (!now.ok()) {
      report_.problems.push_back(now.status().to_string());
      return false;
    }
    const int64_t known = info.marks.empty() ? 0 : info.marks.back().number;
    const bool is_used = std::any_of(now->marks.begin(), now->marks.end(), [&](const ArtifactMark& each) {
      return each.of == number && each.number > known && !each.deleted.value_or(false);
    });
    if (!is_used) return true;
    mark.deleted = false;
    status = registry_.mark(info.project, info.name, mark);
    if (!status.ok()) report_.problems.push_back(status.to_string());
    return false;
  }

  void leftovers() {
    for (const Leftover& leftover : dead_temporaries(blobs_)) {
      if (!options_.dry_run) remove_file(leftover.path);
      report_.removed.push_back({"temporary file", leftover.path, leftover.bytes});
    }
  }

  // Removes what dead processes wrote for an artifact that was not stored.
  void staging() {
    const std::string root = join_path(store_.path(), kStagingFolder);
    const NameLeases held(root);
    const auto age = held.are_known() ? kBlobAge : kAgeWithoutLocks;
    const auto folders = list_dir(root);
    for (const std::string& name : folders.ok() ? *folders : std::vector<std::string>()) {
      const std::string folder = join_path(root, name);
      struct stat st{};
      if (!name.starts_with("artifact-") || ::lstat(folder.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
      if (held.holds(name)) continue;
      const auto files = list_dir(folder);
      bool old = is_old(st, age);
      uint64_t bytes = 0;
      for (const std::string& file : files.ok() ? *files : std::vector<std::string>()) {
        old = old && ::lstat(join_path(folder, file).c_str(), &st) == 0 && is_old(st, age);
        bytes += static_cast<uint64_t>(st.st_size);
      }
      if (!old) continue;
      if (!options_.dry_run && files.ok())
        for (const std::string& file : *files) remove_file(join_path(folder, file));
      if (!options_.dry_run && ::rmdir(folder.c_str()) != 0) report_.problems.push_back(folder + " cannot be removed");
      else report_.removed.push_back({"temporary file", folder, bytes});
    }
  }

  bool is_old(const struct stat& st, std::chrono::seconds age = kBlobAge) const {
    return options_.now_us / 1'000'000 - st.st_mtime >= age.count();
  }

  void gather(const std::string& first) {
    const std::string folder = join_path(blobs_.folder(), first);
    const auto names = list_dir(folder);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      const auto digest = Digest::from_hex(first + name.substr(0, kNameDigits));
      const std::string path = join_path(folder, name);
      struct stat st{};
      if (!digest || ::lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
      if (name.size() > kNameDigits) {
        // Another collector died, or is working now: restore the blob, because it may be referred to since.
        if (std::string_view(name).substr(kNameDigits).starts_with(kCondemned) && !options_.dry_run)
          put_back(path, *digest);
        else continue;
      }
      if (!is_old(st)) {
        ++report_.blobs_kept;
        report_.bytes_kept += static_cast<uint64_t>(st.st_size);
        continue;
      }
      candidates_.push_back({*digest});
      if (candidates_.size() >= options_.candidates_max) sweep();
    }
  }

  // Link, not rename: a blob that was stored again meanwhile is kept.
  void put_back(const std::string& condemned, const Digest& digest) {
    if (::link(condemned.c_str(), blobs_.path_of(digest).c_str()) == 0 || errno == EEXIST) {
      remove_file(condemned);
      return;
    }
    if (errno == ENOENT) return;
    if (!path_exists(blobs_.path_of(digest))) (void)::rename(condemned.c_str(), blobs_.path_of(digest).c_str());
  }

  void refer(const Digest& digest) {
    const auto at = std::lower_bound(candidates_.begin(), candidates_.end(), digest,
                                     [](const Candidate& each, const Digest& d) { return each.digest < d; });
    if (at != candidates_.end() && at->digest == digest) at->referenced = true;
  }

  bool is_expired(const ArtifactInfo& info, const ArtifactVersion& version) const {
    return std::any_of(expired_.begin(), expired_.end(), [&](const Expired& each) {
      return each.project == info.project && each.name == info.name && each.number == version.number;
    });
  }

  // The references are read after the listing: if an old blob of the listing is referred to since, it was touched
  // before.
  void mark_references() {
    ++report_.passes;
    std::vector<Status> damaged;
    const std::vector<ArtifactInfo> artifacts = registry_.list("", &damaged);
    uint64_t done = 0, total = 0;
    for (const ArtifactInfo& info : artifacts) total += info.versions.size();
    for (const ArtifactInfo& info : artifacts) {
      damaged.insert(damaged.end(), info.problems.begin(), info.problems.end());
      for (const ArtifactVersion& version : info.versions) {
        if (options_.read) options_.read(done++, total);
        if (version.deleted || (options_.dry_run && is_expired(info, version))) continue;
        refer(version.manifest);
        auto manifest = StoredManifest::open(store_, version.manifest);
        const Status read = manifest.ok() ? manifest->visit([this](const ManifestEntry& entry) {
          if (entry.kind == EntryKind::kFile) refer(entry.digest);
          return Status();
        })
                                          : manifest.status();
        if (!read.ok()) give_up(fmt::format("{}/{}:{}: {}", info.project, info.name, version.name(), read.to_string()));
      }
    }
    for (const Status& problem : damaged) give_up(problem.to_string());
  }

  void sweep() {
    if (candidates_.empty() || report_.gave_up) return candidates_.clear();
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.digest < b.digest; });
    mark_references();
    for (const Candidate& each : candidates_)
      if (!each.referenced && !report_.gave_up) remove(each.digest);
    candidates_.clear();
  }

  // Rename it first: if a process touched it meanwhile it is restored, and a process that needs it meanwhile stores it
  // again.
  void remove(const Digest& digest) {
    const std::string path = blobs_.path_of(digest);
    struct stat st{};
    if (::lstat(path.c_str(), &st) != 0 || !is_old(st)) return;
    if (!options_.dry_run) {
      const std::string condemned = fmt::format("{}{}{:016x}", path, kCondemned, random_u64());
      if (::rename(path.c_str(), condemned.c_str()) != 0) return;
      if (::lstat(condemned.c_str(), &st) != 0) return;
      if (!is_old(st)) return put_back(condemned, digest);
      if (::unlink(condemned.c_str()) != 0) {
        if (errno == ENOENT) return;  // another collector has restored it
        report_.problems.push_back(condemned + " cannot be removed");
        return;
      }
    }
    report_.removed.push_back({"blob", path, static_cast<uint64_t>(st.st_size)});
  }

  struct Expired {
    std::string project, name;
    int64_t number = 0;
  };

  const Store& store_;
  const BlobCollectOptions& options_;
  const BlobStore blobs_;
  const ArtifactRegistry registry_;
  std::vector<Candidate> candidates_;
  std::vector<Expired> expired_;
  BlobCollectReport report_;
};

}  // namespace

BlobCollectReport collect_blobs(const Store& store, const BlobCollectOptions& options) {
  return BlobCollector(store, options).run();
}

}  // namespace tracker::internal
