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

// What one step of a reader's statement may take, in instructions of SQLite's virtual machine: seconds. A count over
// the longest log of ours takes a tenth of it.
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
  // True: there is a row. kLimit: it took a reader more than kStepInstructionsMax. After false or a failure the
  // statement is reset and may be bound again.
  Result<bool> step();
  // step() of a statement without rows.
  Status run();
  void reset();  // ends its read transaction

  // The row that step() found. Views live until the next step() or reset().
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
  // Bytes [offset, offset + size) of it, which must lie in it.
  Status read(uint64_t offset, uint64_t size, char* out) const;

 private:
  friend class Sqlite;
  sqlite3_blob* blob_ = nullptr;
  SqliteConnection* connection_ = nullptr;
  uint64_t size_ = 0;
};

enum class SqliteOpen {
  kWrite,   // the file is there already
  kCreate,  // or is made
  kRead,
  kReadImmutable,   // no locks, no WAL: for a file that nobody changes
  kReadPrivateWal,  // no locks, the WAL's index in memory: for a database with a WAL on media that cannot be written
  kMemory,          // a new database that lives in this connection; the path is for messages
  kDetached,        // to write, without locks: a file that nobody else knows yet
  kDetachedRead,    // to read one that is not in WAL mode, without locks
};

const char* sqlite_version();  // of the library that runs, "3.40.1"
// kCorrupt: a link, a folder, a pipe stands in the place of a database's log or of its index. SQLite waits for a pipe,
// and of the others it says "I/O error"; what was moved away is whole wherever it is.
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
// By the file's first kDatabaseHeaderBytes, or all that there are; nothing where they are not those of a SQLite file.
// One that has fewer is a cut one of that length: an empty file, too.
std::optional<DatabaseSize> size_in_header(std::string_view header, uint64_t there);
// Never asked of a file that this process has open: Sqlite::size() may be.
std::optional<DatabaseSize> database_size(const std::string& path);

class Sqlite {
 public:
  Sqlite() = default;
  Sqlite(Sqlite&& other) noexcept { *this = std::move(other); }
  Sqlite& operator=(Sqlite&& other) noexcept;
  ~Sqlite() { close(); }

  static Result<Sqlite> open(const std::string& path, SqliteOpen mode, int busy_timeout_ms);
  explicit operator bool() const { return connection_ != nullptr; }
  void close();  // statements must be gone before; a lost connection is not closed
  // Checks its descriptors. True once other code of the process has closed one (sqlite_calls.h): from then on each call
  // fails with closed_by_others(). The check is made before each transaction; after one, what it wrote may be missing.
  bool is_lost();

  // What the file says of its length and how long it is, through this connection's own descriptor. Nothing where it is
  // no SQLite file. A log beside it may hold the rest.
  std::optional<DatabaseSize> size() const;
  // SQLite refuses a file that has fewer pages than its header says. From here on a reader's connection takes those
  // that there are; a row that needs another one is kCorrupt.
  Status read_cut_file();
  Status exec(const char* sql);
  Result<Statement> prepare(std::string_view sql);
  // kCorrupt when there is no such row.
  Result<Blob> open_blob(const char* table, const char* column, int64_t rowid);
  // The first column of the first row; kNotFound without a row.
  Result<int64_t> query_int(const char* sql);
  Result<std::string> query_text(const char* sql);

  // "delete", "wal" and so on; returns the mode that the database is in then.
  Result<std::string> set_journal_mode(const char* mode);
  // Whether the disk has refused a read of the database or its WAL: SQLite reports EIO and ENXIO as damage of the file.
  bool has_refused_read() const;
  void set_busy_timeout(int timeout_ms);
  bool in_transaction() const;
  enum class Checkpoint { kPassive, kTruncate };
  // kBusy when readers or a writer kept it from completing (kTruncate only). `wal_pages`: what is left in the WAL.
  Status checkpoint(Checkpoint kind, int* wal_pages = nullptr);
  uint64_t bytes();   // of its pages, those in the WAL too; 0 after an error
  Status allocate();  // room in its file for them, before a checkpoint writes there. kIo
  // Of the call that failed just now: an fsync did.
  bool sync_failed() const;
  // Pages in the WAL after the last commit of this connection.
  int wal_pages() const;

 private:
  SqliteConnection* connection_ = nullptr;  // SQLite and statements know its address, and a Sqlite moves
};

// Tests: the bound of steps of connections that are opened from now on; 0: as it is.
void set_step_instructions_for_testing(uint64_t most);

}  // namespace tracker::internal
