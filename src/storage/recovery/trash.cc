// SPDX-License-Identifier: MIT
#include "storage/recovery/trash.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/definitions.h"
#include "journal/ring/liveness.h"
#include "journal/ring/place.h"
#include "model/key.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/live_writers.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

// A run that was moved here and not checked again yet; without this suffix, its removal is decided.
constexpr std::string_view kMoved = ".moved";
constexpr int kLockTries = 200;
constexpr std::chrono::milliseconds kLockPause{25};

Result<Fd> open_folder_at(int parent, const std::string& name, const std::string& path) {
  Fd fd(above_standard(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (fd) return fd;
  if (errno == ELOOP || errno == ENOTDIR)
    return Status(Code::kInvalid, path + " is a link or no folder; nothing outside the store is removed");
  return Status::from_errno(errno, "cannot open", path);
}

Result<Fd> open_store_folder(const Store& store) { return open_file(store.path(), O_RDONLY | O_DIRECTORY); }

// The open trash folder, with the lock for moving runs in or out.
struct Trash {
  Fd folder, lock;
};

Result<Trash> open_trash(const Store& store, int store_fd) {
  const std::string path = join_path(store.path(), kTrashFolder);
  const uint32_t shared = is_shared_folder(store.path()) ? 070 : 0;
  if (::mkdirat(store_fd, kTrashFolder, 0700 | shared) == 0) share_with_group(path);
  else if (errno != EEXIST) return Status::from_errno(errno, "cannot create", path);
  auto folder = open_folder_at(store_fd, kTrashFolder, path);
  if (!folder.ok()) return folder.status();
  Trash out;
  out.folder = std::move(*folder);
  out.lock =
      Fd(above_standard(::openat(out.folder.get(), kTrashLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)));
  if (out.lock && shared != 0) (void)::fchmod(out.lock.get(), 0600 | S_IRGRP | S_IWGRP);
  if (!out.lock) return Status::from_errno(errno, "cannot open the lock of", path);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  for (int i = 0; i < kLockTries; ++i) {
    if (::fcntl(out.lock.get(), F_OFD_SETLK, &lock) == 0) return out;
    // no such locks on this file system: only the second check protects
    if (errno != EAGAIN && errno != EACCES) return out;
    std::this_thread::sleep_for(kLockPause);
  }
  return Status(Code::kBusy, path + " is in use by another rm or gc", "try again");
}

// The names of an open folder, sorted.
Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (dir == nullptr) {
    const Status status = Status::from_errno(errno, "cannot list", path);
    if (copy >= 0) ::close(copy);
    return status;
  }
  std::vector<std::string> out;
  while (const dirent* entry = ::readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): a stream of our own
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  ::closedir(dir);
  std::sort(out.begin(), out.end());
  return out;
}

class TreeRemover {
 public:
  TreeRemover(dev_t device, bool dry_run) : device_(device), dry_run_(dry_run) {}

  Status remove(int parent, const std::string& name, const std::string& path, int depth) {
    struct stat st{};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? Status() : Status::from_errno(errno, "cannot examine", path);
    if (S_ISDIR(st.st_mode)) return remove_folder(parent, name, path, depth);
    if (!dry_run_ && ::unlinkat(parent, name.c_str(), 0) != 0 && errno != ENOENT)
      return Status::from_errno(errno, "cannot remove", path);
    ++removed_.files;
    if (S_ISREG(st.st_mode) && st.st_nlink == 1) removed_.bytes += static_cast<uint64_t>(st.st_size);
    return {};
  }
  const Removed& removed() const { return removed_; }

 private:
  Status remove_folder(int parent, const std::string& name, const std::string& path, int depth) {
    if (depth > kTrashDepthMax) return Status(Code::kLimit, fmt::format("{}: too many folders in each other", path));
    auto folder = open_folder_at(parent, name, path);
    if (!folder.ok()) return folder.status();
    struct stat st{};
    if (::fstat(folder->get(), &st) != 0) return Status::from_errno(errno, "cannot examine", path);
    if (st.st_dev != device_)
      return Status(Code::kInvalid, path + " is another file system, mounted there; nothing in it is removed");
    auto names = names_in(folder->get(), path);
    if (!names.ok()) return names.status();
    Status first;
    for (const std::string& child : *names) {
      const Status status = remove(folder->get(), child, join_path(path, child), depth + 1);
      if (!status.ok() && first.ok()) first = status;
    }
    if (!first.ok() || dry_run_) return first;
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return Status::from_errno(errno, "cannot remove", path);
    return {};
  }

  const dev_t device_;
  const bool dry_run_;
  Removed removed_;
};

Result<Removed> remove_tree(int parent, const std::string& name, const std::string& path, bool dry_run = false) {
  struct stat st{};
  if (::fstat(parent, &st) != 0) return Status::from_errno(errno, "cannot examine", path);
  TreeRemover remover(st.st_dev, dry_run);
  TRACKER_RETURN_IF_ERROR(remover.remove(parent, name, path, 0));
  return remover.removed();
}

// The place of a run: the open folder of its project, and its name in it.
struct RunPlace {
  Fd runs, project;
  std::string project_name, name;
};

Result<RunPlace> open_place(const Store& store, int store_fd, const std::string& run_path) {
  const std::string runs = join_path(store.path(), kRunsFolder);
  const std::string project = parent_path(run_path);
  const std::string project_name = last_name(project), label_of_run = last_name(run_path);
  const auto is_no_name = [](const std::string& name) { return name.empty() || name == "." || name == ".."; };
  if (parent_path(project) != runs || is_no_name(project_name) || is_no_name(label_of_run))
    return Status(Code::kInvalid, run_path + " is no run's folder of the store " + store.path());
  auto runs_fd = open_folder_at(store_fd, kRunsFolder, runs);
  if (!runs_fd.ok()) return runs_fd.status();
  auto project_fd = open_folder_at(runs_fd->get(), project_name, project);
  if (!project_fd.ok()) return project_fd.status();
  RunPlace out{std::move(*runs_fd), std::move(*project_fd), project_name, label_of_run};
  auto run = open_folder_at(out.project.get(), out.name, run_path);
  if (!run.ok()) return run.status();
  return out;
}

// If a file of the run cannot be read, no heartbeat shows when the run was written last. The times of its files do,
// except that of a WAL's index, which a reader may write.
Status refuse_fresh(const std::string& path, const std::string& name, int64_t now_us) {
  const auto files = list_dir(path);
  for (const std::string& file : files.ok() ? *files : std::vector<std::string>()) {
    struct stat st{};
    if (file == kRunFile || file.ends_with("-shm") || ::lstat(join_path(path, file).c_str(), &st) != 0 ||
        !S_ISREG(st.st_mode))
      continue;
    const int64_t age_us = now_us - (st.st_mtim.tv_sec * 1'000'000 + st.st_mtim.tv_nsec / 1000);
    if (age_us < kHeartbeatTrust.count() && age_us > -kHeartbeatTrust.count())
      return Status(Code::kBusy, fmt::format("{}: {} was written within the last minute", name, file),
                    "nothing of it was removed; try again in a minute");
  }
  return {};
}

// Refuses what only a newer program understands: claims, and journals of writers with files in this folder.
Status refuse_newer(const Store& store, const std::string& path) {
  TRACKER_RETURN_IF_ERROR(check_claims(path));
  for (const std::string& name : list_dir(path).value_or({})) {
    const auto writer = Id128::from_hex(name.substr(0, 32));
    if (!writer || (!name.ends_with(".db") && !name.ends_with(".frames"))) continue;
    for (const std::string& root : journal_roots(store.path()))
      if (const Status journal = read_definitions(join_path(root, writer->hex())).status();
          journal.code() == Code::kVersion)
        return journal;
  }
  return {};
}

Status refuse_live(const Store& store, const Id128& uid, const std::string& path, const std::string& name,
                   int64_t now_us) {
  std::vector<UnreadWriter> unread;
  const std::vector<LiveWriter> live = live_writers(store, uid, path, now_us, &unread);
  if (const Status newer = refuse_newer(store, path); !newer.ok()) unread.push_back({path, newer});
  for (const UnreadWriter& writer : unread)
    if (writer.status.code() == Code::kVersion)
      return Status(Code::kVersion, fmt::format("{} is left alone: {}", name, writer.status.message()),
                    "nothing of it was removed; remove it with the version that wrote it");
  if (live.empty()) return uid.is_zero() || !unread.empty() ? refuse_fresh(path, name, now_us) : Status();
  const std::string others = live.size() > 1 ? fmt::format(", and {} more", live.size() - 1) : "";
  return Status(Code::kBusy, fmt::format("{} is being recorded: {}{}", name, live.front().text(), others),
                "nothing of it was removed");
}

std::string label_of_run(const RunIdentity& run) { return run.project + "/" + run.id; }

// Moves the run back to its place; if another run is there by now, to a free name beside it. Returns false if both
// fail.
bool restore(const Store& store, int store_fd, const Trash& trash, const std::string& entry, const RunIdentity& run) {
  const std::string project = folder_name(run.project), name = folder_name(run.id);
  auto runs = open_folder_at(store_fd, kRunsFolder, kRunsFolder);
  if (!runs.ok()) return false;
  if (::mkdirat(runs->get(), project.c_str(), 0777) == 0)
    share_with_group(join_path(join_path(store.path(), kRunsFolder), project));
  auto folder = open_folder_at(runs->get(), project, join_path(store.path(), project));
  if (!folder.ok()) return false;
  const auto move_to = [&](const std::string& to) {
    return ::renameat2(trash.folder.get(), entry.c_str(), folder->get(), to.c_str(), 1 /* RENAME_NOREPLACE */) == 0;
  };
  return move_to(name) || move_to(run.uid.hex());
}

// Takes the locks of all journals that are removed with a run, so that no process recovers them; none is removed before
// all are locked. Takes none if another copy of the run is in the store: the journals belong to that one.
Status claim_journals(const Store& store, const RunIdentity& run, std::vector<std::unique_ptr<DeadJournal>>* out) {
  const std::vector<std::string> dirs = journal_dirs_of(store, run.uid);
  if (dirs.empty() || store.find_run_by_uid(run.uid, run.project)) return {};
  for (const std::string& dir : dirs) {
    const auto writer = writer_of_journal(dir, store);
    const WriterIdentity* const who = writer.ok() ? &*writer : nullptr;
    if (const auto read = DeadJournal::look(dir, who); read.status().code() == Code::kVersion) return read.status();
    auto journal = DeadJournal::claim(dir, who);
    const Code code = journal.status().code();
    if (journal.ok()) out->push_back(std::move(*journal));
    else if (code == Code::kBusy) return Status(code, dir + " is being recovered", "nothing of the run was removed");
    else if (code == Code::kVersion) return journal.status();
  }
  return {};
}

// For a run whose removal is decided and whose remover died before it removed the journals.
void remove_journals(const Store& store, const RunIdentity& run) {
  const std::vector<std::string> dirs = journal_dirs_of(store, run.uid);
  if (dirs.empty() || store.find_run_by_uid(run.uid, run.project)) return;
  for (const std::string& dir : dirs)
    if (auto journal = DeadJournal::claim(dir); journal.ok()) (*journal)->remove();
}

}  // namespace

