// SPDX-License-Identifier: MIT
// Opening the catalog: in the store under a shared lock, else in memory. catalog_refresh.cc updates it.
#include "storage/catalog/catalog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace tracker::internal {
namespace {

constexpr int kCatalogLockTries = 20;
constexpr std::chrono::milliseconds kCatalogLockPause{10};

// A lock of the open file and not of the process, so that other descriptors of this process cannot drop it. kBusy after
// 200 ms.
Status set_lock(const Fd& fd, short type, const std::string& path) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  for (int i = 0; i < kCatalogLockTries; ++i) {
    if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return {};
    if (errno != EAGAIN && errno != EACCES) return Status::from_errno(errno, "cannot lock", path);
    std::this_thread::sleep_for(kCatalogLockPause);
  }
  return Status(Code::kBusy, fmt::format("{} is locked", path));
}

Result<Fd> locked(const Store& store, short type) {
  const std::string path = join_path(store.path(), kCatalogLockFile);
  auto fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (!fd.ok()) return fd;
  TRACKER_RETURN_IF_ERROR(set_lock(*fd, type, path));
  return fd;
}

bool can_write(const std::string& folder, const std::string& file) {
  return ::access(folder.c_str(), W_OK) == 0 && (!path_exists(file) || ::access(file.c_str(), W_OK) == 0);
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

Status set_store(Sqlite& db, const Store& store) {
  auto insert = db.prepare("INSERT OR IGNORE INTO meta VALUES('store', ?)");
  if (!insert.ok()) return insert.status();
  const std::string id = store.id().hex();
  return insert->bind(id).run();
}

// kCorrupt if `schema` of the connection is not a catalog of this version and this store.
Status check_tables(Sqlite& db, const std::string& schema, const Store& store, const std::string& path) {
  auto application = db.query_int(fmt::format("PRAGMA {}.application_id", schema).c_str());
  if (!application.ok()) return application.status();
  auto version = db.query_int(fmt::format("PRAGMA {}.user_version", schema).c_str());
  if (!version.ok()) return version.status();
  if (*application != kCatalogApplicationId || *version != kCatalogVersion)
    return Status(Code::kCorrupt, fmt::format("{}: a catalog of version {}, or none", path, *version));
  TRACKER_RETURN_IF_ERROR(check_catalog_schema(db, schema, path));
  auto id = db.query_text(fmt::format("SELECT value FROM {}.meta WHERE key='store'", schema).c_str());
  if (!id.ok() && id.status().code() == Code::kBusy) return id.status();
  if (!id.ok() || *id != store.id().hex())
    return Status(Code::kCorrupt, fmt::format("{}: the catalog of another store", path));
  return {};
}

// An empty file has no pages: all its numbers are 0.
Result<bool> is_new(Sqlite& db) {
  auto tables = db.query_int("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  return *tables == 0;
}

// With SQLite's usual locks; without locks where SQLite cannot place a WAL's index and there is no WAL.
Status attach(Sqlite& db, const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else uri += c;
  }
  const auto try_with = [&](const char* parameter) {
    Status status = db.exec(("ATTACH " + quoted(uri + parameter) + " AS old").c_str());
    if (status.ok()) status = db.query_int("SELECT count(*) FROM old.sqlite_master").status();
    if (!status.ok()) (void)db.exec("DETACH old");
    return status;
  };
  const Status status = try_with("?mode=ro");
  struct stat wal{};
  const bool has_wal = ::stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size > 0;
  return status.ok() || has_wal ? status : try_with("?immutable=1");
}

Status copy_rows(Sqlite& db) {
  TRACKER_RETURN_IF_ERROR(db.exec("BEGIN"));
  for (const char* table : {"signs", "runs", "documents"})
    TRACKER_RETURN_IF_ERROR(db.exec(fmt::format("INSERT INTO main.{0} SELECT * FROM old.{0}", table).c_str()));
  return db.exec("COMMIT");
}

}  // namespace

