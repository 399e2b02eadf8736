// SPDX-License-Identifier: MIT
#include "storage/recovery/recovery.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/frame_builder.h"
#include "journal/ring/liveness.h"
#include "journal/ring/place.h"
#include "model/media.h"
#include "storage/database/writer_parts.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/replay.h"
#include "storage/recovery/trash.h"
#include "storage/recovery/waiting_points.h"
#include "storage/sqlite/wal_scan.h"
#include "storage/store/run_folder.h"
#include "storage/writer/append_log.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

// Restores a run from the trash if the process that removed it was killed half way. Returns false if the run is
// removed; the caller removes the journal too.
Result<bool> undo_removal(const Store& store, const RunIdentity& run, RecoveryReport* report) {
  const auto found = store.find_run(run.project, run.id);
  if (found && found->identity.uid == run.uid) return true;
  const bool is_elsewhere = store.find_run_by_uid(run.uid, run.project).has_value();  // moved, or a copy of it
  const auto removal = resolve_removal(store, run.uid);
  if (!removal.ok()) return removal.status();
  if (*removal == RemovalState::kUndone)
    report->add_problem(Code::kCorrupt,
                        fmt::format("{}/{}: a removal died half way; the run is back", run.project, run.id));
  return is_elsewhere || *removal != RemovalState::kDecided;
}

// The rest of the time that a call may wait for others.
using Patience = std::chrono::nanoseconds;

// Waits while the process is dead and the journal's lock is held: another recoverer holds it then, mostly for a moment.
Result<std::unique_ptr<DeadJournal>> open_dead(const std::string& dir, const WriterIdentity& writer, Patience* left) {
  constexpr std::chrono::milliseconds kPause{5};
  for (;;) {
    auto journal = DeadJournal::open(dir, &writer);
    if (journal.ok() || journal.status().code() != Code::kBusy || left->count() <= 0 ||
        in_process_table(writer) != Liveness::kDead)
      return journal;
    std::this_thread::sleep_for(kPause);
    *left -= kPause;
  }
}

// The stored data of that writer; an empty snapshot if nothing can be read. `refused`: an error of the disk or of
// another process that may pass.
WriterSnapshot snapshot_of(const RunFolder& folder, const Id128& writer, Status* refused = nullptr) {
  WriterSnapshot out;
  for (const std::string& path : folder.writer_dbs()) {
    if (path.find(writer.hex()) == std::string::npos) continue;
    auto reader = WriterReader::open(path);
    auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    const Code code = snapshot.status().code();
    if (refused != nullptr && (code == Code::kIo || code == Code::kBusy)) *refused = snapshot.status();
    if (snapshot.ok()) out = std::move(*snapshot);
  }
  return out;
}

// What another recoverer of a journal has not stored yet; empty if that is nothing. The content of unreadable rings is
// not included.
std::string unfinished_text(const Store& store, const std::string& dir, const WriterIdentity& writer) {
  const auto folder = store.find_run(writer.run.project, writer.run.id);
  auto journal = DeadJournal::look(dir, &writer);
  if (!journal.ok()) return "";
  const WriterSnapshot stored = folder ? snapshot_of(*folder, writer.writer) : WriterSnapshot();
  const Logged waiting = unstored_logged(stored, journal->get());
  const uint64_t unread = (*journal)->unreadable_rings();
  std::string what;
  if (waiting.points > 0 || waiting.texts > 0) what = counted_text(waiting);
  if (unread > 0)
    what += fmt::format("{}an unknown number of points in {} ring{} that cannot be read", what.empty() ? "" : " and ",
                        unread, unread == 1 ? "" : "s");
  if (what.empty()) return "";
  return fmt::format(
      "{} of {}/{} wait in the journal of {} pid {}, which has ended: another process or thread has been recovering it "
      "for more than {} s; what is read now lacks them",
      what, writer.run.project, writer.run.id, writer.host, writer.pid, kRecovererWait.count());
}

