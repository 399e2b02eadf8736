// SPDX-License-Identifier: MIT
#include "storage/writer/store_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fs.h"
#include "base/ids.h"
#include "storage/database/writer_db.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/database_build.h"
#include "storage/frames/frames_file.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {
namespace {

// Tests what live SQLite needs of a file system and statfs does not show: a shared mapping and a POSIX lock. If the
// probe cannot create its file, that shows nothing about them: the disk is full or read-only, which may pass.
std::string missing_for_sqlite(const std::string& folder) {
  constexpr size_t kProbeBytes = 4096;
  const std::string path = join_path(folder, fmt::format("probe.tmp-{:016x}", random_u64()));
  auto fd = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (!fd.ok()) return "";
  std::string missing;
  if (write_all(fd->get(), std::string(kProbeBytes, '\0')).ok()) {
    void* at = ::mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
    if (at == MAP_FAILED) missing = "has no shared mappings";
    else ::munmap(at, kProbeBytes);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_len = 1;
    if (::fcntl(fd->get(), F_SETLK, &lock) != 0) missing = "has no file locks";
  }
  remove_file(path);
  return missing;
}

template <typename T>
Result<std::unique_ptr<WriterStore>> as_store(Result<std::unique_ptr<T>> store) {
  if (!store.ok()) return store.status();
  return std::unique_ptr<WriterStore>(std::move(*store));
}

// A file of a builder that died between its rename and its unlink: the database has everything that the frames file
// has.
bool is_left_over(const std::string& frames, const std::string& db) {
  return path_exists(db) && is_whole_database(db) && covers(db, frames);
}

}  // namespace

const char* store_files_name(StoreFiles kind) { return kind == StoreFiles::kFrames ? "frames" : "sqlite"; }

std::string store_files_option() {
  const char* value = std::getenv("TRACKER_STORE_FILES");
  return value != nullptr && *value != 0 ? value : "auto";
}

StoreFilesChoice choose_store_files(const std::string& folder, std::string_view option, bool probe) {
  StoreFilesChoice out;
  const FsType type = fs_type(folder);
  out.file_system = type.name;
  out.write_is_in_kernel = type.kind != FsKind::kFuse && type.kind != FsKind::kUnknown;
  if (option == "sqlite") return out;
  if (option == "frames") {
    out.why = "TRACKER_STORE_FILES=frames";
  } else if (type.kind == FsKind::kNetwork || type.kind == FsKind::kFuse) {
    out.why = fmt::format("{} lies on a {} file system", folder, type.name);
  } else if (type.kind == FsKind::kUnknown) {
    out.why = fmt::format("the file system of {} is unknown", folder);
  } else if (const std::string missing = probe ? missing_for_sqlite(folder) : ""; !missing.empty()) {
    out.why = fmt::format("the file system of {} {}", folder, missing);
  }
  if (!out.why.empty()) out.kind = StoreFiles::kFrames;
  return out;
}

Result<std::unique_ptr<WriterStore>> open_writer_store(const std::string& run_path, const WriterIdentity& identity,
                                                       StoreFiles kind) {
  const std::string db = part_path(join_path(run_path, identity.writer.hex() + ".db"), static_cast<int>(identity.part));
  const std::string frames = frames_path_of(db);
  if (path_exists(frames)) {
    if (!is_left_over(frames, db)) return as_store(FramesFile::open_or_create(run_path, identity));
    remove_file(frames);
  }
  if (path_exists(db) || kind == StoreFiles::kSqlite) return as_store(WriterDb::open_or_create(run_path, identity));
  return as_store(FramesFile::open_or_create(run_path, identity));
}

}  // namespace tracker::internal
