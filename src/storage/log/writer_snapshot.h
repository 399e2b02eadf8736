// SPDX-License-Identifier: MIT
// One consistent picture of what a writer has recorded, and the values that it consists of. Readers make it from a
// database or a .frames file. Threads: values.
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

// What is known of a series without decoding its frames. `points` = rows stored; logged = points + dropped for a
// writer that ended.
struct SeriesStats {
  SeriesDef def;
  uint64_t points = 0;
  uint64_t dropped = 0;
  int64_t step_min = 0, step_max = 0;  // valid when points > 0 and has_steps
  bool has_steps = false;
  int64_t time_first_us = 0, time_last_us = 0;
  double min = 0, max = 0, sum = 0;  // over finite values; valid when finite > 0
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t first_bits = 0, last_bits = 0;  // first and last row in the order logged
  int64_t last_step = 0;
};

// A config, summary or attribute entry as last set by this writer; keys are paths ("optimizer/lr"): a map merged
// without a key stands here leaf by leaf, and setting a key removes what stood below it. A summary value of null
// removes the entry. Of kText and kMedia the key is a metric under which they were logged and the value their number.
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
  Value cost;  // as WriterSnapshot.cost; null: not said
};

// One consistent picture of a writer, taken in one short read.
struct WriterSnapshot {
  WriterIdentity identity;
  uint64_t last_seq = 0;
  uint64_t durable_seq = 0;  // the frames up to this one are fsynced; 0 where a .frames file is read, which cannot say
  std::vector<SeriesStats> series;    // by id
  std::vector<Attribute> attributes;  // in the order first set
  std::vector<Loss> losses;           // totals per (series, reason)
  std::optional<WriterEnd> end;
  // The end that finish() recorded in the journal and no file has yet. Set by readers that read a dead process's
  // journal.
  std::optional<WriterEnd> unstored_end;
  const WriterEnd* known_end() const { return end ? &*end : unstored_end ? &*unstored_end : nullptr; }
  std::optional<Value> recovered;   // the "recovered" note, when a recoverer finished this writer's log
  std::optional<int64_t> step_max;  // the largest of texts and media; of rows `series` have it
  int64_t heartbeat_us = 0;
  Value cost;  // what the tracker took from the process, as last said (docs/formats/records.md); null: not said
  uint64_t points = 0, dropped = 0, frames = 0, frame_bytes = 0;
  uint64_t texts_dropped = 0, entries_dropped = 0;
  uint64_t texts() const;   // stored
  uint64_t alerts() const;  // stored, without the note that some found no room
  LogPosition end_of_log() const { return {last_seq, points + missing.log_points}; }
  std::vector<RingPosition> positions;  // up to where the rings of its journal are stored
  bool frames_file = false;             // read from a .frames file, not from a database
  int left_frames_files = 0;            // of the parts before the last one, those that are .frames files
  int parts = 1;                        // number of the last one (storage/database/writer_parts.h)
  // What earlier parts should hold and do not, because one is gone or unreadable. `losses` and the counts of what was
  // dropped have it too; `seq` is 0.
  PartsBefore missing;
  uint64_t attributes_damaged = 0;  // rows of their table; then `attributes` are what the log says
  // Frames after the stored statistics that could not be read: series lack their rows.
  std::vector<LogDamage> damage;
};

// What the next part of that writer's files says of those before it.
PartsBefore parts_before(const WriterSnapshot& stored);
// Of attributes: whether state frames repeat it at the begin of a next part, and the payload of its event there.
bool is_state(EventType type);
Value state_payload(const Attribute& attribute);

}  // namespace tracker::internal
