// SPDX-License-Identifier: MIT
#include "artifact/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/registry.h"
#include "artifact/source_files.h"
#include "base/fs.h"
#include "model/key.h"
#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

Status taken(std::string_view path) {
  return Status(Code::kExists, fmt::format("\"{}\" is in the artifact already", path), "remove() it first");
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<ArtifactDraft> ArtifactDraft::make(std::string_view name, std::string_view type) {
  TRACKER_RETURN_IF_ERROR(check_artifact_name(name));
  TRACKER_RETURN_IF_ERROR(check_artifact_type(type));
  ArtifactDraft out;
  out.name = name;
  out.type = type;
  return out;
}

bool ArtifactDraft::contains(std::string_view path) const {
  if (singles_.find(path) != singles_.end()) return true;
  return std::any_of(folders_.begin(), folders_.end(), [path](const Folder& folder) {
    return path.starts_with(folder.prefix) && folder.files.contains(path.substr(folder.prefix.size()));
  });
}

bool ArtifactDraft::has_below(std::string_view path) const {
  const std::string folder_path = std::string(path) + '/';
  const auto single = singles_.lower_bound(folder_path);
  if (single != singles_.end() && single->first.starts_with(folder_path)) return true;
  return std::any_of(folders_.begin(), folders_.end(), [&folder_path](const Folder& folder) {
    if (folder.prefix.starts_with(folder_path)) return folder.files.size() > 0;
    if (!folder_path.starts_with(folder.prefix)) return false;
    const std::string below = folder_path.substr(folder.prefix.size());
    const FileList::Cursor at(folder.files, below);
    return !at.done() && at.file().path.starts_with(below);
  });
}

Status ArtifactDraft::check_free(std::string_view path, size_t checked) const {
  if (contains(path)) return taken(path);
  for (size_t slash = path.find('/', checked); slash != std::string_view::npos; slash = path.find('/', slash + 1))
    if (const std::string_view above = path.substr(0, slash); contains(above))
      return Status(Code::kExists, clash_status(path, above).message(), "remove() it first, or choose another name");
  if (has_below(path))
    return Status(Code::kExists, fmt::format("\"{}\" is a folder of the artifact already", path),
                  fmt::format("remove(\"{}/\") it first, or choose another name", path));
  return {};
}

Status ArtifactDraft::add_file(const std::string& file, std::string_view path, HoldBy by) {
  const std::string source = absolute_path(file);
  if (source.empty()) return Status(Code::kInvalid, "the working directory was deleted", "name the file from \"/\" on");
  auto found = look_at_file(source);
  if (!found.ok()) return found.status();
  std::string at(path);
  if (at.empty() || at.back() == '/') at += last_name(source);
  TRACKER_RETURN_IF_ERROR(check_artifact_path(at));
  TRACKER_RETURN_IF_ERROR(check_free(at));
  if (singles_.size() >= kDraftFilesMax)
    return Status(Code::kLimit, fmt::format("{} files were added one by one", kDraftFilesMax), "add their folder");
  Single single;
  single.source = std::move(*found);
  if (holding_ != nullptr) single.held = holding_->hold("", single.source, by);
  singles_.emplace(std::move(at), std::move(single));
  return {};
}

Status ArtifactDraft::add_folder(const std::string& folder, std::string_view path, HoldBy by) {
  const std::string source = without_slashes(absolute_path(folder));
  if (source.empty())
    return Status(Code::kInvalid, "the working directory was deleted", "name the folder from \"/\" on");
  Folder added{source, std::string(path), {}, {}};
  if (!added.prefix.empty() && added.prefix.back() != '/') added.prefix += '/';
  if (!added.prefix.empty())
    TRACKER_RETURN_IF_ERROR(check_artifact_path(std::string_view(added.prefix).substr(0, added.prefix.size() - 1)));
  std::vector<std::string> stores;
  auto files = list_files(source, &stores);
  if (!files.ok()) return files.status();
  added.files = std::move(*files);
  if (added.files.size() > kManifestEntriesMax - this->files())
    return Status(Code::kLimit, fmt::format("an artifact has at most {} files", kManifestEntriesMax));
  const bool alone = folders_.empty() && singles_.empty();
  std::string last;
  for (FileList::Cursor at(added.files); !at.done(); at.next()) {
    const std::string& below = at.file().path;
    if (added.prefix.size() + below.size() > kArtifactPathBytesMax) return check_artifact_path(added.prefix + below);
    if (alone) continue;
    // Folders that were checked for the previous file are not checked again.
    const std::string whole = added.prefix + below;
    const size_t above = whole.find_last_of('/') + 1;
    TRACKER_RETURN_IF_ERROR(check_free(whole, last.starts_with(whole.substr(0, above)) ? above : 0));
    last = whole;
  }
  if (holding_ != nullptr) hold_folder(&added, by);
  folders_.push_back(std::move(added));
  stores_left_out_.insert(stores_left_out_.end(), stores.begin(), stores.end());
  return {};
}

Status ArtifactDraft::add_files_below(const std::string& folder, const std::vector<std::string>& paths) {
  if (files() > 0) return Status(Code::kInvalid, "the draft has files already");
  auto files = look_at_files(folder, paths);
  if (!files.ok()) return files.status();
  folders_.push_back({without_slashes(folder), "", std::move(*files), {}});
  return {};
}

// All files are copied or none: a folder that is half from now has little use.
void ArtifactDraft::hold_folder(Folder* folder, HoldBy by) {
  if (!holding_->has_room(folder->files.size(), 0)) return;
  uint64_t bytes = 0;
  for (FileList::Cursor at(folder->files); !at.done(); at.next()) {
    const auto stamp = stamp_source(folder->source, at.file().path);
    if (!stamp.ok() || !holding_->is_stored(*stamp)) bytes += at.file().bytes;
  }
  if (by == HoldBy::kAuto && !holding_->has_room(0, bytes)) by = HoldBy::kOpen;
  for (FileList::Cursor at(folder->files); !at.done(); at.next())
    if (auto held = holding_->hold(folder->source, at.file(), by))
      folder->held.emplace(at.file().path, std::move(held));
}

void ArtifactDraft::hold(std::shared_ptr<HeldFiles> files) {
  if (holding_ != nullptr) return;
  holding_ = std::move(files);
  for (auto& [path, single] : singles_)
    if (single.entry.kind == EntryKind::kFile) single.held = holding_->hold("", single.source, HoldBy::kAuto);
  for (Folder& folder : folders_) hold_folder(&folder, HoldBy::kAuto);
}

void ArtifactDraft::release_held() {
  for (auto& [path, single] : singles_) single.held = nullptr;
  for (Folder& folder : folders_) folder.held.clear();
  holding_ = nullptr;
}

Status ArtifactDraft::add_reference(std::string_view uri, std::string_view path, std::string_view checksum,
                                    uint64_t bytes) {
  Single single;
  uint64_t redacted = 0;
  single.entry.kind = EntryKind::kReference;
  single.entry.uri = redact_text(uri, &redacted);
  single.entry.checksum = redact_text(checksum, &redacted);
  single.entry.bytes = bytes;
  std::string at(path);
  if (at.empty() || at.back() == '/') at += last_name(std::string(uri.substr(0, uri.find_first_of("?#"))));
  single.entry.path = at;
  ManifestWriter check;  // checks by the rules of a manifest
  TRACKER_RETURN_IF_ERROR(check.add(single.entry));
  TRACKER_RETURN_IF_ERROR(check_free(at));
  if (singles_.size() >= kDraftFilesMax)
    return Status(Code::kLimit, fmt::format("{} references were added one by one", kDraftFilesMax));
  singles_.emplace(std::move(at), std::move(single));
  return {};
}

Status ArtifactDraft::remove(std::string_view path) {
  const bool below = path.ends_with('/');
  const auto goes = [&](std::string_view each) { return below ? each.starts_with(path) : each == path; };
  bool any = std::erase_if(singles_, [&goes](const auto& item) { return goes(item.first); }) > 0;
  for (Folder& folder : folders_) {
    FileList kept;
    for (FileList::Cursor at(folder.files); !at.done(); at.next())
      if (!goes(folder.prefix + at.file().path)) kept.add(at.file());
    any = any || kept.size() < folder.files.size();
    if (kept.size() < folder.files.size()) folder.files = std::move(kept);
  }
  return any ? Status() : Status(Code::kNotFound, fmt::format("\"{}\" is not in the artifact", path));
}

uint64_t ArtifactDraft::files() const {
  uint64_t out = singles_.size();
  for (const Folder& folder : folders_) out += folder.files.size();
  return out;
}

uint64_t ArtifactDraft::bytes() const {
  uint64_t out = 0;
  for (const auto& [path, single] : singles_) out += single.source.bytes;
  for (const Folder& folder : folders_) out += folder.files.bytes();
  return out;
}

Status ArtifactDraft::visit(const std::function<Status(const Item&)>& visit) const {
  std::vector<std::pair<const Folder*, FileList::Cursor>> cursors;
  for (const Folder& folder : folders_) cursors.emplace_back(&folder, FileList::Cursor(folder.files));
  auto single = singles_.begin();
  for (;;) {
    std::pair<const Folder*, FileList::Cursor>* least = nullptr;
    std::string path;
    for (auto& cursor : cursors) {
      if (cursor.second.done()) continue;
      std::string at = cursor.first->prefix + cursor.second.file().path;
      if (least != nullptr && path <= at) continue;
      least = &cursor;
      path = std::move(at);
    }
    Item item;
    if (single != singles_.end() && (least == nullptr || single->first < path)) {
      item.entry = single->second.entry;
      item.entry.path = single->first;
      item.source = single->second.source;
      item.held = single->second.held;
      ++single;
    } else if (least != nullptr) {
      item.entry.path = std::move(path);
      item.folder = least->first->source;
      item.source = least->second.file();
      if (const auto held = least->first->held.find(item.source.path); held != least->first->held.end())
        item.held = held->second;
      least->second.next();
    } else {
      return {};
    }
    if (item.entry.kind == EntryKind::kFile) {
      item.entry.bytes = item.source.bytes;
      item.entry.mtime_us = item.source.mtime_ns / 1000;
    }
    TRACKER_RETURN_IF_ERROR(visit(item));
  }
}

}  // namespace tracker::internal
