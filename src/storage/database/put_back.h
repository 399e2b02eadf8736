// SPDX-License-Identifier: MIT
// A file of a live writer in whose place somebody has put another one: an editor, rsync or a restore makes a copy and
// renames it over the name. What was committed since lies in our file alone, which has no name any more but is open
// here: a copy of that takes the name again (docs/decisions/0034). At every moment some whole file has it.
// Threads: one at a time. Cost: reads and writes the whole file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "model/records.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr int kPutBackRest = 10;                        // each writes the whole file: at most an eleventh of the time
constexpr int64_t kPutBackIntervalNs = 10'000'000'000;  // the longest between two
constexpr int64_t kOtherWalWaitNs =
    1'000'000'000;  // for who may be recovering this writer, before its log is moved aside: finish() has twice as long

// Between two times that a file is put back.
class PutBackPace {
 public:
  explicit PutBackPace(int64_t (*now_ns)() = monotonic_ns) : now_ns_(now_ns) {}
  // Whether another file has the name, and it is time again. kIo says what stands there.
  Status begin(const std::string& path);
  void end();

 private:
  int64_t (*now_ns_)();
  int64_t begun_ns_ = 0, next_ns_ = 0;
};
// Another log at the place of a live writer's is waited for before it is moved aside, one that is gone is not.
class OtherWalWait {
 public:
  Status wait(const std::string& db_path);  // kIo: not yet

 private:
  int64_t since_ns_ = 0;  // 0: none was seen
};

// The number of the newest frame that the file has without its log; nothing where it cannot be read as it is.
std::optional<uint64_t> last_seq_without_wal(const std::string& path);
// `db`: the connection to our file, which stays as it is and is to be closed then. `own_wal`: the WAL at the path is
// its own, which goes with the copy, too; another one is moved aside, and so is one that is damaged, whose begin would
// be read over the copy. `is_whole`: nobody has cut our file itself; else only what SQLite still holds in memory can
// complete it, and kCorrupt is what a copy with holes gives.
Status put_database_back(Sqlite* db, const std::string& path, const Id128& writer, bool own_wal, bool is_whole);
// The first `bytes` of the file that `fd` has open. `is_copy`: the file at `path` is of the same writer.
Status put_frames_back(int fd, uint64_t bytes, const std::string& path, bool is_copy);
// What stands at `path` and is not ours gets another name, which nobody reads: <path>.replaced-<16 hex>.
Status set_other_file_aside(const std::string& path);

}  // namespace tracker::internal
