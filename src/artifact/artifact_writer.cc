// SPDX-License-Identifier: MIT
#include "artifact/artifact_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "artifact/registry_documents.h"
#include "base/clock.h"
#include "base/fs.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kManifestMode = 0666;

// Takes the lowest free number from `from` to `last`; `write` makes the document for a number.
template <typename Taken, typename Document>
Result<int64_t> claim(const std::string& folder, int64_t from, int64_t last, std::string (*file)(int64_t),
                      const Taken& taken, const Document& document) {
  for (int64_t number = from; number <= last; ++number) {
    const std::string path = join_path(folder, file(number));
    const Status status = create_file_exclusive(path, document(number), kManifestMode);
    if (status.ok()) return number;
    if (status.code() != Code::kExists) return status;
    if (taken(number)) return number;
  }
  return Status(Code::kLimit, fmt::format("{} is the last number that {} may have", file(last), folder));
}

// An artifact with documents of a newer program is never written.
Status check_not_newer(const ArtifactInfo& info) {
  for (const Status& problem : info.problems)
    if (problem.code() == Code::kVersion) return problem;
  return {};
}

Status check_version(const NewVersion& version) {
  if (version.description.size() > kArtifactDescriptionBytesMax)
    return Status(Code::kLimit, fmt::format("the description has {} bytes, at most {} are kept",
                                            version.description.size(), kArtifactDescriptionBytesMax));
  if (!version.metadata.is_map()) return Status(Code::kInvalid, "the metadata of an artifact is a map");
  if (const size_t bytes = to_json(version.metadata).size(); bytes > kArtifactMetadataBytesMax)
    return Status(Code::kLimit,
                  fmt::format("the metadata has {} bytes, at most {} are kept", bytes, kArtifactMetadataBytesMax));
  return {};
}

Status check_mark(const ArtifactMark& mark) {
  for (const auto* list : {&mark.aliases_added, &mark.aliases_removed}) {
    if (list->size() > kAliasesAMarkMax)
      return Status(Code::kLimit, fmt::format("{} aliases at once, at most {}", list->size(), kAliasesAMarkMax));
    for (const std::string& alias : *list) TRACKER_RETURN_IF_ERROR(check_alias(alias));
  }
  for (const auto* list : {&mark.tags_added, &mark.tags_removed}) {
    if (list->size() > kAliasesAMarkMax)
      return Status(Code::kLimit, fmt::format("{} tags at once, at most {}", list->size(), kAliasesAMarkMax));
    for (const std::string& tag : *list) TRACKER_RETURN_IF_ERROR(check_tag(tag));
  }
  if (mark.ttl_s && *mark.ttl_s < 0) return Status(Code::kInvalid, "a time to live is not negative");
  return {};
}

// Adds `word` to a sorted list or removes it.
void put(std::vector<std::string>* list, const std::string& word, bool in) {
  const auto at = std::lower_bound(list->begin(), list->end(), word);
  const bool is_in = at != list->end() && *at == word;
  if (in && !is_in) list->insert(at, word);
  else if (!in && is_in) list->erase(at);
}

}  // namespace

ArtifactWriter::ArtifactWriter(ArtifactInfo info, std::string path, RegistryLimits limits)
    : info_(std::move(info)), path_(std::move(path)), limits_(limits) {
  for (const ArtifactVersion& each : info_.versions) {
    by_content_.emplace(each.content, each.number);
    for (const std::string& alias : each.aliases) by_alias_.emplace(alias, each.number);
  }
  // From the first gap: a listing may miss a file that appears while it is made.
  while (info_.version(next_) != nullptr) ++next_;
  if (!info_.marks.empty()) next_mark_ = info_.marks.back().number + 1;
}

Result<ArtifactWriter> ArtifactWriter::open(const ArtifactRegistry& registry, std::string_view project,
                                            std::string_view name) {
  auto info = registry.read(project, name);
  if (!info.ok()) return info.status();
  TRACKER_RETURN_IF_ERROR(check_not_newer(*info));
  return ArtifactWriter(std::move(*info), registry.folder(project, name), registry.limits());
}

