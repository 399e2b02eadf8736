// SPDX-License-Identifier: MIT
#include "storage/recovery.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/dead_journal.h"
#include "journal/liveness.h"
#include "journal/place.h"
#include "model/key.h"
#include "model/media.h"
#include "model/system_series.h"
#include "storage/damaged_database.h"
#include "storage/frames_log.h"
#include "storage/journal_home.h"
#include "storage/run_folder.h"
#include "storage/store_files.h"
#include "storage/trash.h"
#include "storage/waiting_points.h"

namespace tracker::internal {
namespace {

Status append_frame(WriterStore* db, Frame frame, std::vector<RingPosition> positions, const Id128& writer) {
  frame.writer = writer;
  frame.seq = db->last_seq() + 1;
  FrameRecord record{frame.seq, encode_frame(frame), std::move(positions)};
  return db->append({std::move(record)}, false);
}

// Where the journal knows of points that a database took which is no more. They are counted in front of all that is
// replayed into the new one: behind the first commit nobody could tell any more that it is new.
Status count_removed(const std::string& dir, const DeadJournal& journal, WriterStore* db, Logged* lost) {
  if (db->last_seq() != 0 || !journal.spill_sound()) return {};
  auto copy = DeadJournal::look(dir, &journal.identity());
  if (!copy.ok()) return copy.status();
  const Logged found = logged_behind(WriterSnapshot(), copy->get());
  const Logged removed = (*copy)->removed(found);
  if (removed.points == 0 && removed.texts == 0) return {};
  Frame frame;
  frame.writer = journal.identity().writer;
  frame.seq = journal.spilled().empty() ? 1 : journal.spilled().front().seq - 1;
  if (frame.seq == 0) return {};  // the spill file begins with the first frame of all: nothing went before it
  *lost += removed;
  if (removed.points > 0) frame.losses.push_back({0, LossReason::kDisk, removed.points});
  if (removed.texts > 0) frame.losses.push_back({kTextLosses, LossReason::kDisk, removed.texts});
  // With where the rings are read from: the next recoverer is to know that what lies before is counted.
  return db->append({{frame.seq, encode_frame(frame), (*copy)->skipped()}}, false);
}

// Points that were accepted and lost behind the rings: neither what found no room nor what was no point.
uint64_t lost_of_accepted(const std::vector<Loss>& losses) {
  uint64_t out = 0;
  for (const Loss& loss : losses)
    if ((loss.reason == LossReason::kDamaged || loss.reason == LossReason::kDisk) && is_of_points(loss.series))
      out += loss.count;
  return out;
}

// The same of texts.
uint64_t texts_lost_of_accepted(const std::vector<Loss>& losses) {
  uint64_t out = 0;
  for (const Loss& loss : losses)
    if ((loss.reason == LossReason::kDamaged || loss.reason == LossReason::kDisk) && loss.series == kTextLosses)
      out += loss.count;
  return out;
}

// Why the writer died, where something hints at it: its cgroup has lost a process for want of memory since it began.
std::string hint_of_death(const WriterIdentity& writer) {
  const WriterIdentity self = this_process();  // elsewhere the same path is another group
  const bool same = writer.boot_id == self.boot_id && writer.pid_namespace == self.pid_namespace;
  if (writer.oom_file.empty() || !same) return "";
  const auto kills = read_oom_kills(writer.oom_file);
  if (!kills || *kills <= writer.oom_kills) return "";
  return "out of memory? The kernel has killed a process of its cgroup for that since it began";
}

// Frames for the numbers below `next`, the first of which has what is said here: `points` are missing, and what each
// series is, for the frame that said it may be gone.
Status append_gap(const DeadJournal& journal, uint64_t points, uint64_t next, std::vector<RingPosition> positions,
                  WriterStore* db) {
  std::vector<FrameRecord> records;
  for (uint64_t seq = db->last_seq() + 1; seq < next; ++seq) {
    Frame frame;
    frame.writer = journal.identity().writer;
    frame.seq = seq;
    if (records.empty()) {
      if (points > 0) frame.losses.push_back({0, LossReason::kDamaged, points});
      if (journal.series().size() <= kSeriesAFrame) frame.defs = journal.series();
    }
    records.push_back({seq, encode_frame(frame), {}});
  }
  if (!records.empty()) records.front().positions = std::move(positions);
  return db->append(records, false);
}

// What is there of a writer behind its database and what was replayed into it.
struct Replayed {
  uint64_t lost = 0;   // points that were accepted, and are counted as lost
  uint64_t texts = 0;  // that are stored, or were accepted and are counted as lost
  bool ended = false;  // its end is stored
};

// What the database and the spilled frames say of series, by id.
std::vector<SeriesDef> stored_series(const WriterSnapshot& stored, const DeadJournal& journal) {
  std::vector<SeriesDef> out;
  for (const SeriesStats& series : stored.series) out.push_back(series.def);
  for (const FrameRecord& record : journal.spilled())
    if (const auto frame = FrameView::parse(record.bytes); frame.ok())
      out.insert(out.end(), frame->defs().begin(), frame->defs().end());
  std::stable_sort(out.begin(), out.end(), [](const SeriesDef& a, const SeriesDef& b) { return a.id < b.id; });
  return out;
}

bool holds_end(const FrameRecord& record) {
  const auto frame = FrameView::parse(record.bytes);
  return frame.ok() && std::any_of(frame->events().begin(), frame->events().end(),
                                   [](const Event& event) { return event.type == EventType::kEnd; });
}

// What the spill file has behind the database. Where rings do not count what was in rings that are gone, what is
// missing in between is estimated; else count_missing() knows.
Status replay_spilled(const std::string& dir, DeadJournal* journal, WriterStore* db, Replayed* done,
                      RecoveredWriter* out) {
  const MissingFrames spilled = missing_frames(*journal, db->last_seq(), db->positions());
  if (!spilled.problem.empty()) journal->add_problem(dir + ": " + spilled.problem);
  size_t gaps = 0;
  for (size_t i = 0; i < spilled.frames.size(); ++i) {
    const FrameRecord& record = spilled.frames[i];
    if (gaps < spilled.gaps.size() && spilled.gaps[gaps] == i) {
      const uint64_t points = gaps++ == 0 && !journal->counts_all() ? journal->points_in_spill_damage() : 0;
      TRACKER_RETURN_IF_ERROR(append_gap(*journal, points, record.seq, {}, db));
      done->lost += points;
    }
    TRACKER_RETURN_IF_ERROR(db->append({record}, false));
    const Logged logged = logged_in(record, journal->series());
    out->points += logged.points;
    done->texts += logged.texts;
    done->ended |= holds_end(record);
    ++out->frames;
  }
  return {};
}

// Of the rows of a database those that the program has logged: samples of the system went through no ring.
uint64_t logged_of(uint64_t rows, const WriterSnapshot& stored) {
  for (const SeriesStats& series : stored.series)
    if (is_system_series(series.def.name)) rows -= std::min(rows, series.points);
  return rows;
}

// Once all is replayed: what the rings have accepted and is neither stored nor counted as lost (`known`) is lost, at
// least. A recoverer that dies before or behind this leaves the next one the same sum. What was in the memory of the
// process, of points in rings that were no files and of texts too large for any, is no damage of the journal: what
// finish() has said of texts is left to add_end().
Status count_missing(const std::string& dir, const Logged& known, DeadJournal* journal, WriterStore* db, Replayed* done,
                     RecoveredWriter* out) {
  const Logged accepted = journal->accepted();
  // A process that lives has them still, and says them again.
  const bool lives = in_process_table(journal->identity()) == Liveness::kLive;
  const uint64_t large = journal->end() || lives ? 0 : journal->texts_unfiled();
  const uint64_t points = accepted.points - std::min(accepted.points, known.points);
  const uint64_t all_texts = accepted.texts + large - std::min(accepted.texts + large, known.texts);
  const uint64_t in_memory = std::min(all_texts, large - std::min(large, journal->texts_committed())),
                 texts = all_texts - in_memory;
  if (points == 0 && all_texts == 0) return {};
  Frame frame;
  if (points > 0) frame.losses.push_back({0, LossReason::kDamaged, points});
  if (in_memory > 0) frame.losses.push_back({kTextLosses, LossReason::kDisk, in_memory});
  if (texts > 0) frame.losses.push_back({kTextLosses, LossReason::kDamaged, texts});
  TRACKER_RETURN_IF_ERROR(append_frame(db, std::move(frame), {}, journal->identity().writer));
  done->texts += all_texts;
  out->texts_lost_in_memory = in_memory;
  const bool unfiled = points > 0 && journal->accepted_unfiled() >= points;
  if (unfiled) out->lost_in_memory = points;
  std::string what = points > 0 && !unfiled ? fmt::format("{} points", points) : "";
  if (texts > 0) what += fmt::format("{}{} text{}", what.empty() ? "" : " and ", texts, texts == 1 ? "" : "s");
  if (!what.empty())
    journal->add_problem(
        fmt::format("{}: {} that were accepted are neither stored nor in the journal: they are lost, "
                    "and what was said of the run beside them (config, summary, tags, alerts)",
                    dir, what));
  return {};
}

// What finish() has said and what no frame has: where disk and journal were full the end found no room in them. Texts
// that were too large for a ring have died with the process then; what is missing of all that were accepted is said.
void add_end(const DeadJournal& journal, const Replayed& done, Frame* frame) {
  if (done.ended || !journal.end()) return;
  const JournalEnd& end = *journal.end();
  if (end.texts > done.texts) frame->losses.push_back({kTextLosses, LossReason::kDisk, end.texts - done.texts});
  frame->events.push_back({EventType::kEnd, false, 0, end.time_us, end.payload});
}

// Replays everything; the journal is removed by the caller only after this returned ok. `stored`: before; its end, or
// the note of an earlier recoverer, is not taken the place of by one that finds nothing left.
Status replay(const std::string& dir, DeadJournal* journal, WriterStore* db, const WriterSnapshot& stored,
              RecoveredWriter* out) {
  const Id128& writer = journal->identity().writer;
  const bool ended = stored.end.has_value(), noted = stored.recovered.has_value(), afresh = db->last_seq() == 0;
  const uint64_t logged_before = logged_of(db->points_stored(), stored);
  const bool texts_known = stored.last_seq == db->last_seq();  // else it could not be read
  journal->complete_series(stored_series(stored, *journal));
  Logged removed;
  TRACKER_RETURN_IF_ERROR(count_removed(dir, *journal, db, &removed));
  out->removed = removed;
  Replayed done;
  done.lost = lost_of_accepted(stored.losses) + removed.points;
  done.texts = stored.texts() + texts_lost_of_accepted(stored.losses) + removed.texts;
  done.ended = ended;
  TRACKER_RETURN_IF_ERROR(replay_spilled(dir, journal, db, &done, out));
  if (!done.ended && !noted && !journal->end() && !db->positions().empty()) journal->miss_rings();
  journal->start(db->positions(), afresh);
  if (journal->skipped_points() > 0 && !journal->counts_all()) {
    TRACKER_RETURN_IF_ERROR(
        append_gap(*journal, journal->skipped_points(), db->last_seq() + 2, journal->skipped(), db));
    done.lost += journal->skipped_points();
  }
  for (;;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    if (!journal->next(&builder, &positions)) break;
    Frame frame = builder.take();
    const uint64_t points = frame.points();
    done.lost += lost_of_accepted(frame.losses);
    done.texts += frame.texts() + texts_lost_of_accepted(frame.losses);
    TRACKER_RETURN_IF_ERROR(append_frame(db, std::move(frame), std::move(positions), writer));
    out->points += points;
    ++out->frames;
  }
  const uint64_t texts = texts_known ? done.texts : UINT64_MAX;
  TRACKER_RETURN_IF_ERROR(
      count_missing(dir, {logged_before + out->points + done.lost, texts}, journal, db, &done, out));
  Frame note;
  add_end(*journal, done, &note);
  if (!ended && (!noted || out->frames > 0)) {
    Value payload = Value::Map{{"kind", "recovered"},
                               {"points", static_cast<int64_t>(out->points)},
                               {"frames", static_cast<int64_t>(out->frames)}};
    if (journal->unreadable_rings() > 0) payload.set("unread", static_cast<int64_t>(journal->unreadable_rings()));
    if (std::string hint = hint_of_death(journal->identity()); !hint.empty()) payload.set("hint", std::move(hint));
    if (journal->got_sigterm())
      note.events.push_back({EventType::kAttribute, false, 0, realtime_us(), preempted_payload(kSigterm)});
    note.events.push_back({EventType::kNote, false, 0, realtime_us(), encode_cbor(payload)});
  }
  if (!note.empty()) TRACKER_RETURN_IF_ERROR(append_frame(db, std::move(note), {}, writer));
  TRACKER_RETURN_IF_ERROR(db->append({}, true));
  const Status finished = db->finish();
  // A reader that holds a transaction keeps the WAL; everything is committed and fsynced all the same.
  return finished.code() == Code::kBusy || finished.code() == Code::kTimeout ? Status() : finished;
}

// A run whose removal somebody was killed in stands in the trash. False: it is removed, and the journal is to go, too.
Result<bool> undo_removal(const Store& store, const RunIdentity& run, RecoveryReport* report) {
  const auto found = store.find_run(run.project, run.id);
  if (found && found->identity.uid == run.uid) return true;
  for (const RunFolder& other : store.list_runs(run.project))
    if (other.identity.uid == run.uid) return true;
  const auto removal = settle_removal(store, run.uid);
  if (!removal.ok()) return removal.status();
  if (*removal == RemovalState::kUndone)
    report->add_problem(Code::kCorrupt,
                        fmt::format("{}/{}: a removal died half way; the run is back", run.project, run.id));
  return *removal != RemovalState::kDecided;
}

// Journals of dead processes by the store that they are left to.
using LeftTo = std::map<std::string, size_t>;

// How long a call has still to wait for others.
using Patience = std::chrono::nanoseconds;

// A journal whose process is dead and that is held all the same is another recoverer's, who is mostly done in a moment.
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

// What is stored of that writer; of nobody where nothing can be read. `refused`: a disk, or another process, that may
// let it be read the next time.
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

// What of a journal that somebody else recovers is not stored yet; empty where that is nothing. Of rings that nobody
// can read it is not known how much.
std::string unfinished_text(const Store& store, const std::string& dir, const WriterIdentity& writer) {
  const auto folder = store.find_run(writer.run.project, writer.run.id);
  auto journal = DeadJournal::look(dir, &writer);
  if (!journal.ok()) return "";
  const WriterSnapshot stored = folder ? snapshot_of(*folder, writer.writer) : WriterSnapshot();
  const Logged waiting = logged_behind(stored, journal->get());
  const uint64_t unread = (*journal)->unreadable_rings();
  std::string what;
  if (waiting.points > 0 || waiting.texts > 0)
    what = fmt::format("{} points and {} texts", waiting.points, waiting.texts);
  if (unread > 0)
    what += fmt::format("{}an unknown number of points in {} ring{} that cannot be read", what.empty() ? "" : " and ",
                        unread, unread == 1 ? "" : "s");
  if (what.empty()) return "";
  return fmt::format(
      "{} of {}/{} wait in the journal of {} pid {}, which has ended: another process or thread has been recovering it "
      "for more than {} s; what is read now lacks them",
      what, writer.run.project, writer.run.id, writer.host, writer.pid, kRecovererWait.count());
}

// The store of a dead writer; of a database that was overwritten a new one takes the place.
Result<std::unique_ptr<WriterStore>> open_for_recovery(const std::string& folder, const DeadJournal& journal,
                                                       WriterSnapshot* stored, RecoveryReport* report) {
  const WriterIdentity& writer = journal.identity();
  const std::string path = join_path(folder, writer.writer.hex() + ".db");
  const StoreFilesChoice files = choose_store_files(folder, store_files_option());
  const bool is_at_rest = !is_being_written(path);  // before SQLite makes a log
  if (!is_overwritten(path, writer.writer)) {
    auto db = open_writer_store(folder, writer, files.kind);
    if (db.ok() || db.status().code() != Code::kCorrupt || !is_unreadable(path)) return db;
  }
  if (journal.is_written()) return Status(Code::kBusy, path + " belongs to a process that lives");
  if (!is_at_rest)
    return Status(Code::kBusy, path + " holds other bytes and is being written, by a restore?",
                  "what waits for it is recovered once nobody has written it for 10 s");
  auto aside = set_database_aside(path);
  if (!aside.ok()) return aside.status();
  report->add_problem(Code::kCorrupt, set_aside_text(*aside));
  *stored = WriterSnapshot();
  return open_writer_store(folder, writer, files.kind);
}

// What no journal has, without any damage of it.
void say_lost(const RecoveredWriter& recovered, const std::string& dir, RecoveryReport* report) {
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
        "{}/{}: {} points and {} texts were stored in a file that is gone: they are counted as lost, and what was said "
        "of the run beside them (config, summary, tags, alerts) is gone too",
        recovered.identity.run.project, recovered.identity.run.id, recovered.removed.points, recovered.removed.texts));
}