Status check_removable(const Store& store, const RunFolder& run, int64_t now_us) {
  auto store_fd = open_store_folder(store);
  if (!store_fd.ok()) return store_fd.status();
  auto place = open_place(store, store_fd->get(), run.path);
  if (!place.ok()) return place.status();
  return refuse_live(store, run.identity.uid, run.path, label_of_run(run.identity), now_us);
}

Result<Removed> remove_run(const Store& store, const RunFolder& run, int64_t now_us) {
  TRACKER_RETURN_IF_ERROR(check_removable(store, run, now_us));
  auto store_fd = open_store_folder(store);
  if (!store_fd.ok()) return store_fd.status();
  auto trash = open_trash(store, store_fd->get());
  if (!trash.ok()) return trash.status();
  auto place = open_place(store, store_fd->get(), run.path);
  if (!place.ok()) return place.status();
  const std::string condemned = fmt::format("{:016x}", random_u64());
  const std::string moved = condemned + std::string(kMoved);
  const std::string trash_path = join_path(store.path(), kTrashFolder);
  if (::renameat(place->project.get(), place->name.c_str(), trash->folder.get(), moved.c_str()) != 0)
    return Status::from_errno(errno, "cannot move into the trash", run.path);
  std::vector<std::unique_ptr<DeadJournal>> journals;
  Status status =
      refuse_live(store, run.identity.uid, join_path(trash_path, moved), label_of_run(run.identity), now_us);
  if (status.ok()) status = claim_journals(store, run.identity, &journals);
  if (status.ok() && ::renameat(trash->folder.get(), moved.c_str(), trash->folder.get(), condemned.c_str()) != 0)
    status = Status::from_errno(errno, "cannot rename", join_path(trash_path, moved));
  if (!status.ok()) {
    if (::renameat2(trash->folder.get(), moved.c_str(), place->project.get(), place->name.c_str(), 1) == 0)
      return status;
    return Status(status.code(), status.message(), "its folder is now " + join_path(trash_path, moved));
  }
  // Removed. Sync this before removing a journal, from which the run could still be recovered.
  (void)::fsync(place->project.get());
  (void)::fsync(trash->folder.get());
  // The last run of its project: remove the project's folder too. A process that is creating a run there creates it
  // again.
  (void)::unlinkat(place->runs.get(), place->project_name.c_str(), AT_REMOVEDIR);
  for (const auto& journal : journals) journal->remove();
  trash->lock.reset();  // a decided removal is never undone, so deleting needs no lock
  auto removed = remove_tree(trash->folder.get(), condemned, join_path(trash_path, condemned));
  if (removed.ok()) return removed;
  return Status(removed.status().code(), removed.status().message(), "the run is gone; `tracker gc` removes the rest");
}

