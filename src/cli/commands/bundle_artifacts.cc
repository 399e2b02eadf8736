// SPDX-License-Identifier: MIT
#include "cli/commands/bundle_artifacts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "artifact/artifact_store.h"
#include "artifact/artifact_writer.h"
#include "artifact/lineage.h"
#include "artifact/registry_documents.h"
#include "base/clock.h"
#include "base/fs.h"
#include "model/key.h"
#include "model/visible.h"

namespace tracker::internal {
namespace {

Status bad(const std::string& what) {
  return Status(Code::kCorrupt, "the bundle's artifacts: " + what, "nothing was stored; export the run again");
}

// Of what was left out: a name of another type, or no room, is no damage.
Code code_of(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kVersion ? status.code() : Code::kIo;
}

// A document of it that cannot be read: one of a newer program is no damage.
Status bad(const std::string& what, const Status& status) {
  if (status.code() != Code::kVersion) return bad(what + status.message());
  return Status(Code::kVersion, "the bundle's artifacts: " + what + status.message(),
                "nothing was stored; update tracker");
}

bool is_stored(const BlobStore& blobs, const Digest& digest, uint64_t bytes) {
  struct stat st{};
  return ::lstat(blobs.path_of(digest).c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         static_cast<uint64_t>(st.st_size) == bytes;
}

// The blobs of a version, its manifest first. What is wrong with it; empty: nothing.
std::string list_blobs(const Store& store, const ArtifactVersion& version, std::set<Digest>* out) {
  const BlobStore blobs(store.path());
  const auto manifest = StoredManifest::open(store, version.manifest);
  if (!manifest.ok()) return manifest.status().message();
  if (manifest->bytes().size() > kBundleManifestBytesMax) return "its manifest is too large for a bundle";
  std::set<Digest> found{version.manifest};
  ClashFinder clashes;
  const Status status = manifest->visit([&](const ManifestEntry& entry) {
    if (entry.kind != EntryKind::kFile) return Status();
    if (const auto above = clashes.add(entry.path); !above.empty()) return clash_status(entry.path, above);
    if (!is_stored(blobs, entry.digest, entry.bytes)) return Status(Code::kNotFound, entry.path + " is not whole");
    if (found.insert(entry.digest).second && found.size() + out->size() > kBundleFilesMax)
      return Status(Code::kLimit, fmt::format("more than {} files", kBundleFilesMax));
    return Status();
  });
  if (!status.ok()) return status.message();
  out->merge(found);
  return "";
}

Result<Digest> digest_of(const std::string& path) {
  auto fd = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!fd.ok()) return fd.status();
  std::string buffer(kBundleBufferBytes, '\0');
  Sha256 hash;
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) return hash.finish();
    hash.update({buffer.data(), static_cast<size_t>(n)});
  }
}

// What is said about a version, "latest" apart, which is the newest of its store: at most kAliasesAMarkMax aliases and
// tags a mark.
std::vector<ArtifactMark> marks_of(const ArtifactVersion& version, int64_t now_us) {
  std::vector<ArtifactMark> out;
  const auto nth = [&](size_t i) -> ArtifactMark& {
    while (out.size() <= i / kAliasesAMarkMax) {
      ArtifactMark& mark = out.emplace_back();
      mark.number = static_cast<int64_t>(out.size());
      mark.of = version.number;
      mark.time_us = now_us;
    }
    return out[i / kAliasesAMarkMax];
  };
  size_t aliases = 0;
  for (const std::string& alias : version.aliases)
    if (alias != kLatestAlias) nth(aliases++).aliases_added.push_back(alias);
  for (size_t i = 0; i < version.tags.size(); ++i) nth(i).tags_added.push_back(version.tags[i]);
  if (version.expires_us) nth(0).ttl_s = std::max<int64_t>(1, (*version.expires_us - now_us) / 1'000'000);
  return out;
}

// What a bundle brought, as far as it was checked.
class Taken {
 public:
  Taken(const Store& store, const std::string& folder) : store_(store), blobs_(store.path()), folder_(folder) {}

  Status check() {
    TRACKER_RETURN_IF_ERROR(check_blobs());
    return check_versions();
  }