Result<Catalog> Catalog::open(const Store& store, Place place) {
  Catalog out(store);
  out.judge_ = catalog_judge();
  Status status(Code::kUnsupported, "memory was asked for");
  if (place == Place::kStore) status = out.open_in_store();
  if (status.code() == Code::kCorrupt && discard(store).ok()) status = out.open_in_store();
  if (!status.ok()) TRACKER_RETURN_IF_ERROR(out.open_in_memory(place != Place::kEmptyMemory));
  out.writer_ = std::make_unique<CatalogWriter>();
  TRACKER_RETURN_IF_ERROR(out.writer_->prepare(out.db_));
  return out;
}

// After a failure there is neither a lock nor a connection.
Status Catalog::open_in_store() {
  const std::string path = join_path(store_.path(), kCatalogFile);
  if (!can_write(store_.path(), path)) return Status(Code::kIo, fmt::format("{} cannot be written", path));
  auto lock = locked(store_, F_RDLCK);
  if (!lock.ok()) return lock.status();
  // SQLite would block on a pipe until a process opens its other end.
  if (const FileKind kind = file_kind(path); kind == FileKind::kLink || kind == FileKind::kOther)
    return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  // SQLite would create the file with the umask's mode, and its -wal and -shm with the same. So create it here, under a
  // temporary name: closing a file that SQLite has open would drop SQLite's locks.
  if (is_shared_folder(store_.path()) && !path_exists(path)) (void)create_file_exclusive(path, "", 0666, false);
  auto db = Sqlite::open(path, SqliteOpen::kCreate, static_cast<int>(kCatalogBusy.count()));
  if (!db.ok()) return db.status();
  auto fresh = is_new(*db);
  if (!fresh.ok()) return fresh.status();
  if (*fresh) {
    // A WAL's index is shared memory, which network file systems do not have. Another process that creates the file now
    // sets the same mode, so "busy" is not a failure.
    const FsKind kind = fs_kind(store_.path());
    const bool local = kind == FsKind::kLocal || kind == FsKind::kTmpfs;
    const Status mode = db->exec(local ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=TRUNCATE");
    if (!mode.ok() && mode.code() != Code::kBusy) return mode;
    TRACKER_RETURN_IF_ERROR(create_catalog_tables(*db));
    TRACKER_RETURN_IF_ERROR(set_store(*db, store_));
  }
  TRACKER_RETURN_IF_ERROR(check_tables(*db, "main", store_, path));
  TRACKER_RETURN_IF_ERROR(db->exec("PRAGMA synchronous=NORMAL"));
  lock_ = std::move(*lock);
  db_ = std::move(*db);
  in_memory_ = false;
  return {};
}

Status Catalog::open_in_memory(bool with_file) {
  const std::string path = join_path(store_.path(), kCatalogFile);
  in_memory_ = true;
  for (;; with_file = false) {
    auto db = Sqlite::open(path + " in memory", SqliteOpen::kMemory, static_cast<int>(kCatalogBusy.count()));
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(create_catalog_tables(*db));
    Status status;
    if (with_file && is_regular_file(path)) {
      status = attach(*db, path);
      if (status.ok()) status = check_tables(*db, "old", store_, path);
      if (status.ok()) status = copy_rows(*db);
      if (status.ok()) status = db->exec("DETACH old");
    }
    if (!status.ok()) continue;  // damaged, or held by another process: a catalog in memory is made here
    db_ = std::move(*db);
    return {};
  }
}

Status Catalog::discard(const Store& store) {
  const auto lock = locked(store, F_WRLCK);
  if (!lock.ok()) return lock.status();
  const std::string path = join_path(store.path(), kCatalogFile);
  // With the lock, no other process has the file open, so none can open a new database with an old WAL.
  for (const char* suffix : {"-journal", "-wal", "-shm", ""}) remove_file(path + suffix);
  return path_exists(path) ? Status(Code::kIo, fmt::format("{} cannot be removed", path)) : Status();
}

}  // namespace tracker::internal
