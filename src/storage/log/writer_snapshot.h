// SPDX-License-Identifier: MIT
// A consistent state of everything that a writer has recorded, and the values in it. Readers make it from a database or
// a .frames file. Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "journal/ring/frame_record.h"
#include "model/records.h"
#include "storage/log/log_visitor.h"

namespace tracker::internal {

// The data of a series that need no decoding of frames. `points` = rows stored; logged = points + dropped for a writer
// that ended.
struct SeriesStats {
  SeriesDef def;
  uint64_t points = 0;
  uint64_t dropped = 0;
  int64_t step_min = 0, step_max = 0;  // valid when points > 0 and has_steps
  bool has_steps = false;
  int64_t time_first_us = 0, time_last_us = 0;
  double min = 0, max = 0, sum = 0;  // over finite values; valid if finite > 0
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t first_bits = 0, last_bits = 0;  // first and last row in the order logged
  int64_t last_step = 0;
};

// A config, summary or attribute entry as last set by this writer; keys are paths ("optimizer/lr"): a map merged
// without a key is stored leaf by leaf, and setting a key removes the keys below it. A summary value of null removes
// the entry. For kText and kMedia the key is a metric under which they were logged and the value their number.
struct Attribute {
  EventType type = EventType::kConfig;
  std::string key;
  Value value;
  int64_t time_us = 0;
};

struct WriterEnd {
  RunState state = RunState::kFinished;
  int64_t exit_code = 0;
  std::string reason;
  int64_t time_us = 0;
  Value cost;  // as WriterSnapshot.cost; null: not recorded
};

// A consistent state of a writer, taken in one short read.
struct WriterSnapshot {
  WriterIdentity identity;
  uint64_t last_seq = 0;
  uint64_t durable_seq = 0;  // the frames up to this one are fsynced; 0 for a .frames file, which does not record it
  std::vector<SeriesStats> series;    // by id
  std::vector<Attribute> attributes;  // in the order first set
  std::vector<Loss> losses;           // totals per (series, reason)
  std::optional<WriterEnd> end;
  // An end that finish() recorded in the journal and that is in no file yet. Set by readers that read a dead process's
  // journal.
  std::optional<WriterEnd> unstored_end;
  const WriterEnd* known_end() const { return end ? &*end : unstored_end ? &*unstored_end : nullptr; }
  std::optional<Value> recovered;   // the "recovered" note, if a recoverer completed this writer's log
  std::optional<int64_t> step_max;  // the largest of texts and media; `series` has that of rows
  int64_t heartbeat_us = 0;
  Value cost;  // the last recorded cost of the tracker in its process (docs/formats/records.md); null: not recorded
  uint64_t points = 0, dropped = 0, frames = 0, frame_bytes = 0;
  uint64_t texts_dropped = 0, entries_dropped = 0;
  uint64_t texts() const;   // stored
  uint64_t alerts() const;  // stored ones, without the note that others were dropped
  LogPosition end_of_log() const { return {last_seq, points + missing.log_points}; }
  std::vector<RingPosition> positions;  // the positions up to which the rings of its journal are stored
  bool frames_file = false;             // read from a .frames file, not from a database
  int left_frames_files = 0;            // how many of the parts before the last one are .frames files
  int parts = 1;                        // number of the last one (storage/database/writer_parts.h)
  // What earlier parts held that are deleted or unreadable. It is included in `losses` and in the counts of dropped
  // rows; `seq` is 0.
  PartsBefore missing;
  uint64_t attributes_damaged = 0;  // damaged rows of their table; then `attributes` are read from the log
  // Frames after the stored statistics that could not be read: the series lack their rows.
  std::vector<LogDamage> damage;
};

// The totals for the identity of the next part of that writer's files.
PartsBefore parts_before(const WriterSnapshot& stored);
// For attributes: whether the state frames at the start of a next part repeat it, and the payload of its event there.
bool is_state(EventType type);
Value state_payload(const Attribute& attribute);

}  // namespace tracker::internal
