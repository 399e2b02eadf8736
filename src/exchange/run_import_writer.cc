// SPDX-License-Identifier: MIT
// The writers of an imported run: one for new rows, and one more after each restart of the source.
#include <algorithm>

#include "base/clock.h"
#include "exchange/run_import.h"
#include "model/key.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "tracker/version.h"

namespace tracker::internal {

Result<std::string> RunImport::folder() {
  if (!run_path_.empty()) return run_path_;
  auto made = store_->make_folder();
  if (!made.ok()) return made.status();
  folder_ = run_path_ = std::move(*made);
  TRACKER_RETURN_IF_ERROR(create_file_exclusive(join_path(folder_, kRunFile), run_document(out_.run), 0666));
  return run_path_;
}

Status RunImport::open_database() {
  const RunIdentity& run = out_.run;
  if (auto made = folder(); !made.ok()) return made.status();
  writer_.writer = Id128::random();
  writer_.run = run;
  writer_.store = store_->store().id();
  writer_.store_path = store_->store().path();
  writer_.run_dir = join_path(join_path(kRunsFolder, folder_name(run.project)), folder_name(run.id));
  writer_.journal = kImportJournal;
  writer_.host = identity_.host;
  writer_.started_us = !out_.is_new ? realtime_us() : std::max({run.created_us, writer_.started_us, resumed_us_});
  writer_.version = TRK_VERSION_STRING;
  writer_.files = "sqlite";
  if (known_ != nullptr || !attempts_.empty()) {
    writer_.continues = attempt_to_continue(attempts_, resume_step_);
    writer_.resume_step = resume_step_;
    int64_t last = attempts_.empty() ? 0 : attempts_.back().attempt;
    for (const AttemptClaim& claim : attempt_claims(run_path_)) last = std::max(last, claim.attempt);
    writer_.attempt = last + 1;
    TRACKER_RETURN_IF_ERROR(claim_attempt(run_path_, {writer_.attempt, std::nullopt, 1}));
  }
  resume_step_.reset();
  attempts_.emplace_back();
  attempts_.back().attempt = writer_.attempt;
  attempts_.back().continues = writer_.continues;
  attempts_.back().resume_step = writer_.resume_step;
  auto database = DatabaseBuild::create(join_path(run_path_, writer_.writer.hex() + ".db"), writer_);
  if (!database.ok()) return database.status();
  database_ = std::move(*database);
  return {};
}

Status RunImport::flush() {
  if (database_ == nullptr) TRACKER_RETURN_IF_ERROR(open_database());
  Frame frame = frame_.take();
  event_bytes_ = 0;
  frame.writer = writer_.writer;
  frame.seq = ++seq_;
  std::vector<FrameRecord> records;
  records.push_back({frame.seq, encode_frame(frame), {}});
  frame = Frame();
  TRACKER_RETURN_IF_ERROR(database_->append(records, false));
  return database_->compact_all(false);
}

void RunImport::begin_writer() {
  frame_ = FrameBuilder();
  table_ = SeriesTable();
  frame_.use_series(&table_);
  ids_.clear();
  skip_.assign(1, nullptr);
  stored_rows_.assign(1, nullptr);
  last_series_ = 0;
  seq_ = media_calls_ = 0;
  added_before_ = added();
}

Status RunImport::end_writer(RunState state, int64_t exit_code, int64_t ended_us) {
  const int64_t created_us = out_.run.created_us;
  const int64_t end_us = ended_us != 0 ? ended_us : last_us_ != 0 ? std::max(last_us_, created_us) : created_us;
  const Value end = Value::Map{{"state", run_state_name(state)}, {"exit_code", exit_code}, {"reason", ""}};
  frame_.add_event(EventType::kEnd, 0, false, end_us, encode_cbor(end));
  TRACKER_RETURN_IF_ERROR(flush());
  TRACKER_RETURN_IF_ERROR(database_->heartbeat(end_us));
  TRACKER_RETURN_IF_ERROR(database_->compact_all(true));
  TRACKER_RETURN_IF_ERROR(database_->finish());
  database_.reset();
  return {};
}

Status RunImport::restart(int64_t step, int64_t time_us) {
  if (++restarts_ > kImportRestartsMax) {
    leave_out("restarts");
    return {};
  }
  // Settings alone need no attempt of their own.
  if (database_ != nullptr || added() > added_before_ || attempts_.empty()) {
    TRACKER_RETURN_IF_ERROR(end_writer(RunState::kFinished, 0, 0));
    begin_writer();
  }
  const int64_t shown = step == INT64_MIN ? step : step - 1;
  resume_step_ = std::min(shown, resume_step_.value_or(shown));
  resumed_us_ = time_us;
  return {};
}

}  // namespace tracker::internal
