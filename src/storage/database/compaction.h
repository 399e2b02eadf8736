// SPDX-License-Identifier: MIT
// Compaction of a writer's database: new frames become a segment, small adjacent segments a larger one
// (docs/formats/database.md, decision 0011). Each step reads, builds one segment in memory, and replaces its sources in
// one transaction of the caller's, together with the table `levels`: a crash leaves either the old rows or the new one.
//
// Tiers are by weight (points, plus terms for bytes and sequence numbers): the newest segments are merged when those
// after the oldest of them weigh kCompactionFactor - 1 times as much as it, so a point is rewritten about log(target /
// first segment) / log(kCompactionFactor) times. A segment of half the target is never merged again. A frame that
// SegmentBuilder refuses stays a frame; nothing is merged across it. Threads: the owner of the database, one at a time.
// Cost of a step: up to about 20 ms and 16 MiB, however much there is to compact.
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

constexpr uint64_t kCompactFramesMin = 64;           // compaction waits for so many frames
constexpr uint64_t kCompactFrameBytesMin = 1 << 20;  // at the end of a writer: fewer than these stay frames
constexpr uint64_t kCompactFramesAtEnd = 8;          // at the end of a writer: fewer and smaller ones stay frames
constexpr uint64_t kCompactFrameBytesAtEnd = 16 << 10;
constexpr uint64_t kCompactionFactor = 8;
constexpr uint64_t kSegmentPointsTarget = 256 << 10;
constexpr uint64_t kSegmentBytesTarget = 1 << 20;
constexpr size_t kCompactionBytesMax = 4 << 20;     // memory for the rows of a segment; a single frame may need more
constexpr int64_t kCompactionGatherNs = 8'000'000;  // after this the segment is written with the rows gathered so far
constexpr int64_t kCompactionRetryNs = 10'000'000'000;  // after a step that the disk refused
constexpr int64_t kCompactAtEndNs = 300'000'000;  // when a writer ends or was recovered; frames left over stay frames
constexpr int64_t kFreePagesMin = 1024;  // while the database is written, fewer free pages are kept for new frames,
constexpr int64_t kFreePagesShare = 4;   // and so are they if they are less than this part of the file
constexpr int64_t kFreePagesAStep = 256;
constexpr size_t kTailSegmentsMax = 1024;  // small segments that are considered

// For tests of segments' content, which must not depend on how fast the machine gathers rows.
void set_compaction_gather_for_testing(int64_t ns);
void set_compaction_frames_for_testing(uint64_t frames);  // the most frames in a step; UINT64_MAX: no limit
// For tests of the frames left over at an end; the default is kCompactAtEndNs.
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

// For a segment that another process made; the argument for Compaction::write(). It comes after all frames of the
// database.
Result<NewSegment> foreign_segment(SegmentView* view, std::string_view bytes);

class Compaction {
 public:
  using Body = std::function<Status()>;
  using Transaction = std::function<Status(const Body&)>;

  explicit Compaction(const Id128& writer) : writer_(writer) {}

  // Reads the state from the database.
  Status load(Sqlite& db);
  void appended(uint64_t frames, uint64_t bytes);
  // Whether a step with `up_to` may find something.
  bool due(uint64_t up_to) const;
  // One step: makes a segment, or returns free pages to the disk. `all`: at the end of a writer. Returns false if
  // nothing is left to do.
  Result<bool> step(Sqlite& db, uint64_t up_to, bool all, const Transaction& transaction);

  // The parts of a step. Builds the next segment, of rows up to `up_to`; none if there is nothing to do now. Changes
  // nothing.
  Result<std::optional<NewSegment>> build(Sqlite& db, uint64_t up_to, bool all);
  // Inside a transaction.
  static Status write(Sqlite& db, const NewSegment& segment);
  // Call after the commit.
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
  std::vector<Piece> tail_;    // the newest segments, adjacent, not finished
  uint64_t frames_after_ = 0;  // frames up to this one are in segments, or stay frames
  uint64_t frames_waiting_ = 0, frame_bytes_waiting_ = 0;
  bool nothing_now_ = false;  // the last search, up to looked_to_, found nothing, and nothing was added since
  uint64_t looked_to_ = 0;
  bool freeing_ = false;  // there are more free pages to give back
};

}  // namespace tracker::internal