Result<RemovalState> resolve_removal(const Store& store, const Id128& uid) {
  const std::string path = join_path(store.path(), kTrashFolder);
  const auto find = [&]() -> std::optional<RunFolder> {
    for (const std::string& name : list_dir(path).value_or({})) {
      auto run = read_run_folder(join_path(path, name));
      if (run.ok() && run->identity.uid == uid) return std::move(*run);
    }
    return std::nullopt;
  };
  if (!find()) return RemovalState::kNone;
  auto store_fd = open_store_folder(store);
  if (!store_fd.ok()) return store_fd.status();
  auto trash = open_trash(store, store_fd->get());
  if (!trash.ok()) return trash.status();
  const auto run = find();  // now that no other process can move it
  if (!run) return RemovalState::kNone;
  const std::string name = run->path.substr(path.size() + 1);
  if (!name.ends_with(kMoved)) return RemovalState::kDecided;
  if (restore(store, store_fd->get(), *trash, name, run->identity)) return RemovalState::kUndone;
  return Status(Code::kIo, fmt::format("{} cannot be restored", run->path), "its journal waits");
}

Removed empty_trash(const Store& store, bool dry_run, int64_t now_us, std::vector<std::string>* problems) {
  Removed out;
  const std::string path = join_path(store.path(), kTrashFolder);
  if (!path_exists(path)) return out;
  const auto give_up = [&](const Status& status) {
    problems->push_back(status.to_string());
    return out;
  };
  auto store_fd = open_store_folder(store);
  if (!store_fd.ok()) return give_up(store_fd.status());
  auto trash = open_trash(store, store_fd->get());
  if (!trash.ok()) return give_up(trash.status());
  auto names = names_in(trash->folder.get(), path);
  if (!names.ok()) return give_up(names.status());
  // With the lock, no other process is between its rename and its second check: the process that left such a run is
  // dead.
  for (std::string& name : *names) {
    if (!name.ends_with(kMoved) || dry_run) continue;
    const std::string at = join_path(path, name);
    const auto run = read_run_folder(at);
    const Code code = run.status().code();
    Status status = run.ok() ? refuse_live(store, run->identity.uid, at, label_of_run(run->identity), now_us)
                    : code == Code::kVersion || code == Code::kIo ? run.status()
                                                                  : refuse_live(store, Id128(), at, at, now_us);
    if (status.ok() && run.ok() && !journal_dirs_of(store, run->identity.uid).empty())
      status = Status(Code::kBusy, fmt::format("{}: a removal died before it took its journals; remove it again",
                                               label_of_run(run->identity)));
    const std::string condemned = name.substr(0, name.size() - kMoved.size());
    if (!status.ok()) {
      const bool back = run.ok() && restore(store, store_fd->get(), *trash, name, run->identity);
      problems->push_back(fmt::format("{}; its folder {}", status.message(), back ? "was restored" : "stays at " + at));
      name = kTrashLockFile;
    } else if (::renameat(trash->folder.get(), name.c_str(), trash->folder.get(), condemned.c_str()) == 0) {
      name = condemned;
    }
  }
  trash->lock.reset();
  for (const std::string& name : *names) {
    if (name == kTrashLockFile) continue;
    if (!dry_run)
      if (const auto run = read_run_folder(join_path(path, name)); run.ok()) remove_journals(store, run->identity);
    auto removed = remove_tree(trash->folder.get(), name, join_path(path, name), dry_run);
    if (!removed.ok()) problems->push_back(removed.status().to_string());
    else out = {out.files + removed->files, out.bytes + removed->bytes};
  }
  return out;
}

}  // namespace tracker::internal
