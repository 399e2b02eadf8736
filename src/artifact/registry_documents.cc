// SPDX-License-Identifier: MIT
#include "artifact/registry_documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/store/document.h"

namespace tracker::internal {
namespace {

constexpr const char* kArtifactFormat = "tracker-artifact";
constexpr const char* kVersionFormat = "tracker-artifact-version";
constexpr const char* kMarkFormat = "tracker-artifact-mark";
constexpr int kDocumentVersion = 1;
constexpr size_t kDigitsMax = 18;

Value text_list(const std::vector<std::string>& texts) {
  Value::List out;
  for (const std::string& text : texts) out.emplace_back(text);
  return Value(std::move(out));
}

std::vector<std::string> texts_of(const Value& document, std::string_view key) {
  std::vector<std::string> out;
  const Value* list = document.find(key);
  if (list == nullptr || list->as_list() == nullptr) return out;
  for (const Value& item : *list->as_list())
    if (item.as_text() != nullptr) out.push_back(*item.as_text());
  return out;
}

Status corrupt(const std::string& path, std::string_view what) {
  return Status(Code::kCorrupt, fmt::format("{}: {}", path, what));
}

std::optional<int64_t> number_in(std::string_view file, std::string_view before) {
  if (!file.starts_with(before) || !file.ends_with(".json")) return std::nullopt;
  return decimal(file.substr(before.size(), file.size() - before.size() - 5));
}

}  // namespace

std::optional<int64_t> decimal(std::string_view text) {
  if (text.empty() || text.size() > kDigitsMax || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  int64_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return out;
}

std::string version_file(int64_t number) { return fmt::format("v{}.json", number); }
std::string mark_file(int64_t number) { return fmt::format("mark-{}.json", number); }
std::optional<int64_t> version_number(std::string_view file) { return number_in(file, "v"); }
std::optional<int64_t> mark_number(std::string_view file) { return number_in(file, "mark-"); }

std::string artifact_document(std::string_view project, std::string_view name, std::string_view type, int64_t now_us) {
  return to_json(Value::Map{{"format", kArtifactFormat},
                            {"version", kDocumentVersion},
                            {"project", project},
                            {"name", name},
                            {"type", type},
                            {"created_us", now_us}},
                 2) +
         "\n";
}

std::string version_document(const ArtifactVersion& version) {
  const auto count = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  return to_json(Value::Map{{"format", kVersionFormat},
                            {"version", kDocumentVersion},
                            {"number", version.number},
                            {"digest", version.content.hex()},
                            {"manifest", version.manifest.hex()},
                            {"files", count(version.files)},
                            {"references", count(version.references)},
                            {"bytes", count(version.bytes)},
                            {"created_us", version.created_us},
                            {"run", version.run},
                            {"description", version.description},
                            {"metadata", version.metadata}},
                 2) +
         "\n";
}

std::string mark_document(const ArtifactMark& mark) {
  Value::Map map{{"format", kMarkFormat},
                 {"version", kDocumentVersion},
                 {"mark", mark.number},
                 {"of", mark.of},
                 {"time_us", mark.time_us}};
  if (!mark.run.empty()) map.emplace_back("run", mark.run);
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {{"aliases_added", &mark.aliases_added},
                                                                           {"aliases_removed", &mark.aliases_removed},
                                                                           {"tags_added", &mark.tags_added},
                                                                           {"tags_removed", &mark.tags_removed}};
  for (const auto& [key, list] : lists)
    if (!list->empty()) map.emplace_back(key, text_list(*list));
  if (mark.ttl_s) map.emplace_back("ttl_s", *mark.ttl_s);
  if (mark.deleted) map.emplace_back("deleted", *mark.deleted);
  if (mark.manifest) map.emplace_back("manifest", mark.manifest->hex());
  if (mark.logged_again_at) map.emplace_back("logged_behind", *mark.logged_again_at);
  if (mark.description) map.emplace_back("description", *mark.description);
  if (!mark.metadata.is_null()) map.emplace_back("metadata", mark.metadata);
  return to_json(Value(std::move(map)), 2) + "\n";
}

Result<ArtifactInfo> read_artifact_document(const std::string& path) {
  auto value = read_document(path, kArtifactFormat, kDocumentVersion);
  if (!value.ok()) return value.status();
  ArtifactInfo out;
  out.project = value->text_or("project", "");
  out.name = value->text_or("name", "");
  out.type = value->text_or("type", "");
  out.created_us = value->int_or("created_us", 0);
  if (out.project.empty() || out.name.empty() || out.type.empty())
    return corrupt(path, "project, name or type is missing");
  return out;
}

Result<ArtifactVersion> read_version_document(const std::string& path, int64_t number) {
  auto value = read_document(path, kVersionFormat, kDocumentVersion, kArtifactDocumentBytesMax);
  if (!value.ok()) return value.status();
  ArtifactVersion out;
  out.number = value->int_or("number", -1);
  const auto content = Digest::from_hex(value->text_or("digest", ""));
  const auto manifest = Digest::from_hex(value->text_or("manifest", ""));
  if (out.number != number) return corrupt(path, "it holds another number");
  if (!content || !manifest) return corrupt(path, "no valid digest");
  out.content = *content;
  out.manifest = *manifest;
  const auto count = [&value](const char* key) {
    return static_cast<uint64_t>(std::max<int64_t>(value->int_or(key, 0), 0));
  };
  out.files = count("files");
  out.references = count("references");
  out.bytes = count("bytes");
  out.created_us = value->int_or("created_us", 0);
  out.run = value->text_or("run", "");
  out.description = value->text_or("description", "");
  if (const Value* metadata = value->find("metadata"); metadata != nullptr && metadata->is_map())
    out.metadata = *metadata;
  return out;
}

Result<ArtifactMark> read_mark_document(const std::string& path, int64_t number) {
  auto value = read_document(path, kMarkFormat, kDocumentVersion, kArtifactDocumentBytesMax);
  if (!value.ok()) return value.status();
  ArtifactMark out;
  out.number = value->int_or("mark", 0);
  out.of = value->int_or("of", -1);
  if (out.number != number || out.of < 0) return corrupt(path, "it holds another number, or names no version");
  out.time_us = value->int_or("time_us", 0);
  out.run = value->text_or("run", "");
  out.aliases_added = texts_of(*value, "aliases_added");
  out.aliases_removed = texts_of(*value, "aliases_removed");
  out.tags_added = texts_of(*value, "tags_added");
  out.tags_removed = texts_of(*value, "tags_removed");
  const auto integer = [&value](const char* key) {
    const Value* found = value->find(key);
    return found == nullptr || found->as_int() == nullptr ? std::optional<int64_t>() : *found->as_int();
  };
  out.ttl_s = integer("ttl_s");
  out.logged_again_at = integer("logged_behind");
  if (const Value* deleted = value->find("deleted"); deleted != nullptr && deleted->as_bool() != nullptr)
    out.deleted = *deleted->as_bool();
  out.manifest = Digest::from_hex(value->text_or("manifest", ""));
  if (const Value* text = value->find("description"); text != nullptr && text->as_text() != nullptr)
    out.description = *text->as_text();
  if (const Value* metadata = value->find("metadata"); metadata != nullptr && metadata->is_map())
    out.metadata = *metadata;
  return out;
}

}  // namespace tracker::internal
