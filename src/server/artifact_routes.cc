// SPDX-License-Identifier: MIT
// Artifacts: lists, one version with its files and lineage, blobs.
#include <fmt/format.h>

#include <algorithm>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"
#include "artifact/registry.h"
#include "base/fs.h"
#include "query/runs/runs_query.h"
#include "server/service_impl.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kFilesLimit = 1000;
// Limit: files of a version of one answer. Beyond it: 400.
constexpr uint64_t kFilesLimitMax = 10'000;

Value text_values(const std::vector<std::string>& texts) {
  Value::List out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

Value wire_artifact(const ArtifactInfo& info) {
  Value aliases = Value::map();
  uint64_t versions = 0;
  const ArtifactVersion* latest = nullptr;
  for (const ArtifactVersion& version : info.versions) {
    if (version.deleted) continue;
    ++versions;
    for (const std::string& alias : version.aliases) {
      aliases.set(alias, version.number);
      if (alias == kLatestAlias) latest = &version;
    }
  }
  return Value::Map{{"project", info.project},
                    {"name", info.name},
                    {"type", info.type},
                    {"versions", count_value(versions)},
                    {"latest", latest != nullptr ? Value(latest->number) : Value()},
                    {"aliases", std::move(aliases)}};
}

Value wire_stored(const ArtifactInfo& info, const ArtifactVersion& version) {
  return Value::Map{{"project", info.project},
                    {"name", info.name},
                    {"type", info.type},
                    {"number", version.number},
                    {"digest", version.content.hex()},
                    {"manifest", version.manifest.hex()},
                    {"created_us", version.created_us},
                    {"run", version.run},
                    {"description", version.description},
                    {"metadata", version.metadata},
                    {"aliases", text_values(version.aliases)},
                    {"tags", text_values(version.tags)},
                    {"expires_us", version.expires_us ? Value(*version.expires_us) : Value()},
                    {"bytes", count_value(version.bytes)},
                    {"files_total", count_value(version.files + version.references)}};
}

Status add_files(const Store& store, const ArtifactVersion& version, const Page& page, Value* out) {
  const auto manifest = StoredManifest::open(store, version.manifest);
  if (!manifest.ok()) return manifest.status();
  Value::List files;
  uint64_t at = 0;
  TRACKER_RETURN_IF_ERROR(manifest->visit([&](const ManifestEntry& entry) -> Status {
    const bool is_asked = at >= page.offset && files.size() < page.limit;
    ++at;
    if (!is_asked) return {};
    Value one = Value::Map{{"path", entry.path}, {"bytes", count_value(entry.bytes)}};
    if (entry.kind == EntryKind::kFile) one.set("digest", entry.digest.hex());
    else one.set("uri", entry.uri);
    files.push_back(std::move(one));
    return {};
  }));
  out->set("files", std::move(files));
  return {};
}

// Whether the list of a run's inputs or outputs has the version: "project/name:v3@<digest>", whatever number it was
// recorded with.
bool names_version(const Value& attributes, const char* list, const std::string& begin, const std::string& end) {
  const Value* names = attributes.find(list);
  if (names == nullptr || names->as_list() == nullptr) return false;
  return std::any_of(names->as_list()->begin(), names->as_list()->end(), [&](const Value& name) {
    return name.as_text() != nullptr && name.as_text()->starts_with(begin) && name.as_text()->ends_with(end);
  });
}

Status add_lineage(const Store& store, const ArtifactInfo& info, const ArtifactVersion& version,
                   const std::optional<std::string>& project, Value* out) {
  RunsQuery query;
  query.project = project.value_or("");  // a token of one project sees only its runs
  query.version_name = [](const std::string& name) { return name; };
  const auto list = query_runs(store, query);
  if (!list.ok()) return list.status();
  const std::string begin = info.project + "/" + info.name + ":", end = "@" + version.content.hex();
  Value::List made, used;
  for (const RunRow& row : list->rows) {
    const CatalogRecord& record = row.record;
    const Value run = Value::Map{{"uid", record.identity.uid.hex()},
                                 {"project", record.identity.project},
                                 {"id", record.identity.id},
                                 {"name", record.name},
                                 {"state", run_state_name(record.state)}};
    if (names_version(record.attributes, "outputs", begin, end)) made.push_back(run);
    if (names_version(record.attributes, "inputs", begin, end)) used.push_back(run);
  }
  out->set("made_by", std::move(made));
  out->set("used_by", std::move(used));
  return {};
}

// Blobs are shared by all projects: a token of one project may read those that a version of it has.
bool is_blob_of(const Store& store, const Digest& digest, const std::string& project) {
  for (const ArtifactInfo& info : ArtifactRegistry(store).list(project))
    for (const ArtifactVersion& version : info.versions) {
      if (version.deleted) continue;
      bool found = version.manifest == digest;
      const auto manifest = StoredManifest::open(store, version.manifest);
      if (manifest.ok() && !found)
        (void)manifest->visit([&](const ManifestEntry& entry) {
          found = found || (entry.kind == EntryKind::kFile && entry.digest == digest);
          return found ? Status(Code::kExists, "") : Status();
        });
      if (found) return true;
    }
  return false;
}

}  // namespace

Response Service::Impl::artifacts(const Call& call) {
  Value::List out;
  for (const ArtifactInfo& info : ArtifactRegistry(store).list(call.project())) out.push_back(wire_artifact(info));
  return json_response(Value::Map{{"artifacts", std::move(out)}});
}

Response Service::Impl::artifact_version(const Call& call) {
  const auto page = page_of(call, kFilesLimit, kFilesLimitMax);
  if (!page.ok()) return error_response(page.status());
  const std::string project = call.project(), name = call.text("name");
  if (project.empty() || !check_artifact_name(name).ok())
    return error_response(400, "invalid", "project= and name= say which artifact");
  const auto info = ArtifactRegistry(store).read(project, name);
  if (!info.ok()) return error_response(404, "not_found", "there is no such artifact");
  const auto version = info->find(call.text("version"));
  if (!version.ok()) return error_response(version.status());
  Value out = wire_stored(*info, **version);
  if (const Status added = add_files(store, **version, *page, &out); !added.ok()) return error_response(added);
  if (const Status added = add_lineage(store, *info, **version, call.grant.project, &out); !added.ok())
    return error_response(added);
  Value::List versions;
  for (const ArtifactVersion& each : info->versions)
    if (!each.deleted)
      versions.push_back(Value::Map{{"number", each.number},
                                    {"digest", each.content.hex()},
                                    {"created_us", each.created_us},
                                    {"bytes", count_value(each.bytes)},
                                    {"aliases", text_values(each.aliases)}});
  out.set("versions", std::move(versions));
  return json_response(out);
}

Response Service::Impl::blob(const Call& call) {
  const std::string path = BlobStore(store.path()).path_of(call.digest);
  const std::string name = call.text("name");
  const bool is_seen = !call.grant.project || is_blob_of(store, call.digest, *call.grant.project);
  if (!is_seen || !is_regular_file(path) || is_link(path))
    return error_response(404, "not_found", "there is no such blob");
  return attachment(path, "", name.empty() ? call.digest.hex() : name);
}

}  // namespace tracker::internal
