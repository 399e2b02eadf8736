// SPDX-License-Identifier: MIT
#include "storage/store_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "storage/run_folder.h"
#include "storage/writer_reader.h"

namespace tracker::internal {
namespace {

// Newest first, by the folders' own times: those of run.json would have to be read.
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

bool is_sound(const std::string& path) {
  const auto id = read_store_document(path);
  return id.ok() || id.status().code() == Code::kVersion;
}

}  // namespace

Result<FoundIdentity> identity_of_runs(const std::string& store_path) {
  FoundIdentity out;
  size_t asked = 0;
  for (const std::string& folder : run_folders(store_path)) {
    if (asked == kIdentityRunsMax) break;
    FoundIdentity found = identity_of_run(folder);
    if (found.id.is_zero()) continue;
    ++asked;
    if (!out.id.is_zero() && found.id != out.id)
      return Status(Code::kCorrupt, fmt::format("{} says that it is of the store {}, {} of the store {}", out.from,
                                                out.id.hex(), found.from, found.id.hex()));
    if (out.id.is_zero()) out = std::move(found);
  }
  if (out.id.is_zero()) return Status(Code::kNotFound, store_path + ": no run says of which store it is");
  return out;
}

Result<std::string> mend_store_document(const std::string& store_path, const Id128& id) {
  const std::string path = join_path(store_path, kStoreFile);
  for (int i = 1; i <= kDamagedKeptMax; ++i) {
    const std::string kept = fmt::format("{}.damaged-{}", path, i);
    if (::link(path.c_str(), kept.c_str()) != 0) {
      if (errno == EEXIST) continue;
      // Without links it is gone for a moment; who comes then makes it with the same id.
      if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        return Status::from_errno(errno, "cannot keep", path);
      if (path_exists(kept)) continue;
      if (::rename(path.c_str(), kept.c_str()) != 0) return Status::from_errno(errno, "cannot keep", path);
    }
    // What was linked is looked at, not what was read before: somebody may have mended it since.
    if (is_sound(kept)) {
      if (path_exists(path)) remove_file(kept);
      else if (::rename(kept.c_str(), path.c_str()) != 0) return Status::from_errno(errno, "cannot put back", path);
      return std::string();
    }
    TRACKER_RETURN_IF_ERROR(write_file_atomic(path, store_document(id), 0666));
    return kept;
  }
  return Status(Code::kLimit, fmt::format("{} damaged files are kept as {}.damaged-N", kDamagedKeptMax, path),
                "remove them");
}

}  // namespace tracker::internal