Status recover_one(const Store& store, const std::string& dir, const Id128& run_uid, LeftTo* left, Patience* patience,
                   RecoveryReport* report) {
  const auto writer = writer_of_journal(dir, store);
  if (!writer.ok()) return writer.status().code() == Code::kNotFound ? Status() : writer.status();
  const WriterIdentity& identity = *writer;
  if (!run_uid.is_zero() && identity.run.uid != run_uid) return {};
  if (!is_of(identity, dir, store)) {
    const std::string original = identity.store == store.id() ? original_of(identity, dir, store.path()) : "";
    if (!original.empty() && probe_journal(identity, dir) == Liveness::kDead) ++(*left)[original];
    return {};
  }
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
    for (LogDamage& damage : stored.damage) report->add_problem(damage.code, std::move(damage.what));
  auto db = open_for_recovery(folder->path, **journal, &stored, report);
  if (!db.ok()) return db.status();
  // Asked behind the look at the database: of a process that lives all the same it may be ahead of the rings, or have
  // stored what is still in them.
  const bool grows =
      (*db)->last_seq() > stored.last_seq && snapshot_of(*folder, identity.writer).last_seq > stored.last_seq;
  if (grows || (*journal)->is_written()) {
    report->living.push_back(identity);
    return {};
  }
  (*db)->for_the_dead();
  RecoveredWriter recovered;
  recovered.identity = (*journal)->identity();
  const Status replayed = replay(dir, journal->get(), db->get(), stored, &recovered);
  if ((*db)->taken_over()) report->living.push_back(identity);  // its process stores frames itself
  if (!replayed.ok()) return (*db)->taken_over() ? Status() : replayed;
  for (const std::string& problem : (*journal)->problems()) report->add_problem(Code::kCorrupt, problem);
  say_lost(recovered, dir, report);
  if ((*journal)->problems().empty()) {
    (*journal)->remove();
  } else if (auto kept = (*journal)->set_aside(); kept.ok()) {
    report->add_problem(Code::kCorrupt, "what could be read is recovered; the damaged journal is kept in " + *kept);
  } else {
    report->add_problem(Code::kCorrupt, kept.status().to_string());
  }
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
    return writer.ok() && is_of(*writer, dir, store) && is_locked(dir) == false;
  }));
}

}  // namespace