// The start of a next part: the state of the run, its series, and the stored ring positions.
Status append_state(const DeadJournal& journal, const WriterSnapshot& stored, WriterStore* db) {
  std::vector<FrameRecord> records;
  FrameBuilder builder;
  uint64_t number = std::max(journal.highest_number(), stored.last_seq);
  const auto keep = [&] {
    Frame frame = builder.take();
    frame.writer = journal.identity().writer;
    frame.seq = ++number;
    records.push_back({frame.seq, encode_frame(frame), {}});
  };
  for (const SeriesStats& series : stored.series) {
    if (builder.series_held() >= kSeriesAFrame) keep();
    builder.add_series(series.def);
  }
  for (const Attribute& attribute : stored.attributes) {
    if (!is_state(attribute.type)) continue;
    if (builder.approximate_bytes() >= kBytesAFrame) keep();
    builder.add_event(attribute.type, 0, false, attribute.time_us, encode_cbor(state_payload(attribute)));
  }
  builder.add_event(EventType::kNote, 0, false, realtime_us(), encode_cbor(Value::Map{{"kind", "next_part"}}));
  keep();
  records.front().positions = stored.positions;
  return append_log(db, records, false).status();
}

// More points than any part holds. The number of points in a part that cannot be read, or at which a reader of it has
// stopped, is unknown: the next part starts after all possible positions.
constexpr uint64_t kPointsAPartMax = uint64_t{1} << 48;

// Opens the last part of a dead writer; makes the next one if that cannot be written: it is damaged, SQLite would drop
// commits of its log, or it is a database where none can be written.
Result<std::unique_ptr<WriterStore>> open_for_recovery(const std::string& folder, const DeadJournal& journal,
                                                       const WriterSnapshot& stored, RecoveryReport* report) {
  WriterIdentity writer = journal.identity();
  const std::string path = join_path(folder, writer.writer.hex() + ".db");
  const StoreFilesChoice files = choose_store_files(folder, store_files_option());
  const std::vector<PartFile> parts = parts_of(path);
  const PartFile* last = parts.empty() ? nullptr : &parts.back();
  std::string why;
  if (last != nullptr) {
    writer.part = last->number;
    // it is complete once the log is restored
    if (!last->is_frames) TRACKER_RETURN_IF_ERROR(check_log_files(last->path));
    if (!last->is_frames) why = scan_wal(last->path + "-wal").damage();
    if (!why.empty()) why = fmt::format("{}-wal is damaged: {}", last->path, why);
    const bool is_plain = !last->is_frames && files.kind == StoreFiles::kFrames && !path_exists(last->path + "-wal");
    if (why.empty() && !is_plain) {
      auto db = open_writer_store(folder, writer, files.kind);
      // A part without a frame, whose writer died while making it: the parts before it may hold more than it records.
      const bool is_late =
          db.ok() && writer.part > 1 && (*db)->bytes_stored() == 0 && (*db)->last_seq() < stored.last_seq;
      if (!is_late && (db.ok() || db.status().code() != Code::kCorrupt)) return db;
      if (!is_late) why = db.status().message();
    }
    if (journal.is_written()) return Status(Code::kBusy, path + " belongs to a process that lives");
    if (++writer.part > kPartsMax)
      return Status(Code::kLimit, fmt::format("{} has {} parts", path, kPartsMax),
                    "what waits in the journal stays there; restore the last part from a copy");
    writer.before = parts_before(stored);
    if (!why.empty()) writer.before.log_points += kPointsAPartMax;
  }
  if (!why.empty())
    report->add_problem(Code::kCorrupt,
                        fmt::format("{}; it is not written any more, and what waits in the journal is stored in {}",
                                    why, last_name(part_path(path, static_cast<int>(writer.part)))));
  return open_writer_store(folder, writer, files.kind);
}

// Reports what no journal has, without any damage of the journal.
void report_lost(const RecoveredWriter& recovered, const std::string& dir, RecoveryReport* report) {
  if (recovered.lost_in_memory > 0)
    report->add_problem(
        Code::kCorrupt,
        fmt::format("{}: {} points that were accepted are lost: there was no room for them in {}, so they "
                    "were in the memory of the process, which was killed before they were committed",
                    dir, recovered.lost_in_memory, parent_path(dir)));
  if (recovered.texts_lost_in_memory > 0)
    report->left.push_back(fmt::format(
        "{}/{}: {} text{} too large for a ring died in the memory of the process, which was killed before they were "
        "committed",
        recovered.identity.run.project, recovered.identity.run.id, recovered.texts_lost_in_memory,
        recovered.texts_lost_in_memory == 1 ? "" : "s"));
  if (recovered.removed.points + recovered.removed.texts > 0)
    report->left.push_back(fmt::format(
        "{}/{}: a file, or a part of one, is gone or damaged; what it stored is counted as lost: {}; config, summary, "
        "tags and alerts that it stored may be gone too",
        recovered.identity.run.project, recovered.identity.run.id, counted_text(recovered.removed)));
}

