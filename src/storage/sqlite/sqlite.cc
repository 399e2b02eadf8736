// SPDX-License-Identifier: MIT
#include "storage/sqlite/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/fs.h"
#include "storage/sqlite/sqlite_calls.h"

namespace tracker::internal {
namespace {

Status make_error(sqlite3* db, int code, const std::string& path) {
  const int primary = code & 0xff;
  // The status of a call of ours may not be the last error of the connection.
  const bool is_said = db != nullptr && sqlite3_errcode(db) != SQLITE_OK;
  const char* text = is_said ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  std::string message = fmt::format("{}: SQLite: {} ({})", path, text, code);
  const int error = db != nullptr && code != SQLITE_IOERR_SHORT_READ ? sqlite3_system_errno(db) : 0;
  if (error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN))
    message += fmt::format(", {}", Status::from_errno(error, "errno").message());
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return Status(Code::kBusy, std::move(message));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return Status(Code::kCorrupt, std::move(message));
    case SQLITE_INTERRUPT:
      return Status(Code::kLimit, fmt::format("{}: a step of a query took too long; it is given up", path));
    case SQLITE_TOOBIG: return Status(Code::kLimit, std::move(message));
    default: return Status(Code::kIo, std::move(message));
  }
}

// As a URI path: only these three characters have a special meaning there.
std::string uri_path(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') out += fmt::format("%{:02x}", static_cast<uint8_t>(c));
    else out += c;
  }
  return out;
}

constexpr int kInstructionsBetweenLooks = 1 << 18;  // about a millisecond
std::atomic<uint64_t> g_step_instructions_max{kStepInstructionsMax};

int is_step_too_long(void* instructions) {
  return (*static_cast<uint64_t*>(instructions) += kInstructionsBetweenLooks) > g_step_instructions_max.load() ? 1 : 0;
}

int remember_wal_pages(void* to, sqlite3*, const char*, int pages) {
  *static_cast<int*>(to) = pages;
  return SQLITE_OK;
}

}  // namespace

struct SqliteConnection {
  sqlite3* db = nullptr;
  std::string path;  // for messages
  SqliteFiles files;
  int wal_pages = 0;
  uint64_t instructions = 0;  // that this step has taken
  SqliteConnection* next_leaked = nullptr;

  // Called before each call of SQLite. Within a transaction the check was made at its start.
  Status check(bool is_in_transaction) {
    const bool is_ours = is_in_transaction ? !files.are_lost() : files.are_ours();
    return is_ours ? Status() : closed_by_others(path);
  }
  Status check() { return check(sqlite3_get_autocommit(db) == 0); }
  Status error(int code) const { return make_error(db, code, path); }
};

// Lost connections, all of this process: leaked on purpose, and reachable, so that no leak is reported.
static std::atomic<SqliteConnection*> g_leaked{nullptr};

Status check_log_files(const std::string& path) {
  for (const char* suffix : {"-wal", "-shm"}) {
    const std::string file = path + suffix;
    // One system call: a writer that ends removes the file.
    if (const FileKind kind = file_kind(file); kind == FileKind::kLink || kind == FileKind::kOther)
      return Status(Code::kCorrupt, file + " is no regular file; put the file itself in the place of a link to it");
  }
  return {};
}

void set_step_instructions_for_testing(uint64_t most) {
  g_step_instructions_max = most == 0 ? kStepInstructionsMax : most;
}

const char* sqlite_version() { return sqlite3_libversion(); }

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  std::swap(connection_, other.connection_);
  std::swap(next_, other.next_);
  std::swap(bind_error_, other.bind_error_);
  return *this;
}

Statement::~Statement() {
  if (statement_ == nullptr || connection_->files.are_lost()) return;
  const SqliteCall inside(&connection_->files);
  sqlite3_finalize(statement_);
}

