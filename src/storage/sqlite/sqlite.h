// SPDX-License-Identifier: MIT
// SQLite with owned handles and Status instead of codes; sqlite3.h stays in sqlite.cc. Connections are opened without
// SQLite's own mutexes: threads use one at a time. Cost: every call may block on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

struct sqlite3_blob;
struct sqlite3_stmt;

namespace tracker::internal {

struct SqliteConnection;

// The most that one step of a reader's statement may take, in instructions of SQLite's virtual machine: seconds. A
// count over our longest log takes a tenth of it.
// Limit: instructions of SQLite for one row of a reader. Beyond it: an error that names the file.
constexpr uint64_t kStepInstructionsMax = uint64_t{1} << 30;

// A prepared statement, finalized with its owner. Bound texts and blobs must live until the statement was stepped:
// nothing is copied. The first failure of a bind is reported by the next step().
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept { *this = std::move(other); }
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(int64_t value);  // parameters are bound in order, 1, 2, ...
  Statement& bind(std::string_view text);
  Statement& bind_blob(std::string_view bytes);
  Statement& bind_null();
  // Returns true if there is a row. kLimit: a reader's step took more than kStepInstructionsMax. After false or a
  // failure the statement is reset and may be bound again.
  Result<bool> step();
  // step() of a statement without rows.
  Status run();
  void reset();  // ends its read transaction

  // Columns of the row that step() found. Views are valid until the next step() or reset().
  int64_t int_at(int column) const;
  uint64_t u64_at(int column) const { return static_cast<uint64_t>(int_at(column)); }
  std::string_view bytes_at(int column) const;
  bool is_null(int column) const;
  char kind_at(int column) const;  // 'i' integer, 'f' float, 't' text, 'b' blob, 'n' null

 private:
  friend class Sqlite;
  sqlite3_stmt* statement_ = nullptr;
  SqliteConnection* connection_ = nullptr;
  int next_ = 1;
  int bind_error_ = 0;
};

// A blob of one row, open for reading parts of it. It keeps a read transaction open.
class Blob {
 public:
  Blob() = default;
  Blob(Blob&& other) noexcept { *this = std::move(other); }
  Blob& operator=(Blob&& other) noexcept;
  ~Blob();

  uint64_t size() const { return size_; }
  // Bytes [offset, offset + size) of the blob, which must be within it.
  Status read(uint64_t offset, uint64_t size, char* out) const;

 private:
  friend class Sqlite;
  sqlite3_blob* blob_ = nullptr;
  SqliteConnection* connection_ = nullptr;
  uint64_t size_ = 0;
};

enum class SqliteOpen {
  kWrite,   // the file exists
  kCreate,  // or is made
  kRead,
  kReadImmutable,   // no locks, no WAL: for a file that no process changes
  kReadPrivateWal,  // no locks, the WAL's index in memory: for a database with a WAL on media that cannot be written
  kMemory,          // a new database that lives in this connection; the path is for messages
  kDetached,        // to write, without locks: for a file that no other process knows yet
  kDetachedRead,    // to read, without locks, a database that is not in WAL mode
};

const char* sqlite_version();  // of the library that runs, "3.40.1"
// kCorrupt: the database's log or its index is a link, a folder or a pipe. SQLite would block on a pipe, and reports
// the others as "I/O error"; a log that was moved is intact in its new place.
Status check_log_files(const std::string& path);

// In bytes.
struct DatabaseSize {
  uint64_t said = 0, there = 0;
  bool is_cut() const { return there < said; }
  bool operator==(const DatabaseSize&) const = default;
};
constexpr size_t kDatabaseHeaderBytes = 100;
// "is cut: 200 of 40960 bytes are there", for people.
std::string cut_text(const DatabaseSize& size);
// From the file's first kDatabaseHeaderBytes, or all of it if it is shorter; nothing if these are not the header of a
// SQLite file. A shorter file counts as cut to that length: an empty file, too.
std::optional<DatabaseSize> size_in_header(std::string_view header, uint64_t there);
// Never call it for a file that this process has open; Sqlite::size() may be called then.
std::optional<DatabaseSize> database_size(const std::string& path);

class Sqlite {
 public:
  Sqlite() = default;
  Sqlite(Sqlite&& other) noexcept { *this = std::move(other); }
  Sqlite& operator=(Sqlite&& other) noexcept;
  ~Sqlite() { close(); }

  static Result<Sqlite> open(const std::string& path, SqliteOpen mode, int busy_timeout_ms);
  explicit operator bool() const { return connection_ != nullptr; }
  void close();  // destroy all statements first; a lost connection is not closed
  // Checks its descriptors. Returns true once other code of the process has closed one (sqlite_calls.h): from then on
  // each call fails with closed_by_others(). The check is made before each transaction; after one, its writes may be
  // missing.
  bool is_lost();

  // The length in the file's header and its real length, through this connection's own descriptor. Nothing if it is not
  // a SQLite file. A log may hold the rest.
  std::optional<DatabaseSize> size() const;
  // SQLite refuses a file with fewer pages than its header says. From here on a reader's connection uses the pages that
  // exist; a row that needs another page is kCorrupt.
  Status read_cut_file();
  Status exec(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // kCorrupt if there is no such row.
  Result<Blob> open_blob(const char* table, const char* column, int64_t rowid);
  // The first column of the first row; kNotFound without a row.
  Result<int64_t> query_int(const char* sql);
  Result<std::string> query_text(const char* sql);

  // "delete", "wal" and so on; returns the mode of the database after the call.
  Result<std::string> set_journal_mode(const char* mode);
  // Whether the disk has refused a read of the database or its WAL: SQLite reports EIO and ENXIO as damage of the file.
  bool has_refused_read() const;
  void set_busy_timeout(int timeout_ms);
  bool in_transaction() const;
  enum class Checkpoint { kPassive, kTruncate };
  // kBusy if readers or a writer prevented it from completing (kTruncate only). `wal_pages`: set to the pages left in
  // the WAL.
  Status checkpoint(Checkpoint kind, int* wal_pages = nullptr);
  uint64_t bytes();   // of its pages, including those in the WAL; 0 after an error
  Status allocate();  // reserves space in its file for them, before a checkpoint. kIo
  // Whether the last call failed because an fsync failed.
  bool sync_failed() const;
  // Pages in the WAL after the last commit of this connection.
  int wal_pages() const;

 private:
  SqliteConnection* connection_ = nullptr;  // SQLite and statements know its address, and a Sqlite moves
};

// For tests: the limit of steps for connections opened from now on; 0: the default.
void set_step_instructions_for_testing(uint64_t most);

}  // namespace tracker::internal
