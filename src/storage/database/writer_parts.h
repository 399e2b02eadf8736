// SPDX-License-Identifier: MIT
// A writer's database in several files. A reader of somebody else's that stays in a transaction keeps SQLite from ever
// emptying the WAL; at kWalBytesMax the writer goes on in <writer>-2.db, then -3 and so on (docs/formats/database.md).
// Each part has the frames from its own time on; its small tables count all parts up to it, so the last part alone says
// everything but the rows. Threads: one at a time. Cost: blocks on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/records.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr uint64_t kWalBytesMax = 256ull << 20;
// A reader that is there just now does the same for a moment: so many commits in a row must find it so.
constexpr int kPinnedCommitsMin = 10;
constexpr int kPartsMax = 999;                        // then the WAL grows on
constexpr int64_t kNextPartRetryNs = 10'000'000'000;  // after a part that could not be made

// The file of part 1, 2, … of the database whose first part is `db_path`.
std::string part_path(const std::string& db_path, int part);
// How many there are; 1 also where not even the first is there.
int count_parts(const std::string& db_path);
// A database of which an earlier part is gone while a later one is there. Readers stop in front of the hole; nobody
// writes on behind it, for the numbers that come next are taken.
struct MissingParts {
  std::string db_path;  // of part 1
  std::vector<int> numbers;
  int last = 1;  // the newest part that is there
  std::string text() const;
};
// Of all databases in a folder. Cost: one listing.
std::vector<MissingParts> missing_parts(const std::string& folder);
// Before the database is opened for writing, or made: kCorrupt where a part is missing. Without part 1 what SQLite kept
// beside it is cleared away, for it would be taken for the new file's; a log is set aside.
Status prepare_parts(const std::string& db_path);
// A log that is not of that database gets the name <writer>.db-wal.orphan-<16 hex>; where there is none, nothing. kIo.
Status set_log_aside(const std::string& db_path);
// Makes the next part, whole and fsynced or not at all, from the connection to the last one, whose series rows must be
// up to date (else kInvalid). kIo.
Status create_part(Sqlite& last, const std::string& db_path, int part, const WriterIdentity& identity);
// Into WAL mode, by its header alone, and fsynced: of a whole file that nobody has open.
Status make_wal_file(const std::string& path);
// All of `db` is to be in its file, without a WAL: needs the file for itself, for which SQLite does not wait by its
// busy timeout. kBusy: others had it open until `deadline_ns`, and all data is in it.
Status leave_wal(Sqlite* db, const std::string& path, int64_t deadline_ns);
// Best effort: all into the database, no WAL. For parts that their writer has left.
void settle_part(const std::string& path, int timeout_ms);

uint64_t wal_bytes_max();
void set_wal_bytes_max_for_testing(uint64_t bytes);

}  // namespace tracker::internal
