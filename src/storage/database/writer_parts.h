// SPDX-License-Identifier: MIT
// A writer's files. The first is part 1, <writer>.db or <writer>.frames. When a part has changed under its writer, or
// cannot be read at recovery, the writer does not touch it again and continues in the next part, <writer>-2.db or
// <writer>-2.frames, with the next number (docs/formats/database.md). An existing part is never replaced. A part's
// small tables count that part alone; its identity says what the parts before it hold. Threads: any. Cost: blocks on
// the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

// Limit: parts of a writer's files. Beyond it: the WAL grows on; points of a changed file wait in the journal.
constexpr int kPartsMax = 999;
constexpr std::chrono::milliseconds kSettlePartWait{50};  // of settle_part(), for readers

struct PartFile {
  int number = 1;
  std::string path;
  bool is_frames = false;
};

// "<writer>-2.db" of "<writer>.db" and 2; the same of .frames. Part 1: the path itself.
std::string part_path(const std::string& first_path, int part);
// "<writer>.db" of "<writer>-2.db"; the path itself where it names part 1.
std::string first_part_path(const std::string& path);
// 1 of <writer>.db and <writer>.frames, 2 of <writer>-2.db, …; 0 of any other name.
int part_number(std::string_view name);
// Those that are there, by number. Of a part that is there in both kinds, because its database is being built: the
// .frames file, unless the database is whole. `path`: of any part. Cost: one listing of the folder.
std::vector<PartFile> parts_of(const std::string& path);

// Into WAL mode, by its header alone, and fsynced: of a whole file that nobody has open.
Status make_wal_file(const std::string& path);
// All of `db` is to be in its file, without a WAL: needs the file for itself, for which SQLite does not wait by its
// busy timeout. kBusy: others had it open until `deadline_ns`, and all data is in it.
Status leave_wal(Sqlite* db, const std::string& path, int64_t deadline_ns);
// Best effort: moves all of the WAL into the database and removes the WAL. For parts that are not written any more and
// whose WAL a reader kept. A damaged WAL stays: SQLite would drop the commits after the damage.
void settle_part(const std::string& path);

}  // namespace tracker::internal