  Status put(const RunIdentity& run, ImportReport* report) {
    BlobBatch batch(blobs_);
    for (const auto& [digest, bytes] : bundled_) {
      const std::string path = path_of(digest);
      auto fd = open_file(path, O_RDWR | O_NOFOLLOW);
      if (!fd.ok()) return fd.status();
      TRACKER_RETURN_IF_ERROR(batch.add({std::move(*fd), path}, digest, bytes));
    }
    TRACKER_RETURN_IF_ERROR(batch.commit());
    const ArtifactRegistry registry(store_);
    std::map<std::pair<std::string, std::string>, ArtifactWriter> writers;  // one may have thousands of versions
    for (const auto& [number, each] : versions_) {
      NewVersion version{each.totals,           each.version.manifest, each.version.description,
                         each.version.metadata, run.uid.hex(),         each.version.created_us};
      if (each.version.run != run.uid.hex()) version.run = each.version.run;
      Status status = registry.create(each.info.project, each.info.name, each.info.type);
      auto writer = writers.find({each.info.project, each.info.name});
      if (status.ok() && writer == writers.end()) {
        auto opened = ArtifactWriter::open(registry, each.info.project, each.info.name);
        status = opened.status();
        if (opened.ok())
          writer = writers.emplace(std::pair(each.info.project, each.info.name), std::move(*opened)).first;
      }
      bool is_new = false;
      const auto added = status.ok() ? writer->second.add(version, &is_new) : Result<ArtifactVersion>(status);
      if (!added.ok())
        report->add_problem(code_of(added.status()),
                            fmt::format("the artifact {}/{} was left out: {}", each.info.project, each.info.name,
                                        added.status().to_string()));
      else say_about(&writer->second, each, *added, is_new, report);
    }
    return {};
  }

 private:
  struct Version {
    ArtifactInfo info;
    ArtifactVersion version;
    ManifestTotals totals;
    bool has_version = false;
    std::map<int64_t, ArtifactMark> marks;  // by number
  };

  // An alias that names another version here stays there; a time to live is that of a version that is new here.
  void say_about(ArtifactWriter* writer, const Version& each, const ArtifactVersion& added, bool is_new,
                 ImportReport* report) const {
    const std::string &project = each.info.project, &name = each.info.name;
    if (is_new) report->artifacts.push_back(fmt::format("{}/{}:{}", project, name, added.name()));
    for (const auto& [number, bundled] : each.marks) {
      const ArtifactVersion* now = writer->version(added.number);
      if (now == nullptr) return;
      ArtifactMark mark;
      mark.of = added.number;
      mark.time_us = bundled.time_us;
      if (is_new) mark.ttl_s = bundled.ttl_s;
      for (const std::string& alias : bundled.aliases_added) {
        const auto found = writer->named(alias);
        if (found.status().code() == Code::kNotFound) mark.aliases_added.push_back(alias);
        else if (!found.ok()) ++report->left_out["aliases that may name another version here, which cannot be read"];
        else if (*found != added.number) ++report->left_out["aliases that name another version here"];
      }
      for (const std::string& tag : bundled.tags_added)
        if (!std::binary_search(now->tags.begin(), now->tags.end(), tag)) mark.tags_added.push_back(tag);
      if (mark.aliases_added.empty() && mark.tags_added.empty() && !mark.ttl_s) continue;
      if (const Status status = writer->mark(mark); !status.ok())
        report->add_problem(code_of(status), fmt::format("what is said about {}/{}:{} was left out: {}", project, name,
                                                         added.name(), status.to_string()));
    }
  }

  std::string path_of(const Digest& digest) const {
    return join_path(folder_, std::string(kBundleBlobs) + digest.hex());
  }

