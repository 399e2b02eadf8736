// SPDX-License-Identifier: MIT
#include "artifact/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "artifact/artifact_writer.h"
#include "artifact/registry_documents.h"
#include "base/clock.h"
#include "base/fs.h"
#include "model/did_you_mean.h"
#include "model/key.h"
#include "model/redact/redact.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kDocumentMode = 0666;
constexpr size_t kDigestPrefixMin = 6;
constexpr int64_t kSecondUs = 1'000'000;

Status check_word(std::string_view what, std::string_view word) {
  TRACKER_RETURN_IF_ERROR(check_label(what, word));
  TRACKER_RETURN_IF_ERROR(check_no_secret(what, word));
  for (const char c : {'/', ':', '@'})
    if (word.find(c) != std::string_view::npos)
      return Status(Code::kInvalid,
                    fmt::format("{} \"{}\" holds \"{}\", which divides names from versions", what, word, c));
  return {};
}

bool is_version_name(std::string_view text) { return text.starts_with('v') && decimal(text.substr(1)).has_value(); }

// The numbers of the files of one kind, sorted.
std::vector<int64_t> numbers_of(const std::vector<std::string>& files,
                                std::optional<int64_t> (*number)(std::string_view)) {
  std::vector<int64_t> out;
  for (const std::string& file : files)
    if (const auto found = number(file)) out.push_back(*found);
  std::sort(out.begin(), out.end());
  return out;
}

// A folder without artifact.json is being made, and has no version yet: a folder with versions has lost the file.
Status check_in_the_making(const std::string& path) {
  const auto files = list_dir(path);
  if (!files.ok()) return files.status();
  for (const std::string& file : *files)
    if (version_number(file) || mark_number(file))
      return Status(Code::kCorrupt, fmt::format("{} is missing, and {} is there", join_path(path, kArtifactFile), file),
                    "restore it from a copy");
  return {};
}

// Applies the marks to the versions.
void apply_marks(ArtifactInfo* info) {
  std::map<std::string, int64_t> aliases;
  std::map<int64_t, std::set<std::string>> tags;
  int64_t latest = -1, logged_again_at = -1;
  std::set<int64_t> unread_deleted;
  const auto version_of = [info](int64_t number) { return const_cast<ArtifactVersion*>(info->version(number)); };
  for (const ArtifactMark& mark : info->marks) {
    ArtifactVersion* version = version_of(mark.of);
    if (version == nullptr && !info->unread_versions.contains(mark.of)) continue;
    for (const std::string& alias : mark.aliases_added) aliases[alias] = mark.of;
    for (const std::string& alias : mark.aliases_removed)
      if (const auto at = aliases.find(alias); at != aliases.end() && at->second == mark.of) aliases.erase(at);
    if (mark.logged_again_at) {
      latest = mark.of;
      logged_again_at = *mark.logged_again_at;
    }
    if (version == nullptr) {
      if (mark.deleted.value_or(false)) unread_deleted.insert(mark.of);
      else if (mark.deleted) unread_deleted.erase(mark.of);
      continue;
    }
    tags[mark.of].insert(mark.tags_added.begin(), mark.tags_added.end());
    for (const std::string& tag : mark.tags_removed) tags[mark.of].erase(tag);
    if (mark.ttl_s) {
      version->expires_us.reset();
      if (*mark.ttl_s > 0 && *mark.ttl_s < INT64_MAX / kSecondUs - mark.time_us / kSecondUs)
        version->expires_us = mark.time_us + *mark.ttl_s * kSecondUs;
    }
    if (mark.deleted) version->deleted = *mark.deleted;
    if (mark.manifest) version->manifest = *mark.manifest;
    if (mark.description) version->description = *mark.description;
    if (!mark.metadata.is_null()) version->metadata = mark.metadata;
  }
  // The newest version, unless an older one was logged again later.
  std::set<int64_t> there;
  for (const ArtifactVersion& version : info->versions)
    if (!version.deleted) there.insert(version.number);
  for (const auto& [number, why] : info->unread_versions)
    if (!unread_deleted.contains(number)) there.insert(number);
  if (!there.empty()) {
    const int64_t newest = *there.rbegin();
    aliases[std::string(kLatestAlias)] = there.contains(latest) && newest <= logged_again_at ? latest : newest;
  }
  for (const auto& [alias, number] : aliases)
    if (ArtifactVersion* version = version_of(number)) version->aliases.push_back(alias);
    else info->unread_aliases.emplace(alias, number);
  for (auto& [number, set] : tags)
    if (ArtifactVersion* version = version_of(number)) version->tags.assign(set.begin(), set.end());
}

