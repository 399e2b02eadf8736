// SPDX-License-Identifier: MIT
#include "exchange/import_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/ids.h"
#include "model/key.h"
#include "storage/log/log_visitor.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

std::string place_of(const Store& store, const std::string& project, const std::string& label) {
  return join_path(join_path(join_path(store.path(), kRunsFolder), folder_name(project)), folder_name(label));
}

// Returns false if another process holds it. On a file system without such locks the rename alone decides.
Result<bool> take_lock(const std::string& path, Fd* out) {
  auto fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
  if (!fd.ok()) return fd.status();
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = ::fcntl(fd->get(), F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
  *out = std::move(*fd);
  return !held;
}

}  // namespace

void ImportReport::add_problem(Code code, std::string line) {
  // Damage outranks an error that is not damage, in whatever order they come.
  const bool is_no_damage = code == Code::kIo || code == Code::kBusy || code == Code::kTimeout;
  worst = is_no_damage && worst != Code::kOk ? worse_of(code, worst) : worse_of(worst, code);
  if (problems.size() < kImportProblemsMax) problems.push_back(std::move(line));
  else ++problems_more;
}

void remove_import_folder(const std::string& path) {
  if (auto names = list_dir(path); names.ok())
    for (const std::string& name : *names) {
      const std::string below = join_path(path, name);
      if (is_directory(below) && !is_link(below)) remove_import_folder(below);
      else remove_file(below);
    }
  ::rmdir(path.c_str());
}

Result<std::unique_ptr<ImportStore>> ImportStore::open(const std::string& path) {
  auto store = Store::open_or_create(path);
  if (!store.ok()) return store.status();
  std::unique_ptr<ImportStore> out(new ImportStore);
  out->store_ = std::move(*store);
  const std::string lock_path = join_path(out->store_.path(), kImportLockFile);
  auto taken = take_lock(lock_path, &out->lock_);
  if (!taken.ok()) return taken.status();
  if (!*taken)
    return Status(Code::kBusy, fmt::format("another import into {} is under way", out->store_.path()),
                  "nothing was changed; try again when it has ended");
  out->remove_left();
  for (RunFolder& run : out->store_.list_runs()) {
    const Id128 uid = run.identity.uid;
    out->runs_.emplace(uid, std::move(run));
  }
  return out;
}

// Their makers are dead: this process holds the lock.
void ImportStore::remove_left() const {
  auto names = list_dir(store_.path());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = join_path(store_.path(), name);
    if (name.starts_with(kImportFolderPrefix) && is_directory(path) && !is_link(path)) remove_import_folder(path);
  }
}

const RunFolder* ImportStore::find(const Id128& uid) const {
  const auto found = runs_.find(uid);
  return found != runs_.end() ? &found->second : nullptr;
}

Result<std::string> ImportStore::free_label(const std::string& project, const std::string& label, int tries_max) const {
  for (int i = 1; i <= tries_max; ++i) {
    std::string wanted = i == 1 ? label : fmt::format("{}-{}", label, i);
    if (!path_exists(place_of(store_, project, wanted))) return wanted;
  }
  return Status(Code::kLimit, fmt::format("{} runs of {} are called \"{}\"", tries_max, project, label));
}

Result<std::string> ImportStore::make_folder() const {
  std::string path = join_path(store_.path(), fmt::format("{}{:016x}", kImportFolderPrefix, random_u64()));
  TRACKER_RETURN_IF_ERROR(make_dirs(path));
  return path;
}

Status ImportStore::put(const std::string& folder, const RunIdentity& run) {
  const std::string place = place_of(store_, run.project, run.id);
  TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(place)));
  sync_path(folder);
  // Fails if a folder with that name is not empty.
  if (::rename(folder.c_str(), place.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST)
      return Status(Code::kExists, fmt::format("{} was taken by another run meanwhile", place),
                    "nothing of it was stored; import again");
    return Status::from_errno(errno, "cannot put the run in its place", place);
  }
  sync_path(parent_path(place));
  sync_path(parent_path(parent_path(place)));
  sync_path(store_.path());
  runs_.emplace(run.uid, RunFolder{run, place, ""});
  return {};
}

}  // namespace tracker::internal