Statement& Statement::bind(int64_t value) {
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_bind_int64(statement_, next_++, value);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_bind_text64(statement_, next_++, text.data() != nullptr ? text.data() : "", text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_bind_blob64(statement_, next_++, bytes.data() != nullptr ? bytes.data() : "", bytes.size(),
                                       SQLITE_STATIC);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::bind_null() {
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_bind_null(statement_, next_++);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Result<bool> Statement::step() {
  TRACKER_RETURN_IF_ERROR(sqlite3_stmt_busy(statement_) != 0 ? connection_->check(true) : connection_->check());
  int code = bind_error_;
  if (code == SQLITE_OK) {
    const SqliteCall inside(&connection_->files);
    connection_->instructions = 0;
    code = sqlite3_step(statement_);
  }
  if (code == SQLITE_ROW) return true;
  Status status;
  if (code != SQLITE_DONE) status = connection_->error(code);
  reset();
  if (!status.ok()) return status;
  return false;
}

Status Statement::run() {
  for (;;) {
    auto row = step();
    if (!row.ok()) return row.status();
    if (!*row) return {};
  }
}

void Statement::reset() {
  if (statement_ == nullptr || connection_->files.are_lost()) return;
  const SqliteCall inside(&connection_->files);
  sqlite3_reset(statement_);
  next_ = 1;
  bind_error_ = 0;
}

int64_t Statement::int_at(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Statement::bytes_at(int column) const {
  const SqliteCall inside(&connection_->files);
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data != nullptr ? std::string_view(data, static_cast<size_t>(size)) : std::string_view();
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

char Statement::kind_at(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER: return 'i';
    case SQLITE_FLOAT: return 'f';
    case SQLITE_TEXT: return 't';
    case SQLITE_BLOB: return 'b';
    default: return 'n';
  }
}

Blob& Blob::operator=(Blob&& other) noexcept {
  std::swap(blob_, other.blob_);
  std::swap(connection_, other.connection_);
  std::swap(size_, other.size_);
  return *this;
}

Blob::~Blob() {
  if (blob_ == nullptr || connection_->files.are_lost()) return;
  const SqliteCall inside(&connection_->files);
  sqlite3_blob_close(blob_);
}

Status Blob::read(uint64_t offset, uint64_t size, char* out) const {
  TRACKER_RETURN_IF_ERROR(connection_->check(true));
  if (offset > size_ || size > size_ - offset)
    return Status(Code::kCorrupt, fmt::format("{}: a blob too short", connection_->path));
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_blob_read(blob_, out, static_cast<int>(size), static_cast<int>(offset));
  return code == SQLITE_OK ? Status() : connection_->error(code);
}

Sqlite& Sqlite::operator=(Sqlite&& other) noexcept {
  std::swap(connection_, other.connection_);
  return *this;
}

void Sqlite::close() {
  SqliteConnection* const connection = std::exchange(connection_, nullptr);
  if (connection == nullptr) return;
  if (!connection->files.are_ours()) {
    connection->next_leaked = g_leaked.load();
    while (!g_leaked.compare_exchange_weak(connection->next_leaked, connection)) {}
    return;
  }
  const SqliteCall inside(&connection->files);
  sqlite3_close_v2(connection->db);
  delete connection;
}

Result<Sqlite> Sqlite::open(const std::string& path, SqliteOpen mode, int busy_timeout_ms) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI;
  const bool memory = mode == SqliteOpen::kMemory;
  const bool detached = mode == SqliteOpen::kDetached || mode == SqliteOpen::kDetachedRead;
  const bool write =
      mode == SqliteOpen::kWrite || mode == SqliteOpen::kCreate || mode == SqliteOpen::kDetached || memory;
  // SQLite follows a link at the database's name, though not at those of its -wal, -shm and -journal. (Its own flag
  // against links refuses links above the store, too.)
  if (write && !memory && is_link(path)) return Status(Code::kCorrupt, path + " is a symbolic link; it is not written");
  // Opening a pipe would block for ever.
  if (!memory && is_no_file(path)) return Status(Code::kCorrupt, path + " is no regular file");
  if (!memory && !detached && mode != SqliteOpen::kReadImmutable) TRACKER_RETURN_IF_ERROR(check_log_files(path));
  flags |= write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (mode == SqliteOpen::kCreate || mode == SqliteOpen::kDetached) flags |= SQLITE_OPEN_CREATE;
  if (memory) flags |= SQLITE_OPEN_MEMORY;
  const std::string uri =
      memory ? ":memory:" : "file://" + uri_path(path) + (mode == SqliteOpen::kReadImmutable ? "?immutable=1" : "");
  Sqlite out;
  SqliteConnection* const connection = out.connection_ = new SqliteConnection;
  connection->path = path;
  const char* vfs = detached || mode == SqliteOpen::kReadPrivateWal ? "unix-none" : nullptr;
  replace_sqlite_calls();
  int code;
  {
    const SqliteCall inside(&connection->files);
    connection->files.begin_open();
    code = sqlite3_open_v2(uri.c_str(), &connection->db, flags, vfs);
    if (code == SQLITE_OK) connection->files.end_open(sqlite3_db_filename(connection->db, "main"));
  }
  if (code != SQLITE_OK) return connection->error(code);
  sqlite3* const db = connection->db;
  sqlite3_extended_result_codes(db, 1);
  out.set_busy_timeout(busy_timeout_ms);
  // Closing never checkpoints and never deletes a WAL: the writer does that at its own time, and readers change
  // nothing.
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The file may come from anywhere: no functions or views of its schema are trusted.
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
#endif
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  if (!write) sqlite3_progress_handler(db, kInstructionsBetweenLooks, is_step_too_long, &connection->instructions);
  if (write) sqlite3_wal_hook(db, remember_wal_pages, &connection->wal_pages);  // in place of automatic checkpoints
  if (mode == SqliteOpen::kReadPrivateWal) TRACKER_RETURN_IF_ERROR(out.exec("PRAGMA locking_mode=EXCLUSIVE"));
  return out;
}

bool Sqlite::is_lost() { return !connection_->files.are_ours(); }

std::optional<DatabaseSize> size_in_header(std::string_view header, uint64_t there) {
  constexpr size_t kPageSizeAt = 16, kPagesAt = 28;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (!header.starts_with(kMagic.substr(0, header.size()))) return std::nullopt;
  if (header.size() < kDatabaseHeaderBytes) return DatabaseSize{kDatabaseHeaderBytes, there};
  const auto byte = [header](size_t at) { return uint64_t{static_cast<uint8_t>(header[at])}; };
  uint64_t page = byte(kPageSizeAt) << 8 | byte(kPageSizeAt + 1);
  if (page == 1) page = 65'536;
  uint64_t pages = 0;
  for (size_t i = 0; i < 4; ++i) pages = pages << 8 | byte(kPagesAt + i);
  if (pages == 0) return std::nullopt;
  return DatabaseSize{page * pages, there};
}

std::optional<DatabaseSize> database_size(const std::string& path) {
  auto fd = open_file(path, O_RDONLY | O_NONBLOCK);  // opening a pipe would block
  struct stat st{};
  char header[kDatabaseHeaderBytes];
  if (!fd.ok() || ::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  const ssize_t got = ::pread(fd->get(), header, sizeof header, 0);
  if (got < 0) return std::nullopt;
  return size_in_header({header, static_cast<size_t>(got)}, static_cast<uint64_t>(st.st_size));
}

std::optional<DatabaseSize> Sqlite::size() const {
  if (!connection_->check().ok()) return std::nullopt;
  const SqliteCall inside(&connection_->files);
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(connection_->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr)
    return std::nullopt;
  char header[kDatabaseHeaderBytes];
  sqlite3_int64 bytes = 0;
  if (file->pMethods->xFileSize(file, &bytes) != SQLITE_OK) return std::nullopt;
  const auto there = static_cast<size_t>(std::clamp<sqlite3_int64>(bytes, 0, sizeof header));
  if (there > 0 && file->pMethods->xRead(file, header, static_cast<int>(there), 0) != SQLITE_OK) return std::nullopt;
  return size_in_header({header, there}, static_cast<uint64_t>(bytes));
}

std::string cut_text(const DatabaseSize& size) {
  if (size.said > kDatabaseHeaderBytes) return fmt::format("is cut: {} of {} bytes are there", size.there, size.said);
  return fmt::format("is cut: {} bytes are there, fewer than the header of a database has", size.there);
}

// SQLite's switch for repairing a schema by hand. Nothing is written: the connection is read-only, and each object of
// the schema is checked before a table is read.
Status Sqlite::read_cut_file() {
  sqlite3_db_config(connection_->db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  return exec("PRAGMA writable_schema=ON");
}

Status Sqlite::exec(const char* sql) {
  TRACKER_RETURN_IF_ERROR(connection_->check());
  const SqliteCall inside(&connection_->files);
  connection_->instructions = 0;
  const int code = sqlite3_exec(connection_->db, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : connection_->error(code);
}

Result<Statement> Sqlite::prepare(std::string_view sql) {
  TRACKER_RETURN_IF_ERROR(connection_->check());
  Statement out;
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_prepare_v3(connection_->db, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &out.statement_, nullptr);
  if (code != SQLITE_OK) return connection_->error(code);
  out.connection_ = connection_;
  return out;
}

Result<Blob> Sqlite::open_blob(const char* table, const char* column, int64_t rowid) {
  TRACKER_RETURN_IF_ERROR(connection_->check());
  Blob out;
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_blob_open(connection_->db, "main", table, column, rowid, 0, &out.blob_);
  if (code == SQLITE_ERROR) return Status(Code::kCorrupt, connection_->error(code).message());
  if (code != SQLITE_OK) return connection_->error(code);
  out.connection_ = connection_;
  out.size_ = static_cast<uint64_t>(sqlite3_blob_bytes(out.blob_));
  return out;
}

Result<int64_t> Sqlite::query_int(const char* sql) {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  auto row = statement->step();
  if (!row.ok()) return row.status();
  if (!*row) return Status(Code::kNotFound, fmt::format("{}: no row for {}", connection_->path, sql));
  return statement->int_at(0);
}

Result<std::string> Sqlite::query_text(const char* sql) {
  auto statement = prepare(sql);
  if (!statement.ok()) return statement.status();
  auto row = statement->step();
  if (!row.ok()) return row.status();
  if (!*row) return Status(Code::kNotFound, fmt::format("{}: no row for {}", connection_->path, sql));
  return std::string(statement->bytes_at(0));
}

Result<std::string> Sqlite::set_journal_mode(const char* mode) {
  auto now = query_text(fmt::format("PRAGMA journal_mode={}", mode).c_str());
  connection_->files.log_may_be_closed();
  return now;
}

bool Sqlite::has_refused_read() const {
  const SqliteCall inside(&connection_->files);
  for (const int which : {SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}) {  // the latter gives the WAL
    sqlite3_file* file = nullptr;
    int error = 0;
    if (sqlite3_file_control(connection_->db, "main", which, &file) == SQLITE_OK && file != nullptr &&
        file->pMethods != nullptr && file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
        error != 0)
      return true;
  }
  return false;
}

void Sqlite::set_busy_timeout(int timeout_ms) { sqlite3_busy_timeout(connection_->db, timeout_ms); }

bool Sqlite::in_transaction() const {
  return !connection_->files.are_lost() && sqlite3_get_autocommit(connection_->db) == 0;
}

int Sqlite::wal_pages() const { return connection_->wal_pages; }

Status Sqlite::checkpoint(Checkpoint kind, int* wal_pages) {
  TRACKER_RETURN_IF_ERROR(connection_->check());
  int in_wal = 0;
  int done = 0;
  const int mode = kind == Checkpoint::kTruncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const SqliteCall inside(&connection_->files);
  const int code = sqlite3_wal_checkpoint_v2(connection_->db, nullptr, mode, &in_wal, &done);
  if (wal_pages != nullptr) *wal_pages = in_wal;
  if (code == SQLITE_BUSY && kind == Checkpoint::kPassive) return {};
  return code == SQLITE_OK ? Status() : connection_->error(code);
}

uint64_t Sqlite::bytes() {
  const auto pages = query_int("PRAGMA page_count"), size = query_int("PRAGMA page_size");
  return pages.ok() && size.ok() ? static_cast<uint64_t>(*pages * *size) : 0;
}

Status Sqlite::allocate() {
  auto bytes = static_cast<sqlite3_int64>(this->bytes());
  int chunk = 4096;  // SQLite reserves space only for connections that set a chunk size
  TRACKER_RETURN_IF_ERROR(connection_->check());
  const SqliteCall inside(&connection_->files);
  sqlite3_file_control(connection_->db, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
  const int code = sqlite3_file_control(connection_->db, "main", SQLITE_FCNTL_SIZE_HINT, &bytes);
  return code == SQLITE_OK ? Status() : connection_->error(code);
}

bool Sqlite::sync_failed() const { return sqlite3_extended_errcode(connection_->db) == SQLITE_IOERR_FSYNC; }

}  // namespace tracker::internal