void keep_worst(Status* worst, const Status& status) {
  if (worse_of(worst->code(), status.code()) != worst->code()) *worst = status;
}

}  // namespace

Status check_artifact_name(std::string_view name) { return check_word("the artifact's name", name); }
Status check_artifact_type(std::string_view type) { return check_word("the artifact's type", type); }
Status check_tag(std::string_view tag) { return check_word("the tag", tag); }

Status check_alias(std::string_view alias) {
  TRACKER_RETURN_IF_ERROR(check_word("the alias", alias));
  if (alias == kLatestAlias) return Status(Code::kInvalid, "\"latest\" moves by itself");
  if (!is_version_name(alias)) return {};
  return Status(Code::kInvalid, fmt::format("the alias \"{}\" is the name of a version", alias));
}

std::string ArtifactVersion::name() const { return fmt::format("v{}", number); }

const ArtifactVersion* ArtifactInfo::version(int64_t number) const {
  const auto at = std::lower_bound(versions.begin(), versions.end(), number,
                                   [](const ArtifactVersion& version, int64_t n) { return version.number < n; });
  return at != versions.end() && at->number == number ? &*at : nullptr;
}

Result<const ArtifactVersion*> ArtifactInfo::find(std::string_view text, bool is_digest) const {
  if (text.empty()) text = kLatestAlias;
  const auto unread = [&](const Status& why) {
    return Status(why.code(),
                  fmt::format("it is unknown which version {}/{}:{} is: {}", project, name, text, why.message()),
                  why.code() == Code::kVersion ? why.hint() : "name one that is whole, as in \"data:v3\"");
  };
  const bool is_number = is_version_name(text);
  if (is_number)
    if (const auto at = unread_versions.find(*decimal(text.substr(1))); at != unread_versions.end()) return at->second;
  if (!is_number && !is_digest) {
    if (!unread_mark.ok()) return unread(unread_mark);
    if (const auto at = unread_aliases.find(std::string(text)); at != unread_aliases.end())
      return unread(unread_versions.at(at->second));
  }
  const ArtifactVersion* found = nullptr;
  std::vector<std::string> names;
  if (is_number) found = version(*decimal(text.substr(1)));
  for (const ArtifactVersion& each : versions) {
    names.push_back(each.name());
    names.insert(names.end(), each.aliases.begin(), each.aliases.end());
    if (found == nullptr && std::binary_search(each.aliases.begin(), each.aliases.end(), text)) found = &each;
  }
  if (found == nullptr && text.size() >= kDigestPrefixMin)
    for (const ArtifactVersion& each : versions) {
      if (!each.content.hex().starts_with(text)) continue;
      if (found != nullptr && found->content != each.content)
        return Status(Code::kInvalid, fmt::format("\"{}\" is the beginning of more than one digest", text));
      if (found == nullptr || found->deleted) found = &each;
    }
  if (found != nullptr && !found->deleted) return found;
  const bool may_be_unread = !unread_versions.empty() && text.size() >= kDigestPrefixMin &&
                             text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (may_be_unread) {
    Status worst;
    for (const auto& [number, why] : unread_versions) keep_worst(&worst, why);
    return unread(worst);
  }
  const std::string whole = fmt::format("{}/{}:{}", project, name, text);
  if (found != nullptr) return Status(Code::kNotFound, fmt::format("{} was deleted", whole));
  return Status(Code::kNotFound, fmt::format("no version {}{}", whole, did_you_mean(text, names)));
}

std::string ArtifactRegistry::folder(std::string_view project, std::string_view name) const {
  return join_path(join_path(join_path(store_path_, kArtifactsFolder), folder_name(project)), folder_name(name));
}