// Everything that could be read of it is stored.
void retire_journal(DeadJournal* journal, const WriterSnapshot& stored, RecoveryReport* report) {
  // An earlier recoverer may have recorded the damage and died before it renamed the journal.
  const Value* known = stored.recovered ? stored.recovered->find("damaged") : nullptr;
  if (journal->problems().empty() && known == nullptr) {
    journal->remove();
  } else if (auto kept = journal->set_aside(); kept.ok()) {
    report->add_problem(Code::kCorrupt, "what could be read is recovered; the damaged journal is kept in " + *kept);
  } else {
    report->add_problem(Code::kCorrupt, kept.status().to_string());
  }
}

// For a rank that was killed while it waited for the run of rank 0: it is not known which run it was to record into.
Status forget_waiting(const std::string& dir, const WriterIdentity& writer, Patience* patience,
                      RecoveryReport* report) {
  auto journal = open_dead(dir, writer, patience);
  if (!journal.ok())
    return journal.status().code() == Code::kBusy || journal.status().code() == Code::kNotFound ? Status()
                                                                                                : journal.status();
  report->left.push_back(
      fmt::format("{}: rank {} (pid {} on {}) was killed before it found the run of rank 0: what it "
                  "logged is lost: {}",
                  writer.run.project, writer.rank, writer.pid, writer.host, counted_text((*journal)->accepted())));
  (*journal)->remove();
  return {};
}

Status recover_one(const Store& store, const std::string& dir, const Id128& run_uid, JournalsOf whose,
                   Patience* patience, RecoveryReport* report) {
  const auto writer = writer_of_journal(dir, store);
  if (!writer.ok()) return writer.status().code() == Code::kNotFound ? Status() : writer.status();
  const WriterIdentity& identity = *writer;
  if (!run_uid.is_zero() && identity.run.uid != run_uid) return {};
  if (!is_of(identity, store) && (whose == JournalsOf::kPlace || identity.store != store.id())) return {};
  if (identity.run.uid.is_zero()) return forget_waiting(dir, identity, patience, report);
  auto journal = open_dead(dir, identity, patience);
  if (!journal.ok()) {
    const Code code = journal.status().code();
    if (code == Code::kBusy) report->living.push_back(identity);
    if (code == Code::kBusy && in_process_table(identity) == Liveness::kDead)
      if (std::string text = unfinished_text(store, dir, identity); !text.empty())
        report->unfinished.push_back({identity.run, std::move(text)});
    return code == Code::kBusy || code == Code::kNotFound ? Status() : journal.status();
  }
  const auto stays = undo_removal(store, identity.run, report);
  if (!stays.ok()) return stays.status();
  if (!*stays) {
    (*journal)->remove();
    return {};
  }
  auto folder = folder_of_run(store, identity.run, identity.writer);
  if (!folder.ok()) return folder.status();
  Status refused;
  WriterSnapshot stored = snapshot_of(*folder, identity.writer, &refused);
  TRACKER_RETURN_IF_ERROR(refused);
  if (stored.frames_file)
    for (LogDamage& damage : stored.damage)
      if (damage.code != Code::kOk) report->add_problem(damage.code, std::move(damage.what));
  auto db = open_for_recovery(folder->path, **journal, stored, report);
  if (!db.ok()) return db.status();
  // Checked after the database was read. If the process is alive after all, it may have stored frames that are newer
  // than our copy of the rings, or that are still in the rings.
  const bool grows =
      (*db)->last_seq() > stored.last_seq && snapshot_of(*folder, identity.writer).last_seq > stored.last_seq;
  if (grows || (*journal)->is_written()) {
    report->living.push_back(identity);
    return {};
  }
  (*db)->keep_heartbeat();
  const bool is_new_part = stored.last_seq > 0 && (*db)->bytes_stored() == 0;
  const uint64_t stored_seq = is_new_part ? stored.last_seq : (*db)->last_seq();
  if (is_new_part) TRACKER_RETURN_IF_ERROR(append_state(**journal, stored, db->get()));
  RecoveredWriter recovered;
  recovered.identity = (*journal)->identity();
  recovered.identity.run = folder->identity;  // by its label in this store
  recovered.folder = folder->path;
  const Status replayed = replay(dir, journal->get(), db->get(), stored, stored_seq, &recovered);
  const bool lives = (*db)->change() == PartChange::kForeignFrames;  // its process is storing frames itself
  if (lives) report->living.push_back(identity);
  if (!replayed.ok()) return lives ? Status() : replayed;
  for (const std::string& problem : (*journal)->problems()) report->add_problem(Code::kCorrupt, problem);
  report_lost(recovered, dir, report);
  retire_journal(journal->get(), stored, report);
  report->recovered.push_back(std::move(recovered));
  return {};
}

