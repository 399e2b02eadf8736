// SPDX-License-Identifier: MIT
#include "support/power_cut.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tracker::internal {
namespace {

void put(const LoggedWrite& write, std::string* content) {
  if (write.kind == WriteKind::kTruncate) {
    content->resize(write.at, 0);
    return;
  }
  if (content->size() < write.at + write.data.size()) content->resize(write.at + write.data.size(), 0);
  content->replace(write.at, write.data.size(), write.data);
}

// Each sector that the write touches arrives as a whole or not at all; the file has its new length in any case.
void put_some(const LoggedWrite& write, std::mt19937_64* random, std::string* content) {
  if (write.kind == WriteKind::kTruncate) return put(write, content);
  const uint64_t end = write.at + write.data.size();
  if (content->size() < end) content->resize(end, 0);
  for (uint64_t at = write.at; at < end;) {
    const uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    if ((*random)() % 2 == 0) content->replace(at, next - at, write.data, at - write.at, next - at);
    at = next;
  }
}

}  // namespace

CutDisk::File& CutDisk::file_at(const std::string& path) {
  const auto [found, is_new] = names_.try_emplace(path, files_.size());
  if (is_new) files_.emplace_back();
  return files_[found->second];
}

void CutDisk::apply(const LoggedWrite& write) {
  switch (write.kind) {
    case WriteKind::kCreate: (void)file_at(write.path); return;
    case WriteKind::kFolder: file_at(write.path).is_folder = true; return;
    case WriteKind::kWrite:
    case WriteKind::kTruncate: file_at(write.path).pending.push_back(write); return;
    case WriteKind::kSync: {
      if (const auto found = names_.find(write.path); found != names_.end()) {
        File& file = files_[found->second];
        for (const LoggedWrite& one : file.pending) put(one, &file.durable);
        file.pending.clear();
      }
      durable_names_ = names_;
      return;
    }
    case WriteKind::kRename:
    case WriteKind::kLink: {
      (void)file_at(write.path);
      names_[write.other] = names_[write.path];
      if (write.kind == WriteKind::kRename) names_.erase(write.path);
      return;
    }
    case WriteKind::kUnlink: names_.erase(write.path); return;
    case WriteKind::kSyncBegin:
    case WriteKind::kMark: return;
  }
}

std::string CutDisk::content(const File& file, PowerCut cut, std::mt19937_64* random) const {
  std::string out = file.durable;
  for (const LoggedWrite& one : file.pending) {
    if (cut == PowerCut::kEverything) put(one, &out);
    if (cut == PowerCut::kSomeSectors) put_some(one, random, &out);
  }
  return out;
}

void CutDisk::restore(PowerCut cut, std::mt19937_64* random, const std::string& folder) const {
  const auto& names = cut == PowerCut::kOnlySynced ? durable_names_ : names_;
  for (const auto& [name, number] : names) {  // in order: a folder comes before what is in it
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    const File& file = files_[number];
    if (file.is_folder) {
      std::filesystem::create_directories(path);
      continue;
    }
    if (name.ends_with("-shm")) continue;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    const std::string bytes = content(file, cut, random);
    if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) std::abort();
  }
}

}  // namespace tracker::internal
