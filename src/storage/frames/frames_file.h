// SPDX-License-Identifier: MIT
// A .frames file open for writing: <run>/<writer>.frames (docs/formats/frames-file.md). Each commit is one append;
// after a failed append the writer truncates the file before it writes anything else, so only the last record can be
// torn.
//
// After a failed fsync it is unknown which pages reached the disk, and the kernel forgets them: the frames since the
// last successful fsync are kept in memory, and the writer stores them again in the next part. Threads: one at a time
// (the store thread). Cost: append blocks on the file system; up to kUnsyncedBytesMax of memory.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/guarded_fd.h"
#include "storage/frames/frames_log.h"
#include "storage/log/writer_store.h"

namespace tracker::internal {

constexpr size_t kUnsyncedBytesMax = 4u << 20;  // more bytes than this since the last fsync cause an early fsync
// Limit: bytes of a .frames file that finish() turns into a database. Beyond it: a later command does it.
constexpr uint64_t kBuildAtFinishBytesMax = 64ull << 20;

struct FramesFileOptions {
  uint64_t build_bytes_max = kBuildAtFinishBytesMax;  // the largest file that finish() converts to a database
};

class FramesFile : public WriterStore {
 public:
  // A new file, or that of a dead writer, whose torn end is cut off; `identity` has the number of the part
  // (writer_parts.h). kCorrupt, kVersion, kIo name the file.
  static Result<std::unique_ptr<FramesFile>> open_or_create(const std::string& run_path, const WriterIdentity& identity,
                                                            const FramesFileOptions& options = {});

  StoreFiles kind() const override { return StoreFiles::kFrames; }
  const std::string& path() const override { return path_; }
  uint64_t last_seq() const override { return std::max(totals_.last_seq, before_.seq); }
  uint64_t durable_seq() const override { return durable_seq_; }
  const std::vector<RingPosition>& positions() const override { return totals_.positions; }
  uint64_t points_stored() const override { return totals_.points; }
  uint64_t bytes_stored() const override { return totals_.frame_bytes; }
  PartChange change() const override { return change_; }
  Result<std::vector<FrameRecord>> not_durable() override { return unsynced_; }
  Status append_batch(std::span<const FrameRecord* const> frames, bool durable,
                      const std::vector<uint64_t>& retired = {}) override;
  Status heartbeat(int64_t now_us) override;
  // fsyncs, then makes the database if the file has at most build_bytes_max. If the database cannot be made, that is
  // not a failure: everything is in the .frames file, which the next reader converts.
  Status finish(int timeout_ms = 2000) override;

 private:
  FramesFile(std::string path, Id128 writer, const FramesFileOptions& options)
      : path_(std::move(path)), writer_(writer), options_(options) {}
  Status load();
  Status leave(PartChange why);
  Status ensure_open();
  Status check_file(uint64_t end);
  Status check_loaded(std::span<const FrameRecord* const> frames);
  Status write_at(uint64_t at, std::string_view bytes);
  Status write_records(const std::string& records);
  Status sync();

  std::string path_;
  Id128 writer_;
  const FramesFileOptions options_;
  PartsBefore before_;
  GuardedFd fd_;
  std::pair<uint64_t, uint64_t> file_;  // device and inode
  PartChange change_ = PartChange::kNone;
  FramesTotals totals_;
  uint64_t end_ = 0;                   // after the last record that was written completely
  uint64_t durable_seq_ = 0;           // number of the last frame that was fsynced
  std::vector<FrameRecord> unsynced_;  // the frames after it
  size_t unsynced_bytes_ = 0;
  bool loaded_ = false;  // nothing was appended since load()
  bool torn_ = false;    // there may be bytes after end_
  bool closed_ = false;
};

}  // namespace tracker::internal
