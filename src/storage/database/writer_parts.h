// SPDX-License-Identifier: MIT
// A writer's files. The first is part 1, <writer>.db or <writer>.frames. If a part was changed by another process, or
// cannot be read at recovery, the writer does not touch it again and continues in the next part, <writer>-2.db or
// <writer>-2.frames, with the next number (docs/formats/database.md). An existing part is never replaced. The small
// tables of a part count that part only; its identity has the totals of the parts before it. Threads: any. Cost: blocks
// on the disk.
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
constexpr std::chrono::milliseconds kCheckpointPartWait{50};  // how long checkpoint_part() waits for readers

struct PartFile {
  int number = 1;
  std::string path;
  bool is_frames = false;
};

// "<writer>-2.db" for "<writer>.db" and 2; likewise .frames. Part 1: the path itself.
std::string part_path(const std::string& first_path, int part);
// "<writer>.db" for "<writer>-2.db"; the path itself for part 1.
std::string first_part_path(const std::string& path);
// 1 for <writer>.db and <writer>.frames, 2 for <writer>-2.db, …; 0 for any other name.
int part_number(std::string_view name);
// The existing parts, by number. If a part exists in both kinds because its database is being built: the .frames file,
// unless the database is complete. `path`: of any part. Cost: one listing of the folder.
std::vector<PartFile> parts_of(const std::string& path);

// Sets WAL mode in the header and fsyncs, for a complete file that no process has open.
Status make_wal_file(const std::string& path);
// Moves all content of `db` into its file and deletes the WAL: needs the file for itself, for which SQLite does not
// wait by its busy timeout. kBusy: others had it open until `deadline_ns`; all data is in the file.
Status leave_wal(Sqlite* db, const std::string& path, int64_t deadline_ns);
// Best effort: checkpoints the WAL into the database and removes it. For parts that are no longer written and whose WAL
// a reader held. A damaged WAL stays: SQLite would drop the commits after the damage.
void checkpoint_part(const std::string& path);

}  // namespace tracker::internal