  Status check_blobs() {
    const std::string below = join_path(folder_, "blobs");
    if (!is_directory(below)) return {};
    const auto names = list_dir(below);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      const auto digest = Digest::from_hex(name);
      if (!digest) return bad("a blob without a digest");
      const std::string path = path_of(*digest);
      const auto found = digest_of(path);
      if (!found.ok()) return found.status();
      if (*found != *digest) return bad(fmt::format("the blob {} holds other bytes than its digest says", name));
      struct stat st{};
      if (::lstat(path.c_str(), &st) != 0) return Status::from_errno(errno, "cannot read", path);
      bundled_[*digest] = static_cast<uint64_t>(st.st_size);
    }
    return {};
  }

  Status check_versions() {
    const std::string below = join_path(folder_, "artifacts");
    if (!is_directory(below)) return {};
    const auto names = list_dir(below);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {  // as is_bundle_name() has let them in
      const std::string stem = name.substr(0, name.size() - std::string_view(".json").size());
      const size_t at = stem.find('-');
      const auto number = decimal(stem.substr(0, at));
      if (!number || (versions_.size() == kBundleArtifactsMax && !versions_.contains(*number)))
        return bad("too many of them");
      Version& each = versions_[*number];
      if (at == std::string::npos) {
        auto info = read_artifact_document(join_path(below, name));
        if (!info.ok()) return bad("", info.status());
        each.info = std::move(*info);
        continue;
      }
      if (stem.substr(at).starts_with(kBundleMark)) {
        const auto index = decimal(stem.substr(at + kBundleMark.size()));
        auto mark = read_mark_document(join_path(below, name), index.value_or(0));
        if (!mark.ok()) return bad("", mark.status());
        each.marks[mark->number] = std::move(*mark);
        continue;
      }
      auto version = read_version_document(join_path(below, name), decimal(stem.substr(at + 2)).value_or(0));
      if (!version.ok()) return bad("", version.status());
      if (each.has_version) return bad(fmt::format("two versions of number {}", *number));
      each.version = std::move(*version);
      each.has_version = true;
    }
    for (auto& [number, each] : versions_) TRACKER_RETURN_IF_ERROR(check_version(&each));
    return {};
  }

  Status check_version(Version* each) {
    const std::string name = fmt::format("{}/{}", visible(each->info.project), visible(each->info.name));
    if (!each->has_version || !check_label("project", each->info.project).ok() ||
        !check_artifact_name(each->info.name).ok() || !check_artifact_type(each->info.type).ok())
      return bad(fmt::format("\"{}\" is no artifact with a version", name));
    if (!bundled_.contains(each->version.manifest)) return bad(name + " has no manifest");
    const auto bytes = read_file(path_of(each->version.manifest), kBundleManifestBytesMax);
    if (!bytes.ok()) return bytes.status();
    if (const Status status = check_manifest(*bytes, &each->totals); !status.ok())
      return bad(fmt::format("the manifest of {}: ", name), status);
    if (each->totals.content != each->version.content) return bad(name + " holds another content than it says");
    ManifestReader reader(*bytes);
    for (ManifestEntry entry;;) {
      const auto more = reader.next(&entry);
      if (!more.ok()) return bad("", more.status());
      if (!*more) return {};
      if (entry.kind != EntryKind::kFile) continue;
      const auto found = bundled_.find(entry.digest);
      if (found == bundled_.end() || found->second != entry.bytes)
        return bad(fmt::format("{} has no file {}", name, visible(entry.path)));
    }
  }

  const Store& store_;
  const BlobStore blobs_;
  const std::string& folder_;
  std::map<Digest, uint64_t> bundled_;  // bytes
  std::map<int64_t, Version> versions_;
};

}  // namespace

Result<BundledArtifacts> artifacts_for_bundle(const Store& store, const RunFolder& run) {
  BundledArtifacts out;
  std::set<Digest> blobs;
  std::set<VersionId> seen;
  const ArtifactRegistry registry(store);
  std::map<std::pair<std::string, std::string>, Result<ArtifactInfo>> infos;  // one may have thousands of versions
  const int64_t now_us = realtime_us();
  std::vector<Status> problems;
  const std::vector<LineageEdge> edges = edges_of_run(run, &problems);
  for (const Status& problem : problems) out.left_out.push_back(problem.to_string());
  for (const LineageEdge& edge : edges) {
    if (!seen.insert(edge.version()).second) continue;
    // By its content: of a run that came from another store the number is that one's.
    auto known = infos.find({edge.project, edge.name});
    if (known == infos.end())
      known = infos.emplace(std::pair(edge.project, edge.name), registry.read(edge.project, edge.name)).first;
    const Result<ArtifactInfo>& info = known->second;
    const ArtifactVersion* version = nullptr;
    if (info.ok())
      for (const ArtifactVersion& each : info->versions)
        if (each.content == edge.content && !each.deleted) version = &each;
    if (version == nullptr) {
      out.left_out.push_back(
          fmt::format("{}/{}@{}: it is not in the store", edge.project, edge.name, edge.content.hex().substr(0, 12)));
      continue;
    }
    const std::string name = fmt::format("{}/{}:{}", edge.project, edge.name, version->name());
    if (const std::string wrong = list_blobs(store, *version, &blobs); !wrong.empty()) {
      out.left_out.push_back(fmt::format("{}: {}", name, wrong));
      continue;
    }
    if (out.names.size() == kBundleArtifactsMax)
      return Status(Code::kLimit, fmt::format("the run used and made more than {} versions", kBundleArtifactsMax),
                    "nothing was written; leave --artifacts out");
    const std::string stem = std::string(kBundleArtifacts) + std::to_string(out.names.size());
    out.files.push_back(
        {stem + ".json", "", artifact_document(info->project, info->name, info->type, info->created_us)});
    out.files.push_back({fmt::format("{}-v{}.json", stem, version->number), "", version_document(*version)});
    out.names.push_back(name);
    for (const ArtifactMark& mark : marks_of(*version, now_us))
      out.files.push_back({fmt::format("{}{}{}.json", stem, kBundleMark, mark.number), "", mark_document(mark)});
  }
  const BlobStore blob_store(store.path());
  for (const Digest& digest : blobs)
    out.files.push_back({std::string(kBundleBlobs) + digest.hex(), blob_store.path_of(digest), ""});
  return out;
}

Status take_bundled_artifacts(const Store& store, const std::string& folder, const RunIdentity& run,
                              ImportReport* report) {
  Taken taken(store, folder);
  TRACKER_RETURN_IF_ERROR(taken.check());
  return taken.put(run, report);
}

}  // namespace tracker::internal
