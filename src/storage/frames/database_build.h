// SPDX-License-Identifier: MIT
// Builds complete databases under a temporary name: fsync, then rename. No lock, WAL or shared memory is used, so it
// works on network and FUSE file systems. Any number of builders may race and any of them may be killed at any point:
// the .frames file is removed only after the database has its name. Threads: one an object.
// Cost: blocks on the disk; needs as much room again as the source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/database/writer_db.h"

namespace tracker::internal {

// Limit: bytes of a .frames file that a reader turns into a database. Beyond it: it is read as it is.
constexpr uint64_t kBuildByReadersBytesMax = 256ull << 20;

// A database that is being built; finish() renames it to its place.
class DatabaseBuild : public WriterStore {
 public:
  static Result<std::unique_ptr<DatabaseBuild>> create(const std::string& db_path, const WriterIdentity& identity);
  // Starts with the content of the database at `db_path`, which must have no WAL.
  static Result<std::unique_ptr<DatabaseBuild>> copy_of(const std::string& db_path, const WriterIdentity& identity);
  ~DatabaseBuild() override;  // without finish() nothing of it remains

  StoreFiles kind() const override { return StoreFiles::kFrames; }
  const std::string& path() const override { return path_; }
  uint64_t last_seq() const override { return db_->last_seq(); }
  uint64_t durable_seq() const override { return 0; }  // before finish()
  const std::vector<RingPosition>& positions() const override { return db_->positions(); }
  uint64_t points_stored() const override { return db_->points_stored(); }
  uint64_t bytes_stored() const override { return db_->bytes_stored(); }
  PartChange change() const override { return PartChange::kNone; }  // no other process knows the file
  Result<std::vector<FrameRecord>> not_durable() override { return std::vector<FrameRecord>(); }
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {}) override;
  Status heartbeat(int64_t now_us) override { return db_->heartbeat(now_us); }
  // Compacts everything, however long it takes; `at_end`: nothing more will be added. After a failure discard the
  // build.
  Status compact_all(bool at_end) { return db_->compact_all(at_end); }
  // If another process has put a database of this writer there meanwhile with the same frames or more, that one is kept
  // and this one removed.
  Status finish(int timeout_ms = 2000) override;

 private:
  explicit DatabaseBuild(std::string path);
  Status put_in_place();
  std::string path_, temporary_;
  std::unique_ptr<WriterDb> db_;
  Id128 writer_;
  bool replaces_ = false;  // the build is a copy of the existing database
};

// Makes <writer>.db from <writer>.frames, or from a further part, and removes the source. For files whose writer has
// ended or is dead. ok also if another process has done it meanwhile. kCorrupt: the file is damaged, or its end is; it
// is kept, so that its readers report it.
Status build_database(const std::string& frames_path);

// Whether the database has every frame of the frames file.
bool covers(const std::string& db_path, const std::string& frames_path);

// Makes databases of a run's frames files of at most kBuildByReadersBytesMax whose writers have ended, or are dead and
// recovered, and of the parts that these writers have left. Files that cannot be converted (read-only store, damage)
// stay as they are and readable; so does a part some of whose frames are repeated in the next part: a segment would
// join these frames with others.
void build_ended_frames(const std::string& run_path);
void set_build_by_readers_bytes_max_for_testing(uint64_t bytes);

}  // namespace tracker::internal
