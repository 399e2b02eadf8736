// SPDX-License-Identifier: MIT
// Files that clients send: media of runs, blobs of artifacts, and manifests, which make versions.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"
#include "artifact/registry.h"
#include "base/clock.h"
#include "base/fs.h"
#include "model/media.h"
#include "server/service_impl.h"

namespace tracker::internal {
namespace {

std::string part_of_medium(const Id128& run, const std::string& digest, const std::string& extension) {
  return fmt::format("{}-{}.{}", run.hex(), digest, extension);
}

// Whether the blob exists; then gc keeps it for the next 12 hours.
bool has_blob(const BlobStore& blobs, const Digest& digest) {
  struct stat st{};
  return ::stat(blobs.path_of(digest).c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         blobs.keep(digest, static_cast<uint64_t>(st.st_size));
}

Response part_response(const ReceivedPart& part) {
  if (part.status.ok())
    return json_response(Value::Map{{"received", count_value(part.received)}, {"complete", part.complete}});
  if (part.status.code() != Code::kCorrupt) return error_response(part.status);
  Response out =
      json_response(Value::Map{{"error", Value::Map{{"code", "damaged"}, {"message", part.status.message()}}},
                               {"received", count_value(part.received)}});
  out.status = 422;
  return out;
}

// The parameters of a part.
struct PartAsked {
  uint64_t offset = 0, bytes = 0;
};
Result<PartAsked> part_asked(const Call& call, uint64_t bytes_max) {
  const auto offset = call.number("offset", 0, INT64_MAX);
  const auto bytes = call.number("bytes", UINT64_MAX, INT64_MAX);
  if (!offset.ok()) return offset.status();
  if (!bytes.ok()) return bytes.status();
  if (*bytes == UINT64_MAX) return Status(Code::kInvalid, "bytes= is missing: the size of the whole file");
  if (*bytes > bytes_max) return Status(Code::kLimit, fmt::format("a file of {} bytes; at most {}", *bytes, bytes_max));
  return PartAsked{*offset, *bytes};
}

Status place_medium(BlobBatch::Temporary file, const std::string& path) {
  if (::fsync(file.fd.get()) != 0) return Status::from_errno(errno, "cannot store a medium");
  TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path)));
  (void)::fchmod(file.fd.get(), 0644);
  if (::rename(file.path.c_str(), path.c_str()) != 0) return Status::from_errno(errno, "cannot store a medium");
  sync_path(parent_path(path));
  sync_path(parent_path(parent_path(path)));
  return {};
}

}  // namespace

Response Service::Impl::missing_files(const Call& call) {
  const auto body = json_object(call.request->body);
  if (!body.ok()) return error_response(body.status());
  const auto blobs = texts_of(*body, "blobs");
  if (!blobs.ok()) return error_response(blobs.status());
  const Value* media = body->find("media");
  const Value::List none, &asked = media != nullptr && media->as_list() != nullptr ? *media->as_list() : none;
  if (blobs->size() + asked.size() > kDigestsMax)
    return error_response(413, "too_large", fmt::format("at most {} digests", kDigestsMax));
  parts.remove_old();
  const BlobStore store_blobs(store.path());
  Value::List missing_blobs, missing_media;
  for (const std::string& text : *blobs) {
    const auto digest = Digest::from_hex(text);
    if (!digest) return error_response(400, "invalid", "a digest is 64 hex digits in lower case");
    if (!has_blob(store_blobs, *digest))
      missing_blobs.push_back(Value::Map{{"digest", text}, {"received", count_value(parts.received(text))}});
  }
  for (const Value& each : asked) {
    const auto uid = Id128::from_hex(each.text_or("run", ""));
    const std::string digest = each.text_or("digest", ""), extension = each.text_or("ext", "");
    const std::string name = media_file_name(digest, extension);
    if (!uid || name.empty())
      return error_response(400, "invalid", "a medium is named by run, digest and an ext that readers open");
    const auto run = runs.find(*uid);
    const bool is_hidden = run && call.grant.project && run->identity.project != *call.grant.project;
    if (run && !is_hidden && is_regular_file(join_path(run->path, name))) continue;
    missing_media.push_back(
        Value::Map{{"run", uid->hex()},
                   {"digest", digest},
                   {"ext", extension},
                   {"received", count_value(parts.received(part_of_medium(*uid, digest, extension)))}});
  }
  return json_response(Value::Map{{"blobs", std::move(missing_blobs)}, {"media", std::move(missing_media)}});
}

