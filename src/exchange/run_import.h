// SPDX-License-Identifier: MIT
// One run of another tool on its way into a store: rows with the steps and times they had, texts, config, summary. It
// is built beside its place and appears whole when finish() returns; without that nothing is left of it. Where the run
// was imported before, what is there is skipped and what is new becomes a further attempt; where nothing is, nothing is
// written. What is there is told by the marks of the source's parts where it has them, else rows and texts are counted
// metric by metric in the order of the source; media are told by name, step, time and place in their list, or by
// content. Threads: one at a time. Memory: one frame (kImportFrameBytes) and one segment; begin_part() says when it is
// more. Cost: some 0.3 µs a point.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exchange/import_store.h"
#include "journal/ring/frame_builder.h"
#include "journal/ring/series_table.h"
#include "model/alert.h"
#include "model/value.h"
#include "query/view/attempts.h"
#include "storage/frames/database_build.h"

namespace tracker::internal {

constexpr size_t kImportFrameBytes = 2u << 20;  // rows that are held before they become a frame
constexpr size_t kImportColumnsMax = 16'384;    // and columns
// Limit: metrics of an imported run. Beyond it: their points are left out and counted.
constexpr uint32_t kImportSeriesMax = 262'144;
// Limit: restarts of an imported run that take rows back. Beyond it: rows of further ones stay, and are counted.
constexpr size_t kImportRestartsMax = 1'000;  // each is a database; what comes behind more of them shadows nothing

class RunImport {
 public:
  static Result<std::unique_ptr<RunImport>> begin(ImportStore* store, const ImportIdentity& identity);
  // Of the run that begin() makes or finds.
  static Id128 uid_of(std::string_view kind, std::string_view key);
  ~RunImport();
  RunImport(const RunImport&) = delete;
  RunImport& operator=(const RunImport&) = delete;

  // The series of a metric in a type: to be asked once. 0 where the name is no metric's or there are too many: points
  // of series 0 are left out and counted.
  uint32_t series(std::string_view metric, ValueType type);
  // One call: values (raw bits of their series' types) that were logged together. kIo and what else the disk says.
  Status row(std::span<const ValuePair> values, int64_t step, bool has_step, int64_t time_us);
  Status text(std::string_view metric, std::string_view text, int64_t step, bool has_step, int64_t time_us);
  // Media that were logged together, each as its event says it (docs/formats/records.md), redacted. Files that they
  // name are in folder() already. media_is_stored: whether an earlier import stored the one at that place of its list
  // (0: it stands alone); to be asked of each, before its file is stored. One whose file was missing then is new.
  Status media(std::string_view metric, std::vector<Value> values, int64_t step, int64_t time_us);
  bool media_is_stored(std::string_view metric, int64_t step, int64_t time_us, int64_t index);
  // For a source that says no time of a medium: whether one of this content stands there, whenever it was logged.
  bool medium_is_there(std::string_view metric, int64_t step, const Value& value);
  // What the code of the run told people of (model/alert.h), in the order of the source: as many as an earlier import
  // stored are passed over. Those beyond kAlertsMax of a run are left out and counted.
  Status alert(AlertLevel level, std::string_view title, std::string_view text, int64_t step, bool has_step,
               int64_t time_us);
  // That the run made a version of an artifact, which is in the store: the payload of its event. One that the run says
  // already, by project, name and digest, is passed over.
  Status artifact(const Value& event, int64_t time_us);
  bool made_artifact(const std::string& name) const;  // in the run's project, as an earlier import said
  // The run's, made here where the run is new.
  Result<std::string> folder();
  // A value of config or summary, an attribute (name, notes, tags, group, job_type) or the definition of a metric.
  // Secrets are redacted. Config is held until finish(): of "a" and "a/b", which no config has side by side, the first
  // one becomes "a/value".
  Status set(EventType type, std::string_view key, Value value);
  // For a source in parts that grow one by one (files): how far a part was taken by earlier imports, 0 where it was
  // not. A run that was imported without marks has none: then rows are counted, as without parts.
  uint64_t taken(std::string_view part) const;
  // How far it is taken now; kept with the run if anything of it is new.
  void mark(std::string_view part, uint64_t taken);
  // For a source of which an import sees one part alone, as the file of one start of a run: says which, behind begin(),
  // and returns taken(part). An import of before parts had marks counted the rows of all parts as if they were one's: a
  // part that it may have seen is told by the steps and times of the rows that are there, which are read (some 80
  // bytes a row), unless all of them are of the one that the run began with (identity.created_us).
  uint64_t begin_part(std::string_view part);
  // What the part says of the run is to be set. Not of one that was taken before, without a mark, where another one
  // that came behind it counts.
  bool settings_count() const;
  const ImportedRun& so_far() const { return out_; }
  // The source says that a process went on at `step`: what is there of this step and of later ones is shadowed by what
  // follows, which becomes a further attempt. Series are to be asked for again.
  Status restart(int64_t step, int64_t time_us);
  // Something of the source that has no place here.
  void leave_out(const std::string& kind, uint64_t count = 1);

  // The run is there, as a whole. `ended_us` 0: when its last row was logged.
  Status finish(RunState state, int64_t exit_code = 0, int64_t ended_us = 0);

 private:
  struct Known;  // what an earlier import stored
  RunImport(ImportStore* store, ImportIdentity identity);
  Status prepare();
  Status load_known(const RunFolder& folder);
  void load_media();
  Status open_database();
  Status end_writer(RunState state, int64_t exit_code, int64_t ended_us);
  void begin_writer();
  uint64_t added() const { return out_.points + out_.texts + out_.media + out_.alerts + out_.artifacts; }
  Status add_event(EventType type, int64_t step, bool has_step, int64_t time_us, std::string payload);
  bool is_stored(uint32_t series, int64_t step, bool has_step, int64_t time_us);
  Status flush();
  Status flush_if_full();
  Status keep_marks();
  Status keep_config();
  Status store_setting(EventType type, std::string_view key, const Value& value);
  void see_time(int64_t time_us);

  ImportStore* const store_;
  ImportIdentity identity_;
  ImportedRun out_;
  std::string folder_;  // in which a new run is built; empty: it was there
  std::string run_path_;
  WriterIdentity writer_;
  std::vector<AttemptInfo> attempts_;  // those that are there, and those of this import
  // Of the attempt that is to come, and when it began.
  std::optional<int64_t> resume_step_;
  int64_t resumed_us_ = 0;
  std::unique_ptr<DatabaseBuild> database_;
  std::unique_ptr<Known> known_;
  std::map<std::string, uint64_t, std::less<>> marks_;  // of this import
  std::vector<std::pair<std::string, Value>> config_;   // as it came, redacted

  FrameBuilder frame_;
  SeriesTable table_;
  std::map<std::pair<std::string, ValueType>, uint32_t, std::less<>> ids_;
  std::vector<uint64_t*> skip_;  // [series]: points of its metric that are stored already; null: none
  struct RowSet;
  std::vector<RowSet*> stored_rows_;  // [series]: the same, by step and time
  std::vector<ValuePair> kept_;
  uint32_t last_series_ = 0;
  uint64_t seq_ = 0, media_calls_ = 0;
  uint64_t alerts_stored_ = 0;  // by earlier imports
  uint64_t added_before_ = 0;   // by earlier writers of this import
  size_t restarts_ = 0;
  int64_t last_us_ = 0, settings_us_ = 0;
  size_t event_bytes_ = 0;
  bool settings_changed_ = false;
};

}  // namespace tracker::internal
