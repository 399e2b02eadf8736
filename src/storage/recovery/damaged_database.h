// SPDX-License-Identifier: MIT
// The database of a dead writer of which nothing can be read any more, because somebody else's bytes are in its place:
// recovery moves it aside and begins anew, for else what waits in the journal would wait until a person does
// (docs/decisions/0040). What somebody can make whole again stays: one that is busy, that may not be read or written,
// that is of a newer version, to which a table was added, or of which a reader reads a part. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace tracker::internal {

constexpr int64_t kAtRestNs = 10'000'000'000;  // a database is judged when nobody has written it for so long

// Somebody has written the file or its log within kAtRestNs, by its times: a backup that is being copied there is
// whole when that is done.
bool is_being_written(const std::string& db_path);
// A regular file of one part, and nothing else in the place of its log: only of such a one the next two say yes.
bool may_be_judged(const std::string& db_path);
// Other bytes, or another database, stand at the path, and the log beside it does not make it whole. Cost: reads a
// page.
bool is_overwritten(const std::string& db_path, const Id128& writer);
// Asked where opening it for writing has answered kCorrupt: SQLite finds damage, and readers read nothing. Cost: reads
// all of it.
bool is_unreadable(const std::string& db_path);
// Renames it and its log to <writer>.db.damaged-<16 hex>, which it returns; nobody reads that. kIo.
Result<std::string> set_database_aside(const std::string& db_path);
// Of a log with commits that SQLite does not read, as bytes in front of them were changed on the disk, a copy is kept
// as <writer>.db-wal.damaged-<16 hex>, the salt of its header: who opens the database next goes on in front of them and
// removes the log. Returns that name, empty where the log is sound, or none, or no file. kIo. Cost: reads the log.
Result<std::string> keep_damaged_log(const std::string& db_path);
// Those in a run's folder, and the copies of logs, and those of .frames files that frames_tail.h keeps. Cost: one
// listing.
std::vector<std::string> databases_set_aside(const std::string& folder);
bool is_set_aside(std::string_view name);
bool is_frames_set_aside(std::string_view name);  // such a copy
bool is_log_set_aside(std::string_view name);
std::string set_aside_text(const std::string& path);  // for people

}  // namespace tracker::internal
