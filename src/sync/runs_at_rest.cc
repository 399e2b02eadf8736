// SPDX-License-Identifier: MIT
#include "sync/runs_at_rest.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/registry.h"
#include "base/clock.h"
#include "base/fs.h"
#include "model/key.h"
#include "model/value.h"
#include "storage/catalog/catalog_scan.h"

namespace tracker::internal {
namespace {

constexpr const char* kSyncedFile = "synced.json";
constexpr size_t kSyncedFileBytesMax = 256 << 20;
constexpr const char* kSyncedFormat = "tracker-synced";
constexpr int64_t kSyncedVersion = 1;

// Empty if the folder has changed a moment ago: a later change could have the same times.
std::string folder_state(const std::string& path) {
  const auto sign = folder_sign(path);
  if (!sign) return "none";
  const int64_t newest_us = std::max(sign->ctime_ns, sign->mtime_ns) / 1000;
  if (newest_us > realtime_us() - kCatalogRacy.count()) return "";
  return fmt::format("{} {} {}", sign->inode, sign->ctime_ns, sign->mtime_ns);
}

std::string below_store(const std::string& store_path, const std::string& path) {
  return path.starts_with(store_path + "/") ? path.substr(store_path.size() + 1) : path;
}

}  // namespace

std::optional<RunAtRest> look_at_rest(const std::string& store_path, const RunFolder& run,
                                      const std::set<std::pair<std::string, std::string>>& artifacts) {
  RunAtRest out;
  out.folders[below_store(store_path, run.path)] = folder_state(run.path);
  for (const auto& [project, name] : artifacts) {
    const std::string folder = fmt::format("{}/{}/{}", kArtifactsFolder, folder_name(project), folder_name(name));
    out.folders[folder] = folder_state(join_path(store_path, folder));
  }
  for (const auto& [folder, state] : out.folders)
    if (state.empty()) return {};
  if (look_at_files(run.path).leftovers) return {};
  return out;
}

RunsAtRest RunsAtRest::read(const std::string& store_path) {
  RunsAtRest out(store_path);
  const auto file = read_file(join_path(store_path, kSyncedFile), kSyncedFileBytesMax);
  const auto document = file.ok() ? from_json(*file) : Result<Value>(file.status());
  if (!document.ok() || document->text_or("format", "") != kSyncedFormat ||
      document->int_or("version", 0) != kSyncedVersion)
    return out;
  const Value* runs = document->find("runs");
  if (runs == nullptr || !runs->is_map()) return out;
  for (const auto& [name, said] : *runs->as_map()) {
    RunAtRest& run = out.runs_[name];
    run.server = said.text_or("server", "");
    if (const Value* folders = said.find("folders"); folders != nullptr && folders->is_map())
      for (const auto& [folder, state] : *folders->as_map())
        if (const std::string* text = state.as_text()) run.folders[folder] = *text;
    if (const Value* acked = said.find("acked"); acked != nullptr && acked->is_map())
      for (const auto& [writer, number] : *acked->as_map())
        if (const int64_t* seq = number.as_int()) run.acked[writer] = static_cast<uint64_t>(std::max<int64_t>(0, *seq));
  }
  return out;
}

const RunAtRest* RunsAtRest::find(const RunFolder& run) const {
  const auto found = runs_.find(below_store(store_path_, run.path));
  if (found == runs_.end() || found->second.folders.count(found->first) == 0) return nullptr;
  for (const auto& [folder, state] : found->second.folders)
    if (folder_state(join_path(store_path_, folder)) != state) return nullptr;
  return &found->second;
}

void RunsAtRest::put(const RunFolder& run, RunAtRest at_rest) {
  runs_[below_store(store_path_, run.path)] = std::move(at_rest);
  changed_ = true;
}

void RunsAtRest::forget_others(const std::set<std::string>& there) {
  const size_t gone =
      std::erase_if(runs_, [&](const auto& each) { return !there.contains(join_path(store_path_, each.first)); });
  changed_ = changed_ || gone > 0;
}

void RunsAtRest::save() const {
  if (!changed_) return;
  Value::Map all;
  for (const auto& [name, run] : runs_) {
    Value::Map folders, acked;
    for (const auto& [folder, state] : run.folders) folders.emplace_back(folder, state);
    for (const auto& [writer, number] : run.acked) acked.emplace_back(writer, static_cast<int64_t>(number));
    all.emplace_back(name,
                     Value::Map{{"folders", std::move(folders)}, {"server", run.server}, {"acked", std::move(acked)}});
  }
  (void)write_file_atomic(
      join_path(store_path_, kSyncedFile),
      to_json(Value::Map{{"format", kSyncedFormat}, {"version", kSyncedVersion}, {"runs", std::move(all)}}) + "\n");
}

}  // namespace tracker::internal