Response Service::Impl::put_blob(const Call& call) {
  const auto asked = part_asked(call, INT64_MAX);
  if (!asked.ok()) return error_response(asked.status());
  const BlobStore blobs(store.path());
  if (blobs.keep(call.digest, asked->bytes)) return part_response({asked->bytes, true, {}});
  return part_response(parts.put(call.digest.hex(), call.digest, asked->offset, asked->bytes, call.request->body,
                                 [&](BlobBatch::Temporary file) -> Status {
                                   BlobBatch batch(blobs);
                                   TRACKER_RETURN_IF_ERROR(batch.add(std::move(file), call.digest, asked->bytes));
                                   return batch.commit();
                                 }));
}

Response Service::Impl::put_medium(const Call& call) {
  const auto asked = part_asked(call, kMediaBytesMax);
  if (!asked.ok()) return error_response(asked.status());
  const std::string digest = call.digest.hex(), name = media_file_name(digest, call.extension);
  if (name.empty()) return error_response(400, "invalid", "no medium has this extension");
  const std::string path = join_path(call.run->path, name);
  if (is_regular_file(path)) return part_response({asked->bytes, true, {}});
  return part_response(parts.put(part_of_medium(call.uid, digest, call.extension), call.digest, asked->offset,
                                 asked->bytes, call.request->body,
                                 [&](BlobBatch::Temporary file) { return place_medium(std::move(file), path); }));
}