Result<ArtifactVersion> ArtifactWriter::add(const NewVersion& version, bool* is_new) {
  TRACKER_RETURN_IF_ERROR(check_version(version));
  *is_new = false;
  if (const auto at = by_content_.find(version.totals.content); at != by_content_.end())
    return *info_.version(at->second);
  ArtifactVersion out;
  out.content = version.totals.content;
  out.manifest = version.manifest;
  out.files = version.totals.files;
  out.references = version.totals.references;
  out.bytes = version.totals.bytes;
  out.created_us = version.now_us;
  out.run = version.run;
  out.description = version.description;
  out.metadata = version.metadata;
  // Every number below was read: if another process took one meanwhile with the same content, its version is used.
  std::vector<ArtifactVersion> met;
  const auto is_same = [&](int64_t number) {
    auto found = read_version_document(join_path(path_, version_file(number)), number);
    if (!found.ok()) return false;
    met.push_back(std::move(*found));
    return met.back().content == out.content;
  };
  const auto document = [&out](int64_t number) {
    out.number = number;
    return version_document(out);
  };
  const auto number = claim(path_, next_, limits_.versions - 1, version_file, is_same, document);
  if (!number.ok()) return number.status();
  *is_new = met.empty() || met.back().number != *number;
  if (!*is_new) out = met.back();
  else met.push_back(out);
  for (ArtifactVersion& each : met) take(std::move(each));
  next_ = *number + 1;
  return out;
}

void ArtifactWriter::take(ArtifactVersion version) {
  by_content_.emplace(version.content, version.number);
  const auto at = std::lower_bound(info_.versions.begin(), info_.versions.end(), version.number,
                                   [](const ArtifactVersion& each, int64_t n) { return each.number < n; });
  if (at == info_.versions.end() || at->number != version.number) info_.versions.insert(at, std::move(version));
}

Status ArtifactWriter::mark(ArtifactMark mark) {
  TRACKER_RETURN_IF_ERROR(check_mark(mark));
  const ArtifactVersion* version = info_.version(mark.of);
  if (version == nullptr)
    return Status(Code::kNotFound, fmt::format("no version {}/{}:v{}", info_.project, info_.name, mark.of));
  if (version->aliases.size() + mark.aliases_added.size() > kAliasesAVersionMax ||
      version->tags.size() + mark.tags_added.size() > kAliasesAVersionMax)
    return Status(Code::kLimit, fmt::format("a version has at most {} aliases and as many tags", kAliasesAVersionMax));
  if (mark.time_us == 0) mark.time_us = realtime_us();
  const auto document = [&mark](int64_t number) {
    mark.number = number;
    return mark_document(mark);
  };
  const auto number = claim(path_, next_mark_, limits_.marks, mark_file, [](int64_t) { return false; }, document);
  if (!number.ok()) return number.status();
  next_mark_ = *number + 1;
  apply(mark);
  return {};
}

void ArtifactWriter::apply(const ArtifactMark& mark) {
  ArtifactVersion* const version = own(mark.of);
  for (const std::string& alias : mark.aliases_added) {
    const auto [at, is_new] = by_alias_.emplace(alias, mark.of);
    if (ArtifactVersion* const before = is_new ? nullptr : own(at->second)) put(&before->aliases, alias, false);
    at->second = mark.of;
    put(&version->aliases, alias, true);
  }
  for (const std::string& alias : mark.aliases_removed) {
    const auto at = by_alias_.find(alias);
    if (at == by_alias_.end() || at->second != mark.of) continue;
    by_alias_.erase(at);
    put(&version->aliases, alias, false);
  }
  for (const std::string& tag : mark.tags_added) put(&version->tags, tag, true);
  for (const std::string& tag : mark.tags_removed) put(&version->tags, tag, false);
  if (mark.deleted) version->deleted = *mark.deleted;
}

Result<int64_t> ArtifactWriter::named(const std::string& alias) const {
  const bool may_be_a_digest = alias.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (info_.problems.empty() && !may_be_a_digest) {
    const auto at = by_alias_.find(alias);
    if (at != by_alias_.end() && !info_.version(at->second)->deleted) return at->second;
    return Status(Code::kNotFound, fmt::format("no version {}/{}:{}", info_.project, info_.name, alias));
  }
  const auto found = info_.find(alias);  // searches all versions
  if (!found.ok()) return found.status();
  return (*found)->number;
}

}  // namespace tracker::internal
