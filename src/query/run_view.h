// SPDX-License-Identifier: MIT
// A run as its readers see it: the union of its writers' databases (docs/formats/store.md). Reading never changes the
// run and never blocks a writer. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/liveness.h"
#include "storage/store.h"
#include "storage/writer_reader.h"

namespace tracker::internal {

// A metric over all writers of a run: the union of its series of numbers. Texts are not series: see RunView::texts.
struct MetricInfo {
  std::string name;
  std::vector<ValueType> types;  // distinct, by (attempt, started) of their writers and series id
  uint64_t points = 0, dropped = 0;
  bool has_steps = false;
  int64_t step_min = 0, step_max = 0;  // valid with has_steps
  int64_t last_step = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  double min = 0, max = 0, sum = 0;  // over finite values
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  ValueType last_type = ValueType::kFloat64;
  uint64_t last_bits = 0;  // value of the last row by (attempt, time)
  ValueType first_type = ValueType::kFloat64;
  uint64_t first_bits = 0;  // and of the first
};

// Where rows come from: one writer of the run.
struct RowSource {
  int64_t attempt = 1;
  int64_t rank = 0;
  Id128 writer;
};

// Rows of one metric. `bits` are raw bits of `type`; when the metric was logged as several types, `type` is the common
// one (float64, or int64 where only ints and bools meet) and own_types/own_bits hold each row's own type and bits for
// exact export. What is the same for all rows takes no memory: a plain history is 24 bytes a row.
struct History {
  ValueType type = ValueType::kFloat64;
  std::vector<int64_t> steps;  // 0 where the row has none
  std::vector<uint64_t> bits;
  std::vector<int64_t> times_us;
  std::vector<uint32_t> source;  // index into `sources`; empty: all rows come from sources[0]
  std::vector<RowSource> sources;
  std::vector<uint8_t> own_types;  // ValueType of each row; empty unless mixed
  std::vector<uint64_t> own_bits;  // empty unless mixed
  std::vector<uint8_t> has_step;   // empty: every row has one
  size_t size() const { return bits.size(); }
  bool mixed() const { return !own_types.empty(); }
  bool row_has_step(size_t row) const { return has_step.empty() || has_step[row] != 0; }
  const RowSource& row_source(size_t row) const { return sources[source.empty() ? 0 : source[row]]; }
  ValueType row_type(size_t row) const { return mixed() ? static_cast<ValueType>(own_types[row]) : type; }
  uint64_t row_bits(size_t row) const { return mixed() ? own_bits[row] : bits[row]; }
};

struct Selection;  // query/selection.h

struct TextRow {
  int64_t step = 0;
  bool has_step = false;
  int64_t time_us = 0;
  int64_t attempt = 1, rank = 0;
  std::string text;
};

// Where points are (P5): logged = stored + dropped (+ pending, which a reader cannot see: it is 0 once the writer
// ended).
struct LossAccount {
  uint64_t logged = 0, stored = 0, dropped = 0;
  uint64_t rejected_values = 0;
  uint64_t recovered = 0;  // of stored: replayed after a crash
  std::vector<std::pair<std::string, uint64_t>> by_reason;
};

class RunView {
 public:
  // Takes a snapshot of every writer. A damaged database is named in problems() and the others are still read.
  static Result<std::unique_ptr<RunView>> open(const RunFolder& folder);
  ~RunView();
  // Takes the snapshots again (a live run). What was found damaged is looked at anew.
  Status refresh();

  const RunIdentity& identity() const;
  const std::string& dir() const;
  RunState state() const;            // as of the last snapshot; never "running" for a process known to be dead
  std::string state_detail() const;  // exit code and last line of a traceback, "out of memory?" …, or empty
  std::string name() const;          // attribute "name", else the id
  Value config() const;              // nested map; last one wins by time, then writer id
  Value summary() const;  // flat map: last values by themselves under the metric's name; explicit ones win and stay
  Value attribute(const std::string& key) const;  // notes, tags, group, job_type; null when never set
  int64_t created_us() const;
  int64_t ended_us() const;                       // 0 while running
  int64_t last_seen_us() const;                   // newest of heartbeat and last row
  uint64_t points() const;                        // stored, all writers
  std::vector<MetricInfo> metrics() const;        // by name
  std::vector<std::string> text_metrics() const;  // names under which texts were logged, by name
  LossAccount losses() const;
  const std::vector<WriterSnapshot>& writers() const;  // by (attempt, started, id)
  const std::vector<Liveness>& liveness() const;       // one a writer, as of the last snapshot
  const std::vector<std::string>& problems() const;    // one line each; reads add to it
  // kOk, or the worst among the problems: kVersion (a part was written by a newer version), else kCorrupt, else
  // another.
  Code problem_code() const;

  // Rows of a metric up to the last snapshot. all=false: the resolved view, sorted by step: of the rows with one step
  // the last one counts, and later attempts win; rows without a step keep their order behind. all=true: every row, by
  // writer in the order of writers(), within it in the order logged (calls of several threads within one drain: by
  // time). kNotFound names close metrics. A frame that cannot be decoded is named in problems() and the rest is read.
  // Cost: reads every frame of the writers that logged it, decodes its own columns only; 24 bytes of memory a row.
  Result<History> history(const std::string& metric, bool all = false);
  // Several metrics for one reading of the frames; the result is in the order asked.
  Result<std::vector<History>> histories(const std::vector<std::string>& metrics, bool all = false);
  // Of several metrics the rows that `selection` chooses, resolved unless it asks for all. Beside kNotFound for a
  // metric the errors of check_selection(). Cost: as above; rows outside a range of steps or times take no memory.
  Result<std::vector<History>> read(const Selection& selection);
  // Text logged under metric keys, by key; resolved or all as above. Cost: reads every frame.
  Result<std::map<std::string, std::vector<TextRow>>> texts_by_metric(bool all = false);
  Result<std::vector<TextRow>> texts(const std::string& metric, bool all = false);

  // The metric as of the last snapshot, valid until refresh(). kNotFound names close metrics.
  Result<const MetricInfo*> metric(const std::string& name) const;
  // Of writers()[index], for readers of single frames; valid until refresh(). What they find damaged goes to
  // problems() by note_damage().
  WriterReader* reader(size_t index);
  void note_damage(std::vector<std::string> lines);

 private:
  struct Impl;
  explicit RunView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
