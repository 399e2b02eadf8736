// SPDX-License-Identifier: MIT
// A run as its readers see it: the union of its writers' databases (docs/formats/store.md). Reading never changes the run and
// never blocks a writer. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/store.h"
#include "storage/writer_reader.h"

namespace tracker::internal {

// A metric over all writers of a run: the union of its series.
struct MetricInfo {
  std::string name;
  std::vector<ValueType> types;         // distinct, in the order first logged
  uint64_t points = 0, dropped = 0;
  bool has_steps = false;
  int64_t step_min = 0, step_max = 0, last_step = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  double min = 0, max = 0;              // over finite values
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  ValueType last_type = ValueType::kFloat64;
  uint64_t last_bits = 0;               // value of the last row by (attempt, time)
  bool is_text = false;                 // logged text, no numbers
};

// Rows of one metric. `bits` are raw bits of `type`; when the metric was logged as several types, `type` is the common one
// (float64, or int64 where only ints and bools meet) and `mixed` holds each row's own type and bits for exact export.
struct History {
  ValueType type = ValueType::kFloat64;
  std::vector<int64_t> steps;           // 0 where the row has none (has_step false)
  std::vector<uint64_t> bits;
  std::vector<int64_t> times_us;
  std::vector<int64_t> ranks;
  std::vector<int64_t> attempts;
  std::vector<uint8_t> own_types;       // empty unless mixed
  std::vector<uint64_t> own_bits;       // empty unless mixed
  std::vector<uint8_t> has_step;        // empty: every row has one
  size_t size() const { return bits.size(); }
};

struct TextRow {
  int64_t step = 0;
  bool has_step = false;
  int64_t time_us = 0;
  std::string text;
};

// Where points are (P5): logged = stored + dropped (+ pending, which a reader cannot see: it is 0 once the writer ended).
struct LossAccount {
  uint64_t logged = 0, stored = 0, dropped = 0;
  uint64_t rejected_values = 0;
  uint64_t recovered = 0;               // of stored: replayed after a crash
  std::vector<std::pair<std::string, uint64_t>> by_reason;
};

class RunView {
 public:
  // Takes a snapshot of every writer. A damaged database is named in problems() and the others are still read.
  static Result<std::unique_ptr<RunView>> open(const Store& store, const RunFolder& folder);
  ~RunView();
  // Takes the snapshots again (a live run).
  Status refresh();

  const RunIdentity& identity() const;
  const std::string& dir() const;
  RunState state() const;               // from the locks and end records; never "running" for a dead process
  std::string state_detail() const;     // exit code and last line of a traceback, "out of memory?" …, or empty
  std::string name() const;             // attribute "name", else the id
  Value config() const;                 // nested map; last one wins by time, then writer id
  Value summary() const;                // last values by themselves; explicit ones win
  Value attribute(const std::string& key) const;   // notes, tags, group, job_type; null when never set
  int64_t created_us() const;
  int64_t ended_us() const;             // 0 while running
  int64_t last_seen_us() const;         // newest of heartbeat and last frame
  std::vector<MetricInfo> metrics() const;         // by name
  LossAccount losses() const;
  const std::vector<WriterSnapshot>& writers() const;   // by (attempt, started)
  const std::vector<std::string>& problems() const;

  // Rows of a metric. all=false: the resolved view, sorted by step, the last row of each (step) wins, later attempts win; rows
  // without a step keep their order behind. all=true: every row in the order of (attempt, time). kNotFound names close metrics.
  Result<History> history(const std::string& metric, bool all = false);
  Result<std::vector<TextRow>> texts(const std::string& metric);

 private:
  struct Impl;
  explicit RunView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