void RecoveryReport::add_problem(Code code, std::string text) {
  // A disk that takes nothing, or a lock that another holds, has damaged nothing.
  const bool is_told = code == Code::kVersion || code == Code::kIo || code == Code::kBusy || code == Code::kTimeout;
  worst = worse_of(worst, is_told ? code : Code::kCorrupt);
  problems.push_back(std::move(text));
}

Result<RunFolder> folder_of_run(const Store& store, const RunIdentity& run, const Id128& writer) {
  Store mutable_store = store;
  const auto found = store.find_run(run.project, run.id);
  if (found && found->identity.uid == run.uid) return *found;
  for (const RunFolder& other : store.list_runs(run.project))  // under another name: somebody moved it, or two had one
    if (other.identity.uid == run.uid) return other;
  // Files of a run that nobody can name are another one's, unless this writer's are among them.
  const bool own = store.holds_writer(run.project, run.id, writer);
  if (own || !store.lacks_run_file(run.project, run.id)) {
    auto folder = mutable_store.open_or_create_run(run.project, run.id, run.uid, {}, nullptr, run.created_us);
    if (folder.ok() ? folder->identity.uid == run.uid : !is_of_another_run(folder.status())) return folder;
    if (!folder.ok() && own && folder.status().code() != Code::kExists) {
      RunFolder mine{run, store.run_path(run.project, run.id), folder.status().message(), folder.status().code()};
      if (mend_run_document(&mine).ok()) return mine;
    }
  }
  return mutable_store.create_run(run.project, run.id, run.uid, {}, run.created_us);
}