namespace {

struct VersionAsked {
  std::string name, type;
  NewVersion version;
  std::vector<std::string> aliases, tags;
  std::optional<int64_t> ttl_s;
  int64_t marked_us = 0;
};

Result<VersionAsked> read_version(const Value& body) {
  VersionAsked out;
  out.name = body.text_or("name", "");
  out.type = body.text_or("type", "");
  TRACKER_RETURN_IF_ERROR(check_artifact_name(out.name));
  TRACKER_RETURN_IF_ERROR(check_artifact_type(out.type));
  const auto content = Digest::from_hex(body.text_or("digest", ""));
  const auto manifest = Digest::from_hex(body.text_or("manifest", ""));
  if (!content || !manifest) return Status(Code::kInvalid, "digest and manifest are 64 hex digits in lower case");
  out.version.totals.content = *content;
  out.version.manifest = *manifest;
  out.version.description = body.text_or("description", "");
  if (out.version.description.size() > kArtifactDescriptionBytesMax)
    return Status(Code::kLimit, "the description is too long");
  if (const Value* metadata = body.find("metadata"); metadata != nullptr && metadata->is_map())
    out.version.metadata = *metadata;
  if (encode_cbor(out.version.metadata).size() > kArtifactMetadataBytesMax)
    return Status(Code::kLimit, "the metadata are too large");
  out.version.run = body.text_or("run", "");
  if (!out.version.run.empty() && !Id128::from_hex(out.version.run))
    return Status(Code::kInvalid, "run is a uid, 32 hex digits");
  out.version.now_us = body.int_or("created_us", realtime_us());
  auto aliases = texts_of(body, "aliases"), tags = texts_of(body, "tags");
  if (!aliases.ok()) return aliases.status();
  if (!tags.ok()) return tags.status();
  std::erase(*aliases, kLatestAlias);
  for (const std::string& alias : *aliases) TRACKER_RETURN_IF_ERROR(check_alias(alias));
  for (const std::string& tag : *tags) TRACKER_RETURN_IF_ERROR(check_tag(tag));
  if (aliases->size() > kAliasesAMarkMax || tags->size() > kAliasesAMarkMax)
    return Status(Code::kLimit, fmt::format("at most {} aliases, and tags", kAliasesAMarkMax));
  out.aliases = std::move(*aliases);
  out.tags = std::move(*tags);
  if (const Value* ttl = body.find("ttl_s"); ttl != nullptr && ttl->as_int() != nullptr) out.ttl_s = *ttl->as_int();
  out.marked_us = body.int_or("marked_us", out.version.now_us);
  return out;
}

// What the server lacks of the version; fills in the totals of its manifest.
Result<Value::List> missing_of(const Store& store, VersionAsked* asked) {
  const BlobStore blobs(store.path());
  Value::List out;
  if (!has_blob(blobs, asked->version.manifest)) {
    out.emplace_back(asked->version.manifest.hex());
    return out;
  }
  const auto manifest = StoredManifest::open(store, asked->version.manifest);
  if (!manifest.ok()) return manifest.status();
  const Status visited = manifest->visit([&](const ManifestEntry& entry) -> Status {
    const bool is_missing = entry.kind == EntryKind::kFile && !blobs.keep(entry.digest, entry.bytes);
    if (is_missing && out.size() < kDigestsMax) out.emplace_back(entry.digest.hex());
    return {};
  });
  if (!visited.ok()) return Status(Code::kInvalid, "the manifest is none: " + visited.message());
  if (manifest->totals().content != asked->version.totals.content)
    return Status(Code::kInvalid, "the manifest is of another content than digest says");
  asked->version.totals = manifest->totals();
  return out;
}

// Aliases, tags and the time to live are applied if they were set later than those here.
Status mark_version(const ArtifactRegistry& registry, const std::string& project, const VersionAsked& asked,
                    const ArtifactVersion& version, bool is_new) {
  const auto info = registry.read(project, asked.name);
  if (!info.ok()) return info.status();
  int64_t last_us = INT64_MIN;
  for (const ArtifactMark& mark : info->marks)
    if (mark.of == version.number) last_us = std::max(last_us, mark.time_us);
  if (asked.marked_us <= last_us) return {};
  const ArtifactVersion* now = info->version(version.number);
  const auto lacks = [](const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) == list.end();
  };
  ArtifactMark mark;
  mark.of = version.number;
  mark.time_us = asked.marked_us;
  mark.run = asked.version.run;
  for (const std::string& alias : asked.aliases)
    if (lacks(now->aliases, alias)) mark.aliases_added.push_back(alias);
  for (const std::string& tag : asked.tags)
    if (lacks(now->tags, tag)) mark.tags_added.push_back(tag);
  mark.ttl_s = asked.ttl_s;
  if (!is_new && lacks(now->aliases, std::string(kLatestAlias)) && asked.version.now_us > version.created_us)
    mark.logged_again_at = info->versions.back().number;
  const bool says_nothing =
      mark.aliases_added.empty() && mark.tags_added.empty() && !mark.ttl_s && !mark.logged_again_at;
  return says_nothing ? Status() : registry.mark(project, asked.name, std::move(mark));
}

}  // namespace

Response Service::Impl::put_version(const Call& call) {
  const std::string project = call.project();
  if (project.empty()) return error_response(400, "invalid", "project= is missing");
  const auto body = json_object(call.request->body);
  if (!body.ok()) return error_response(body.status());
  auto asked = read_version(*body);
  if (!asked.ok()) return error_response(asked.status());
  auto missing = missing_of(store, &*asked);
  if (!missing.ok()) return error_response(missing.status());
  if (!missing->empty()) {
    Response out = json_response(
        Value::Map{{"error", Value::Map{{"code", "missing"}, {"message", "blobs of the version are not here yet"}}},
                   {"missing", std::move(*missing)}});
    out.status = 409;
    return out;
  }
  const ArtifactRegistry registry(store);
  if (const Status made = registry.create(project, asked->name, asked->type); !made.ok()) return error_response(made);
  bool is_new = false;
  const auto version = registry.add(project, asked->name, asked->version, &is_new);
  if (!version.ok()) return error_response(version.status());
  if (const Status marked = mark_version(registry, project, *asked, *version, is_new); !marked.ok())
    return error_response(marked);
  return json_response(Value::Map{{"number", version->number}, {"created", is_new}});
}

}  // namespace tracker::internal
