// SPDX-License-Identifier: MIT
#include "storage/recovery.h"

#include <fmt/format.h>

#include <chrono>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/dead_journal.h"
#include "journal/liveness.h"
#include "journal/place.h"
#include "journal/wipe_memory.h"
#include "model/key.h"
#include "storage/frames_log.h"
#include "storage/store_files.h"

namespace tracker::internal {
namespace {

// Frames from the spill file that the database does not have. A gap in the sequence ends them: what follows would be
// read again from the rings under the same number.
std::vector<FrameRecord> missing_frames(const DeadJournal& journal, uint64_t last_seq) {
  std::vector<FrameRecord> out;
  for (const FrameRecord& frame : journal.spilled()) {
    if (frame.seq <= last_seq + out.size()) continue;
    if (frame.seq != last_seq + out.size() + 1) break;
    out.push_back(frame);
  }
  return out;
}

uint64_t points_in(const FrameRecord& record) {
  auto frame = decode_frame(record.bytes);
  return frame.ok() ? frame->points() : 0;
}

Status append_frame(WriterStore* db, Frame frame, std::vector<RingPosition> positions, const Id128& writer) {
  frame.writer = writer;
  frame.seq = db->last_seq() + 1;
  FrameRecord record{frame.seq, encode_frame(frame), std::move(positions)};
  return db->append({std::move(record)}, false);
}

// Replays everything; the journal is removed by the caller only after this returned ok. `noted`: the log has its end or
// the note of an earlier recoverer, which one that finds nothing left must not take the place of.
Status replay(DeadJournal* journal, WriterStore* db, bool ended, bool noted, RecoveredWriter* out) {
  const Id128& writer = journal->identity().writer;
  const std::vector<FrameRecord> spilled = missing_frames(*journal, db->last_seq());
  for (const FrameRecord& record : spilled) {
    TRACKER_RETURN_IF_ERROR(db->append({record}, false));
    out->points += points_in(record);
    ++out->frames;
  }
  journal->start(db->positions());
  for (;;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    if (!journal->next(&builder, &positions)) break;
    Frame frame = builder.take();
    const uint64_t points = frame.points();
    TRACKER_RETURN_IF_ERROR(append_frame(db, std::move(frame), std::move(positions), writer));
    out->points += points;
    ++out->frames;
  }
  if (!ended && (!noted || out->frames > 0)) {
    Frame note;
    note.events.push_back({EventType::kNote, false, 0, realtime_us(),
                           encode_cbor(Value::Map{{"kind", "recovered"},
                                                  {"points", static_cast<int64_t>(out->points)},
                                                  {"frames", static_cast<int64_t>(out->frames)}})});
    TRACKER_RETURN_IF_ERROR(append_frame(db, std::move(note), {}, writer));
  }
  TRACKER_RETURN_IF_ERROR(db->append({}, true));
  const Status finished = db->finish();
  // A reader that holds a transaction keeps the WAL; everything is committed and fsynced all the same.
  return finished.code() == Code::kBusy || finished.code() == Code::kTimeout ? Status() : finished;
}

// What replay() would store behind what `stored` says.
uint64_t points_behind(const WriterSnapshot& stored, DeadJournal* journal) {
  uint64_t points = 0;
  std::vector<RingPosition> positions = stored.positions;
  for (const FrameRecord& record : missing_frames(*journal, stored.last_seq)) {
    points += points_in(record);
    for (const RingPosition& position : record.positions) set_position(position, &positions);
  }
  journal->start(positions);
  for (bool more = true; more;) {
    FrameBuilder builder;
    std::vector<RingPosition> reached;
    more = journal->next(&builder, &reached);
    points += builder.take().points();
  }
  return points;
}

Status recover_one(const Store& store, const std::string& dir, const Id128& run_uid, RecoveryReport* report) {
  auto definitions = read_definitions(dir);
  if (!definitions.ok()) return definitions.status().code() == Code::kNotFound ? Status() : definitions.status();
  const WriterIdentity& identity = definitions->identity;
  if (!is_of(identity, store)) return {};
  if (!run_uid.is_zero() && identity.run.uid != run_uid) return {};
  auto journal = DeadJournal::open(dir);
  if (!journal.ok()) {
    const Code code = journal.status().code();
    return code == Code::kBusy || code == Code::kNotFound ? Status() : journal.status();
  }
  auto folder = folder_of_run(store, identity.run);
  if (!folder.ok()) return folder.status();
  bool ended = false, noted = false;
  for (const std::string& path : folder->writer_dbs()) {
    if (path.find(identity.writer.hex()) == std::string::npos) continue;
    if (auto reader = WriterReader::open(path); reader.ok()) {
      auto snapshot = (*reader)->snapshot();
      ended = snapshot.ok() && snapshot->end.has_value();
      noted = snapshot.ok() && snapshot->recovered.has_value();
      if (snapshot.ok() && snapshot->frames_file)
        report->problems.insert(report->problems.end(), snapshot->damage.begin(), snapshot->damage.end());
    }
  }
  const StoreFilesChoice files = choose_store_files(folder->path, store_files_option());
  auto db = open_writer_store(folder->path, (*journal)->identity(), files.kind);
  if (!db.ok()) return db.status();
  RecoveredWriter recovered;
  recovered.identity = (*journal)->identity();
  TRACKER_RETURN_IF_ERROR(replay(journal->get(), db->get(), ended, noted, &recovered));
  for (const std::string& problem : (*journal)->problems()) report->problems.push_back(problem);
  if ((*journal)->problems().empty()) {
    (*journal)->remove();
  } else if (auto kept = (*journal)->set_aside(); kept.ok()) {
    report->problems.push_back("what could be read is recovered; the damaged journal is kept in " + *kept);
  } else {
    report->problems.push_back(kept.status().to_string());
  }
  report->recovered.push_back(std::move(recovered));
  return {};
}

}  // namespace

bool is_of(const WriterIdentity& writer, const Store& store) {
  return writer.store.is_zero() ? writer.store_path == store.path() : writer.store == store.id();
}

Result<RunFolder> folder_of_run(const Store& store, const RunIdentity& run) {
  Store mutable_store = store;
  auto folder = mutable_store.open_or_create_run(run.project, run.id, run.uid);
  if (!folder.ok() || folder->identity.uid == run.uid) return folder;
  for (const RunFolder& other : store.list_runs(run.project))
    if (other.identity.uid == run.uid) return other;
  return mutable_store.create_run(run.project, run.id, run.uid);
}

std::vector<WaitingPoints> points_waiting(const RunFolder& folder,
                                          const std::function<WriterSnapshot(const Id128& writer)>& stored) {
  std::vector<WaitingPoints> out;
  const std::string store_path = parent_path(parent_path(parent_path(folder.path)));
  for (const std::string& root : journal_roots(store_path)) {
    auto names = list_dir(root);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      const std::string dir = join_path(root, name);
      if (!Id128::from_hex(name) || !is_directory(dir)) continue;
      const auto definitions = read_definitions(dir);
      if (!definitions.ok() || definitions->identity.run.uid != folder.identity.uid) continue;
      auto journal = DeadJournal::look(dir);
      if (!journal.ok()) continue;
      WaitingPoints waiting{(*journal)->identity(), false, 0};
      waiting.live = probe_writer(waiting.writer) == Liveness::kLive;
      waiting.points = points_behind(stored(waiting.writer.writer), journal->get());
      if (waiting.points > 0) out.push_back(std::move(waiting));
    }
  }
  return out;
}

RecoveryReport recover_dead_writers(const Store& store, Id128 run_uid) {
  RecoveryReport report;
  for (const std::string& root : journal_roots(store.path())) {
    if (!is_directory(root) || !check_private_dir(root).ok()) continue;
    remove_unborn_journals(root);
    for (const std::string& dir : journal_dirs(root)) {
      const ForkGate inside_sqlite;
      const Status status = recover_one(store, dir, run_uid, &report);
      if (!status.ok()) report.problems.push_back(fmt::format("{}: {}", dir, status.to_string()));
    }
  }
  // A process that dies while it makes a file leaves it under another name. Looked for only where one has died.
  if (!report.recovered.empty()) {
    remove_leftovers(store.path(), kLeftoverAge.count());
    for (const RunFolder& run : store.list_runs()) remove_leftovers(run.path, kLeftoverAge.count());
  }
  return report;
}

}  // namespace tracker::internal
