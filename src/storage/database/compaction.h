// SPDX-License-Identifier: MIT
// Compaction of a writer's database: fresh frames become a segment, small segments that stand side by side a larger
// one (docs/formats/database.md, decision 0011). Each step reads, builds one segment in memory, and replaces what it is
// made of in one transaction of the caller's, the table `levels` with it: a crash leaves either the old rows or the new
// one.
//
// Tiers come about by weight (points, and so much for bytes and sequence numbers): the newest segments are merged when
// those after the oldest of them weigh kCompactionFactor - 1 times as much as it, so a point is rewritten about
// log(target / first segment) / log(kCompactionFactor) times. A segment of half the target is never touched again.
// What SegmentBuilder refuses stays a frame; nothing is merged over it. Threads: the owner of the database, one at a
// time. Cost of a step: up to about 20 ms and 16 MiB, whatever waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "codec/segment.h"
#include "storage/database/levels.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr uint64_t kCompactFramesMin = 64;           // frames wait until there are so many
constexpr uint64_t kCompactFrameBytesMin = 1 << 20;  // or so much of them
constexpr uint64_t kCompactFramesAtEnd = 8;          // at the end of a writer: fewer and smaller ones stay frames
constexpr uint64_t kCompactFrameBytesAtEnd = 16 << 10;
constexpr uint64_t kCompactionFactor = 8;
constexpr uint64_t kSegmentPointsTarget = 256 << 10;
constexpr uint64_t kSegmentBytesTarget = 1 << 20;
constexpr size_t kCompactionBytesMax = 4 << 20;         // rows held for a segment; a single frame may be more
constexpr int64_t kCompactionGatherNs = 8'000'000;      // then the segment is written with what was gathered
constexpr int64_t kCompactionRetryNs = 10'000'000'000;  // after a step that the disk refused
constexpr int64_t kCompactAtEndNs = 300'000'000;        // when a writer ends or was recovered; the rest stays as it is
constexpr int64_t kFreePagesMin = 1024;                 // while it is written, fewer wait for new frames,
constexpr int64_t kFreePagesShare = 4;                  // and less than this part of the file does
constexpr int64_t kFreePagesAStep = 256;
constexpr size_t kTailSegmentsMax = 1024;  // small segments that are looked at

// A test of what segments hold must not depend on how fast the machine gathers them.
void set_compaction_gather_for_testing(int64_t ns);
void set_compaction_frames_for_testing(uint64_t frames);  // at most in a step; without, as many as there are
// Nor what is left in frames at an end; kCompactAtEndNs is what it is without.
void set_compact_at_end_for_testing(int64_t ns);
int64_t compact_at_end_ns();

struct NewSegment {
  uint64_t first_seq = 0, last_seq = 0, points = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  std::string bytes;
  SegmentLevels levels;
  uint64_t frames = 0, frame_bytes = 0;  // rows of `frames` that it replaces; 0: it replaces segments
  bool full = false;                     // no more would have fitted
};

// Of a segment that another process has made: what Compaction::write() takes. It lies after all frames of the database.
Result<NewSegment> foreign_segment(SegmentView* view, std::string_view bytes);

class Compaction {
 public:
  using Body = std::function<Status()>;
  using Transaction = std::function<Status(const Body&)>;

  explicit Compaction(const Id128& writer) : writer_(writer) {}

  // What stands in the database.
  Status load(Sqlite& db);
  void appended(uint64_t frames, uint64_t bytes);
  // Whether a step up to there may find something.
  bool due(uint64_t up_to) const;
  // Does one step: a segment, or gives free pages back to the disk. `all`: at the end of a writer, when nothing more
  // comes. False: nothing is left to be done.
  Result<bool> step(Sqlite& db, uint64_t up_to, bool all, const Transaction& transaction);

  // The parts of a step. The next segment, of what lies up to `up_to`; none: nothing is to be done now. Changes
  // nothing.
  Result<std::optional<NewSegment>> build(Sqlite& db, uint64_t up_to, bool all);
  // Inside a transaction.
  static Status write(Sqlite& db, const NewSegment& segment);
  // After its commit.
  void written(const NewSegment& segment);

 private:
  struct Piece {
    uint64_t first_seq = 0, last_seq = 0, points = 0, bytes = 0;
    uint64_t weight() const;
    bool finished() const;
  };
  // Pieces [begin, end) of the tail.
  struct Run {
    size_t begin = 0, end = 0;
  };

  Result<std::optional<NewSegment>> build_from_frames(Sqlite& db, uint64_t up_to, bool all);
  Result<bool> gather_frames(Sqlite& db, uint64_t up_to, SegmentBuilder* builder, NewSegment* out);
  Result<std::optional<NewSegment>> build_from_segments(Sqlite& db, uint64_t up_to, bool all);
  std::optional<Run> choose(uint64_t up_to, bool all) const;
  Result<size_t> gather_segments(Sqlite& db, const Run& run, SegmentBuilder* builder);
  Result<bool> give_back(Sqlite& db, bool all, const Transaction& transaction);
  void add_piece(const Piece& piece, bool full);

  const Id128 writer_;
  std::vector<Piece> tail_;    // the newest segments, adjacent, none finished
  uint64_t frames_after_ = 0;  // frames up to here are in segments, or stay frames
  uint64_t frames_waiting_ = 0, frame_bytes_waiting_ = 0;
  bool nothing_now_ = false;  // nothing was found up to looked_to_, and nothing came since
  uint64_t looked_to_ = 0;
  bool freeing_ = false;  // there are more free pages to give back
};

}  // namespace tracker::internal
