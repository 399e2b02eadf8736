// SPDX-License-Identifier: MIT
// A .frames file open for writing: <run>/<writer>.frames (docs/formats/frames-file.md). Each commit is one append; the
// writer cuts a failed append off before it writes anything else, so a torn record can only be the last one.
//
// A failed fsync leaves open which pages reached the disk, and the kernel forgets them: the frames since the last good
// one are kept in memory, and the writer stores them again in the next part. Threads: one at a time (the store thread).
// Cost: append blocks on the file system; up to kUnsyncedBytesMax of memory.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/lasting_fd.h"
#include "storage/frames/frames_log.h"
#include "storage/log/writer_store.h"

namespace tracker::internal {

constexpr size_t kUnsyncedBytesMax = 4u << 20;  // more than this since the last fsync, and one comes early
// Limit: bytes of a .frames file that finish() turns into a database. Beyond it: a later command does it.
constexpr uint64_t kBuildAtFinishBytesMax = 64ull << 20;

struct FramesFileOptions {
  uint64_t build_bytes_max = kBuildAtFinishBytesMax;  // of a file that finish() makes a database of
};

class FramesFile : public WriterStore {
 public:
  // New, or that of a dead writer, whose unfinished end is cut off: the part that `identity` says (writer_parts.h).
  // kCorrupt, kVersion, kIo name the file.
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
  // fsyncs, then makes the database where the file is at most build_bytes_max. A database that cannot be made is
  // no failure: all is in the .frames file, which the next reader turns into one.
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
  LastingFd fd_;
  std::pair<uint64_t, uint64_t> file_;  // device and inode
  PartChange change_ = PartChange::kNone;
  FramesTotals totals_;
  uint64_t end_ = 0;                   // after the last record that a write() took whole
  uint64_t durable_seq_ = 0;           // of the last frame that an fsync covered
  std::vector<FrameRecord> unsynced_;  // the frames after it
  size_t unsynced_bytes_ = 0;
  bool loaded_ = false;  // nothing was appended since load()
  bool torn_ = false;    // there may be bytes after end_
  bool closed_ = false;
};

}  // namespace tracker::internal
