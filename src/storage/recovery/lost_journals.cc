// SPDX-License-Identifier: MIT
#include "storage/recovery/lost_journals.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "journal/dead_journal.h"
#include "journal/liveness.h"
#include "journal/place.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/waiting_points.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

// Whether there is none at its path, or another one. What cannot be read may be the one.
bool is_store_gone(const WriterIdentity& writer, const std::string& dir) {
  if (writer.store_path.empty()) return false;
  const auto id = read_store_document(join_path(writer.store_path, kStoreFile));
  if (!id.ok()) return id.status().code() == Code::kNotFound && !awaits_store(writer);
  if (writer.store.is_zero() || *id == writer.store) return false;
  const auto store = Store::open(writer.store_path);
  return store.ok() && !is_of(writer, dir, *store);  // else it went on there
}

bool is_lost(const WriterIdentity& writer, const std::string& dir, const std::string& store_path) {
  if (!is_store_gone(writer, dir)) return false;
  const auto store = Store::open(store_path);  // the same one, moved
  return !store.ok() || !is_of(writer, dir, *store);
}

uint64_t bytes_in(const std::string& dir) {
  uint64_t out = 0;
  for (const std::string& name : list_dir(dir).value_or({})) {
    struct stat st{};
    if (::lstat(join_path(dir, name).c_str(), &st) == 0 && S_ISREG(st.st_mode))
      out += static_cast<uint64_t>(st.st_size);
  }
  return out;
}

// Those of dead processes that await this store.
uint64_t journals_awaiting(const std::string& store_path) {
  uint64_t out = 0;
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root) || !check_private_dir(root).ok()) continue;
    for (const std::string& dir : journal_dirs(root)) {
      const auto writer = read_writer_identity(dir);
      if (writer.ok() && writer->store_path == store_path && awaits_store(*writer) &&
          probe_journal(*writer, dir) == Liveness::kDead)
        ++out;
    }
  }
  return out;
}

}  // namespace

bool awaits_store(const WriterIdentity& writer) {
  if (!writer.store.is_zero() || writer.store_path.empty() || !is_directory(parent_path(writer.store_path)))
    return false;
  return read_store_document(join_path(writer.store_path, kStoreFile)).status().code() == Code::kNotFound;
}

Result<Store> open_awaited_store(const std::string& path) {
  auto store = Store::open(path);
  if (store.ok() || store.status().code() != Code::kNotFound) return store;
  const uint64_t waiting = journals_awaiting(Store::resolve(path));
  if (waiting == 0) return store;
  auto made = Store::open_or_create(path);
  if (made.ok()) return made;
  return Status(Code::kNotFound,
                fmt::format("{}, and {} of dead processes {} for it: {}", store.status().message(),
                            waiting == 1 ? "a journal" : fmt::format("{} journals", waiting),
                            waiting == 1 ? "waits" : "wait", made.status().message()),
                "nothing of them is lost: the next command or run stores it when the store can be made");
}

std::vector<LostJournal> lost_journals(const std::string& store_path) {
  std::vector<LostJournal> out;
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root) || !check_private_dir(root).ok()) continue;
    for (const std::string& dir : journal_dirs(root)) {
      auto writer = read_writer_identity(dir);
      if (writer.ok() && is_lost(*writer, dir, store_path) && probe_journal(*writer, dir) == Liveness::kDead)
        out.push_back({dir, std::move(*writer), bytes_in(dir)});
    }
  }
  return out;
}

uint64_t points_in_journal(const std::string& dir) {
  auto journal = DeadJournal::look(dir);
  return journal.ok() ? logged_behind(WriterSnapshot(), journal->get()).points : 0;
}

Status drop_lost_journal(const std::string& store_path, const std::string& dir) {
  auto journal = DeadJournal::open(dir);
  if (!journal.ok()) return journal.status();
  if (!is_lost((*journal)->identity(), dir, store_path))
    return Status(Code::kInvalid, fmt::format("{}: its store is there again", dir), "`tracker ls --dir` recovers it");
  (*journal)->remove();
  return path_exists(dir) ? Status(Code::kIo, fmt::format("{} cannot be removed: something else is in it", dir))
                          : Status();
}

}  // namespace tracker::internal
