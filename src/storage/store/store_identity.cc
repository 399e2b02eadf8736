// SPDX-License-Identifier: MIT
#include "storage/store/store_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "journal/ring/definitions.h"
#include "journal/ring/place.h"
#include "storage/store/document.h"
#include "storage/store/run_folder.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// Newest first, by the times of the folders: those in run.json would have to be read.
std::vector<std::string> run_folders(const std::string& store_path) {
  std::vector<std::pair<int64_t, std::string>> found;
  const std::string runs = join_path(store_path, kRunsFolder);
  for (const std::string& project : list_dir(runs).value_or({}))
    for (const std::string& name : list_dir(join_path(runs, project)).value_or({})) {
      struct stat st{};
      std::string path = join_path(join_path(runs, project), name);
      if (::lstat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
      found.emplace_back(st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec, std::move(path));
    }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> out;
  for (auto& [time, path] : found) out.push_back(std::move(path));
  return out;
}

FoundIdentity identity_of_run(const std::string& folder) {
  for (const std::string& file : RunFolder{{}, folder, ""}.writer_dbs()) {
    const auto reader = WriterReader::open(file);
    if (reader.ok() && !(*reader)->identity().store.is_zero()) return {(*reader)->identity().store, file};
  }
  return {};
}

// From processes whose run is in the store and has stored nothing yet, or lost it. Journals of other runs may belong to
// a store that was removed from this place.
Result<FoundIdentity> identity_of_journals(const std::string& store_path, const std::vector<std::string>& folders) {
  std::set<Id128> runs;
  for (const std::string& folder : folders)
    if (const auto run = read_run_document(join_path(folder, kRunFile)); run.ok()) runs.insert(run->uid);
  FoundIdentity out;
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root) || !check_private_dir(root, false).ok()) continue;
    for (const std::string& name : list_dir(root).value_or({})) {
      if (!Id128::from_hex(name)) continue;
      const std::string dir = join_path(root, name);
      const auto writer = read_writer_identity(dir);
      if (!writer.ok() || writer->store.is_zero() || writer->store_path != store_path ||
          !runs.contains(writer->run.uid))
        continue;
      if (!out.id.is_zero() && writer->store != out.id)
        return Status(Code::kCorrupt, fmt::format("{} is of the store {}, {} of the store {}", out.from, out.id.hex(),
                                                  dir, writer->store.hex()));
      if (out.id.is_zero()) out = {writer->store, dir};
    }
  }
  if (out.id.is_zero())
    return Status(Code::kNotFound, store_path + ": neither a run nor a journal says of which store it is");
  return out;
}

}  // namespace

Result<FoundIdentity> identity_of_runs(const std::string& store_path) {
  FoundIdentity out;
  size_t asked = 0;
  const std::vector<std::string> folders = run_folders(store_path);
  for (const std::string& folder : folders) {
    if (asked == kIdentityRunsMax) break;
    FoundIdentity found = identity_of_run(folder);
    if (found.id.is_zero()) continue;
    ++asked;
    if (!out.id.is_zero() && found.id != out.id)
      return Status(Code::kCorrupt, fmt::format("{} says that it is of the store {}, {} of the store {}", out.from,
                                                out.id.hex(), found.from, found.id.hex()));
    if (out.id.is_zero()) out = std::move(found);
  }
  return out.id.is_zero() ? identity_of_journals(store_path, folders) : out;
}

Result<std::string> repair_store_document(const std::string& store_path, const Id128& id) {
  return repair_document(join_path(store_path, kStoreFile), store_document(id), [](const std::string& path) {
    const Code read = read_store_document(path).status().code();
    return read != Code::kCorrupt && read != Code::kLimit;
  });
}

}  // namespace tracker::internal
