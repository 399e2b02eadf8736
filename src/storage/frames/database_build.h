// SPDX-License-Identifier: MIT
// Databases that are made as a whole, beside their place: temporary file, fsync, rename. No lock, no WAL and no shared
// memory is used, so it works on network and FUSE file systems. Any number of builders may race and any of them may be
// killed at any point: the .frames file goes only after the database is in its place. Threads: one an object.
// Cost: blocks on the disk; needs as much room again as the source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/database/writer_db.h"

namespace tracker::internal {

// Limit: bytes of a .frames file that a reader turns into a database. Beyond it: it is read as it is.
constexpr uint64_t kBuildByReadersBytesMax = 256ull << 20;

// A database in the making; finish() puts it in its place.
class DatabaseBuild : public WriterStore {
 public:
  static Result<std::unique_ptr<DatabaseBuild>> create(const std::string& db_path, const WriterIdentity& identity);
  // Begins with what the database at `db_path` holds, which must have no WAL.
  static Result<std::unique_ptr<DatabaseBuild>> copy_of(const std::string& db_path, const WriterIdentity& identity);
  ~DatabaseBuild() override;  // without finish() nothing is left of it

  StoreFiles kind() const override { return StoreFiles::kFrames; }
  const std::string& path() const override { return path_; }
  uint64_t last_seq() const override { return db_->last_seq(); }
  uint64_t durable_seq() const override { return 0; }  // before finish()
  const std::vector<RingPosition>& positions() const override { return db_->positions(); }
  uint64_t points_stored() const override { return db_->points_stored(); }
  uint64_t bytes_stored() const override { return db_->bytes_stored(); }
  PartChange change() const override { return PartChange::kNone; }  // nobody else knows the file
  Result<std::vector<FrameRecord>> not_durable() override { return std::vector<FrameRecord>(); }
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {}) override;
  Status heartbeat(int64_t now_us) override { return db_->heartbeat(now_us); }
  // Compacts what is there, however long it takes; `at_end`: nothing more comes. After a failure the build is of no
  // use.
  Status compact_all(bool at_end) { return db_->compact_all(at_end); }
  // Where another process has put a database of this writer there meanwhile that holds as much, or more, that one stays
  // and this one goes.
  Status finish(int timeout_ms = 2000) override;

 private:
  explicit DatabaseBuild(std::string path);
  Status put_in_place();
  std::string path_, temporary_;
  std::unique_ptr<WriterDb> db_;
  Id128 writer_;
  bool replaces_ = false;  // a copy of what is there
};

// Makes <writer>.db of <writer>.frames, or of a further part, and removes the latter. For files whose writer has ended
// or is dead. ok also when another process has done it meanwhile. kCorrupt: the file is damaged, its end too, and stays
// as it is, so that its readers report it.
Status build_database(const std::string& frames_path);

// Whether the database holds every frame that the frames file holds.
bool covers(const std::string& db_path, const std::string& frames_path);

// The frames files of a run whose writers have ended, or are dead and recovered, become databases, those of at most
// kBuildByReadersBytesMax, and so do the parts that these writers have left. What cannot be built (a read-only store,
// damage) stays readable as it is, and so does a part some of whose frames the next part repeats: a segment would hold
// these frames together with others.
void build_ended_frames(const std::string& run_path);
void set_build_by_readers_bytes_max_for_testing(uint64_t bytes);

}  // namespace tracker::internal