bool is_of_this_user(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0 && st.st_uid == ::geteuid();
}

size_t dead_journals_of(const Store& store, const std::string& root) {
  const std::vector<std::string> dirs = journal_dirs(root);
  return static_cast<size_t>(std::count_if(dirs.begin(), dirs.end(), [&store](const std::string& dir) {
    const auto writer = writer_of_journal(dir, store);
    return writer.ok() && is_of(*writer, store) && is_locked(dir) == false;
  }));
}

}  // namespace

void RecoveryReport::add_problem(Code code, std::string text) {
  // A disk error, or a lock of another process, is not damage.
  const bool is_specific = code == Code::kVersion || code == Code::kIo || code == Code::kBusy || code == Code::kTimeout;
  worst = worse_of(worst, is_specific ? code : Code::kCorrupt);
  problems.push_back(std::move(text));
}

Result<RunFolder> folder_of_run(const Store& store, const RunIdentity& run, const Id128& writer) {
  Store mutable_store = store;
  const auto found = store.find_run(run.project, run.id);
  if (found && found->identity.uid == run.uid) return *found;
  // Under another name: the run was renamed, or two runs had one name.
  if (auto other = store.find_run_by_uid(run.uid, run.project)) return std::move(*other);
  // If the run of a folder's files is unknown they are those of another run, unless this writer's files are among them.
  const bool own = store.holds_writer(run.project, run.id, writer);
  if (own || !store.lacks_run_file(run.project, run.id)) {
    auto folder = mutable_store.open_or_create_run(run.project, run.id, run.uid, {}, nullptr, run.created_us);
    if (folder.ok() ? folder->identity.uid == run.uid : !is_of_another_run(folder.status())) return folder;
    if (!folder.ok() && own && folder.status().code() != Code::kExists) {
      RunFolder mine{run, store.run_path(run.project, run.id), folder.status().message(), folder.status().code()};
      if (repair_run_document(&mine).ok()) return mine;
    }
  }
  return mutable_store.create_run(run.project, run.id, run.uid, {}, run.created_us);
}

RecoveryReport recover_dead_writers(const Store& store, Id128 run_uid, JournalsOf whose) {
  RecoveryReport report;
  Patience patience = kRecovererWait;
  for (const std::string& root : journal_roots(store.path())) {
    if (!is_directory(root)) continue;
    if (const auto listed = list_dir(root); !listed.ok()) {
      if (is_of_this_user(root))
        report.add_problem(Code::kIo, "what waits in journals there is not recovered: " + listed.status().to_string());
      continue;
    }
    if (const Status own = check_private_dir(root); !own.ok()) {  // other users may have written its files
      if (const size_t waiting = is_of_this_user(root) ? dead_journals_of(store, root) : 0; waiting > 0)
        report.add_problem(
            Code::kIo, fmt::format("what waits in {} of dead processes is not recovered: {}",
                                   waiting == 1 ? "a journal" : fmt::format("{} journals", waiting), own.to_string()));
      continue;
    }
    remove_unborn_journals(root);
    for (const std::string& dir : journal_dirs(root)) {
      const Status status = recover_one(store, dir, run_uid, whose, &patience, &report);
      if (!status.ok()) report.add_problem(status.code(), fmt::format("{}: {}", dir, status.to_string()));
    }
  }
  // A process that dies while it makes a file leaves it under a temporary name. Searched only if a process has died.
  if (!report.recovered.empty()) {
    remove_leftovers(store.path(), kLeftoverAge.count());
    for (const RunFolder& run : store.list_runs()) {
      remove_leftovers(run.path, kLeftoverAge.count());
      remove_leftovers(join_path(run.path, kMediaFolder), kLeftoverAge.count());
    }
  }
  return report;
}

}  // namespace tracker::internal
