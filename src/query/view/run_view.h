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

#include "journal/ring/liveness.h"
#include "model/metric_definition.h"
#include "query/rows/history.h"
#include "query/rows/metric_info.h"
#include "query/view/loss_account.h"
#include "storage/recovery/recovery.h"
#include "storage/store/store.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

struct AcrossRanks;
struct AttemptInfo;
struct RankStatus;
struct Selection;  // query/rows/selection.h

struct TextRow {
  int64_t step = 0;
  bool has_step = false;
  int64_t time_us = 0;
  int64_t attempt = 1, rank = 0;
  std::string text;
  Id128 writer = {};
};

class RunView {
 public:
  // Takes a snapshot of every writer. A damaged database is named in problems() and the others are still read.
  static Result<std::unique_ptr<RunView>> open(const RunFolder& folder);
  ~RunView();
  // Takes the snapshots again (a live run). What was found damaged is checked again.
  Status refresh();

  const RunIdentity& identity() const;
  const std::string& dir() const;
  RunState state() const;            // as of the last snapshot; never "running" for a process known to be dead
  std::string state_detail() const;  // exit code and last line of a traceback, "out of memory?" …, or empty
  std::string name() const;          // attribute "name", else the id
  Value config() const;              // nested map; last one wins by time, then writer id
  // Flat map: under each metric's name its last value, or what define_metric() says; explicit ones win and stay. As
  // metrics(): where a resume shadows a part of what a metric's value rests on, the directories of segments are read
  // and a few blocks decoded, once a snapshot (query/view/shown_rows.h).
  Value summary() const;
  Value attribute(const std::string& key) const;  // notes, tags, group, job_type; null when never set
  int64_t created_us() const;
  int64_t ended_us() const;                 // 0 while running
  int64_t last_seen_us() const;             // newest of heartbeat and last row
  uint64_t points() const;                  // stored, all writers
  std::vector<MetricInfo> metrics() const;  // by name
  // The same without a read of rows, for names, types and counts: nothing of `shown` is filled in where it is not
  // known. Valid until refresh().
  const std::vector<MetricInfo>& stored_metrics() const;
  std::vector<std::string> text_metrics() const;  // names under which texts were logged, by name
  // Processes of that attempt (0: of all) that neither ended nor were recovered and whose journal is not here, of an
  // attempt that left no writer one; of a run that goes on none are searched for. Cost: a few system calls a writer.
  uint64_t missing_journals(int64_t attempt = 0) const;
  int64_t newest_attempt() const;  // that was begun, whether it left a writer or not; 0: none
  bool all_ended() const;          // every attempt that was begun has a writer, and all of them ended or were recovered
  LossAccount losses() const;      // the first time after a snapshot the journals of this user are read
  std::vector<MetricAccount> losses_by_metric() const;  // by name; of every metric, also those that lost nothing
  const std::vector<WriterSnapshot>& writers() const;   // by (attempt, started, id)
  const std::vector<Liveness>& liveness() const;        // one a writer, as of the last snapshot
  const std::vector<std::string>& problems() const;     // one line each; reads add to it
  // kOk, or the worst among the problems: kVersion (a part was written by a newer version), else kCorrupt, else
  // another.
  // The first writer whose rows may be read later, by a newer version (kVersion) or once its disk lets them be (kIo).
  Status unread_for_now() const;
  Code problem_code() const;

  // Rows of a metric up to the last snapshot. all=false: the resolved view, sorted by step: of the rows with one step
  // the last one counts (duplicate_policy), later attempts win, and of the ranks of an attempt the lowest; what a
  // resume at a step shadows is left out; rows without a step come last in their order. all=true: every row, by
  // writer in the order of writers(), within it in the order logged (calls of several threads within one drain: by
  // time). kNotFound names close metrics. A frame that cannot be decoded is named in problems() and the rest is read.
  // Cost: reads every frame of the writers that logged it, decodes its own columns only; 24 bytes of memory a row.
  Result<History> history(const std::string& metric, bool all = false);
  // Several metrics for one reading of the frames; the result is in the order asked.
  Result<std::vector<History>> histories(const std::vector<std::string>& metrics, bool all = false);
  // Of several metrics the rows that `selection` chooses, resolved unless it asks for all. Beside kNotFound for a
  // metric the errors of check_selection(). Cost: as above; rows outside a range of steps or times take no memory, and
  // of segments' blocks at its ends little time.
  Result<std::vector<History>> read(const Selection& selection);
  // min, mean and max of a metric over the ranks, by step (query/view/across_ranks.h). Cost: as history(all=true).
  Result<AcrossRanks> across_ranks(const std::string& metric);
  std::vector<AttemptInfo> attempts() const;  // by number (query/view/attempts.h)
  std::vector<RankStatus> ranks() const;      // by rank, each in its newest attempt (query/view/rank_status.h)
  // Text logged under metric keys, by key; resolved or all as above. Cost: reads every frame.
  Result<std::map<std::string, std::vector<TextRow>>> texts_by_metric(bool all = false);
  Result<std::vector<TextRow>> texts(const std::string& metric, bool all = false);

  // The metric as of the last snapshot, valid until refresh(). kNotFound names close metrics.
  Result<const MetricInfo*> metric(const std::string& name) const;
  // Of writers()[index], for readers of single frames; valid until refresh(). What they find damaged goes to
  // problems() by note_damage().
  WriterReader* reader(size_t index);
  void note_damage(std::vector<LogDamage> lines);

 private:
  struct Impl;
  explicit RunView(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracker::internal