RecoveryReport recover_dead_writers(const Store& store, Id128 run_uid) {
  RecoveryReport report;
  LeftTo left;
  Patience patience = kRecovererWait;
  for (const std::string& root : journal_roots(store.path())) {
    if (!is_directory(root)) continue;
    if (const auto listed = list_dir(root); !listed.ok()) {
      if (is_of_this_user(root))
        report.add_problem(Code::kIo, "what waits in journals there is not recovered: " + listed.status().to_string());
      continue;
    }
    if (const Status own = check_private_dir(root); !own.ok()) {  // others may have written what lies there
      if (const size_t waiting = is_of_this_user(root) ? dead_journals_of(store, root) : 0; waiting > 0)
        report.add_problem(
            Code::kIo, fmt::format("what waits in {} of dead processes is not recovered: {}",
                                   waiting == 1 ? "a journal" : fmt::format("{} journals", waiting), own.to_string()));
      continue;
    }
    remove_unborn_journals(root);
    for (const std::string& dir : journal_dirs(root)) {
      const Status status = recover_one(store, dir, run_uid, &left, &patience, &report);
      if (!status.ok()) report.add_problem(status.code(), fmt::format("{}: {}", dir, status.to_string()));
    }
  }
  for (const auto& [original, count] : left)
    report.left.push_back(
        fmt::format("{} of dead processes belong{} to the store at {}, of which this one is a copy: `tracker ls --dir "
                    "{}` recovers what {} there",
                    count == 1 ? "1 journal" : fmt::format("{} journals", count), count == 1 ? "s" : "", original,
                    original, count == 1 ? "it holds" : "they hold"));
  // A process that dies while it makes a file leaves it under another name. Looked for only where one has died.
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