Result<ArtifactInfo> ArtifactRegistry::read(std::string_view project, std::string_view name) const {
  const std::string path = folder(project, name);
  auto info = read_artifact_document(join_path(path, kArtifactFile));
  if (!info.ok() && info.status().code() == Code::kNotFound)
    return Status(Code::kNotFound, fmt::format("no artifact {}/{} in {}", project, name, store_path_),
                  "`tracker artifact ls` lists all");
  if (!info.ok()) return info.status();
  const auto files = list_dir(path);
  if (!files.ok()) return files.status();
  for (const int64_t number : numbers_of(*files, version_number)) {
    auto version = read_version_document(join_path(path, version_file(number)), number);
    if (version.ok()) {
      info->versions.push_back(std::move(*version));
      continue;
    }
    info->problems.push_back(version.status());
    info->unread_versions.emplace(number, version.status());
  }
  for (const int64_t number : numbers_of(*files, mark_number)) {
    auto mark = read_mark_document(join_path(path, mark_file(number)), number);
    if (mark.ok()) {
      info->marks.push_back(std::move(*mark));
      continue;
    }
    info->problems.push_back(mark.status());
    keep_worst(&info->unread_mark, mark.status());
  }
  apply_marks(&*info);
  return info;
}

Result<Digest> ArtifactRegistry::content_of(std::string_view project, std::string_view name, int64_t number) const {
  const auto version = read_version_document(join_path(folder(project, name), version_file(number)), number);
  if (!version.ok()) return version.status();
  return version->content;
}

std::vector<ArtifactInfo> ArtifactRegistry::list(std::string_view project, std::vector<Status>* problems) const {
  std::vector<ArtifactInfo> out;
  const std::string root = join_path(store_path_, kArtifactsFolder);
  const auto add_problem = [problems](const Status& status) {
    if (problems != nullptr) problems->push_back(status);
  };
  std::vector<std::string> projects;
  if (!project.empty()) projects.push_back(folder_name(project));
  else if (auto names = list_dir(root); names.ok()) projects = std::move(*names);
  else if (names.status().code() != Code::kNotFound) add_problem(names.status());
  for (const std::string& each : projects) {
    const std::string above = join_path(root, each);
    const auto names = list_dir(above);
    const bool is_none = !project.empty() && names.status().code() == Code::kNotFound;
    if (!names.ok() && !is_none && !is_regular_file(above)) add_problem(names.status());
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      const std::string path = join_path(above, name);
      if (is_regular_file(path)) continue;  // a user's file; versions are one folder deeper
      const auto identity = read_artifact_document(join_path(path, kArtifactFile));
      if (!identity.ok() && identity.status().code() == Code::kNotFound) {
        if (const Status status = check_in_the_making(path); !status.ok()) add_problem(status);
        continue;
      }
      auto info = identity.ok() ? read(identity->project, identity->name) : Result<ArtifactInfo>(identity.status());
      if (info.ok()) out.push_back(std::move(*info));
      else add_problem(info.status());
    }
  }
  std::sort(out.begin(), out.end(), [](const ArtifactInfo& a, const ArtifactInfo& b) {
    return std::tie(a.project, a.name) < std::tie(b.project, b.name);
  });
  return out;
}

Status ArtifactRegistry::create(std::string_view project, std::string_view name, std::string_view type) const {
  TRACKER_RETURN_IF_ERROR(check_label("project", project));
  TRACKER_RETURN_IF_ERROR(check_no_secret("project", project));
  TRACKER_RETURN_IF_ERROR(check_artifact_name(name));
  TRACKER_RETURN_IF_ERROR(check_artifact_type(type));
  const std::string path = folder(project, name), file = join_path(path, kArtifactFile);
  if (!path_exists(file)) {
    TRACKER_RETURN_IF_ERROR(make_dirs(path));
    const Status status =
        create_file_exclusive(file, artifact_document(project, name, type, realtime_us()), kDocumentMode);
    if (!status.ok() && status.code() != Code::kExists) return status;
    for (const std::string& above : {parent_path(path), parent_path(parent_path(path))}) sync_path(above);
  }
  const auto info = read_artifact_document(file);
  if (!info.ok()) return info.status();
  if (info->type == type) return {};
  return Status(Code::kInvalid,
                fmt::format("the artifact {}/{} has the type \"{}\", not \"{}\"", project, name, info->type, type),
                "give it another name");
}

Result<ArtifactVersion> ArtifactRegistry::add(std::string_view project, std::string_view name,
                                              const NewVersion& version, bool* is_new) const {
  auto writer = ArtifactWriter::open(*this, project, name);
  return writer.ok() ? writer->add(version, is_new) : Result<ArtifactVersion>(writer.status());
}

Status ArtifactRegistry::mark(std::string_view project, std::string_view name, ArtifactMark mark) const {
  auto writer = ArtifactWriter::open(*this, project, name);
  return writer.ok() ? writer->mark(std::move(mark)) : writer.status();
}

}  // namespace tracker::internal
