// SPDX-License-Identifier: MIT
// Imports one run of another tool: rows with their steps and times, texts, config, summary. It is built in a temporary
// folder and appears complete when finish() returns; without that nothing of it remains. If the run was imported
// before, existing rows are skipped and new ones become a further attempt; without new ones nothing is written. What
// exists is recognised by the marks of the source's parts if there are any, else rows and texts are counted for each
// metric in the order of the source; media are recognised by name, step, time and place in their list, or by content.
// Threads: one at a time. Memory: one frame (kImportFrameBytes) and one segment; see begin_part() for more. Cost: about
// 0.3 µs a point.
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
constexpr size_t kImportRestartsMax = 1'000;  // each is a database; rows after further restarts shadow nothing

class RunImport {
 public:
  static Result<std::unique_ptr<RunImport>> begin(ImportStore* store, const ImportIdentity& identity);
  // The uid of the run that begin() makes or finds.
  static Id128 uid_of(std::string_view kind, std::string_view key);
  ~RunImport();
  RunImport(const RunImport&) = delete;
  RunImport& operator=(const RunImport&) = delete;

  // The series of a metric in a type: request it once. 0 if the name is not a metric's or there are too many: points of
  // series 0 are omitted and counted.
  uint32_t series(std::string_view metric, ValueType type);
  // One call: values (raw bits of their series' types) that were logged together. kIo and other errors of the disk.
  Status row(std::span<const ValuePair> values, int64_t step, bool has_step, int64_t time_us);
  Status text(std::string_view metric, std::string_view text, int64_t step, bool has_step, int64_t time_us);
  // Media that were logged together, each with the fields of its event (docs/formats/records.md), redacted. Their files
  // must be in folder() already. media_is_stored: whether an earlier import stored the one at that place of its list
  // (0: not in a list); call it for each, before its file is stored. One whose file was missing then is new.
  Status media(std::string_view metric, std::vector<Value> values, int64_t step, int64_t time_us);
  bool media_is_stored(std::string_view metric, int64_t step, int64_t time_us, int64_t index);
  // For a source without times of media: whether one of this content is stored, whenever it was logged.
  bool medium_is_there(std::string_view metric, int64_t step, const Value& value);
  // The run's alerts (model/alert.h), in the order of the source: as many as an earlier import stored are skipped.
  // Those beyond kAlertsMax of a run are omitted and counted.
  Status alert(AlertLevel level, std::string_view title, std::string_view text, int64_t step, bool has_step,
               int64_t time_us);
  // The run made a version of an artifact, which is in the store: the payload of its event. One that the run has
  // already, by project, name and digest, is skipped.
  Status artifact(const Value& event, int64_t time_us);
  bool made_artifact(const std::string& name) const;  // in the run's project, by an earlier import
  // The run's folder, made here for a new run.
  Result<std::string> folder();
  // A value of config or summary, an attribute (name, notes, tags, group, job_type) or the definition of a metric.
  // Secrets are redacted. Config is held until finish(): of "a" and "a/b", which cannot both be in a config, the first
  // becomes "a/value".
  Status set(EventType type, std::string_view key, Value value);
  // For a source of parts that grow one by one (files): how much of a part earlier imports have read, 0 if none. A run
  // that was imported without marks has none: then rows are counted, as without parts.
  uint64_t taken(std::string_view part) const;
  // How much is read now; stored with the run if anything of it is new.
  void mark(std::string_view part, uint64_t taken);
  // For a source of which an import reads only one part, such as the file of one start of a run: call it after begin();
  // returns taken(part). Imports before parts had marks counted the rows of all parts together: a part that one of them
  // may have read is recognised by the steps and times of the stored rows, which are read for that (about 80 bytes a
  // row), unless all of them belong to the part with which the run started (identity.created_us).
  uint64_t begin_part(std::string_view part);
  // Whether the part's settings of the run are to be stored. Not for one that was imported before, without a mark, if
  // the settings of a later part count.
  bool settings_count() const;
  const ImportedRun& so_far() const { return out_; }
  // A process of the source continued at `step`: stored rows of this and later steps are shadowed by those that follow,
  // which become a further attempt. Series must be requested again.
  Status restart(int64_t step, int64_t time_us);
  // Counts something of the source that cannot be stored.
  void leave_out(const std::string& kind, uint64_t count = 1);

  // Completes the run. `ended_us` 0: the time of its last row.
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
  Status add_event(EventType type, int64_t step, bool has_step, int64_t time_us, std::string_view payload);
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
  std::string folder_;  // in which a new run is built; empty: the run existed
  std::string run_path_;
  WriterIdentity writer_;
  std::vector<AttemptInfo> attempts_;  // existing ones, and those of this import
  // Of the next attempt, and when it started.
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
