// SPDX-License-Identifier: MIT
// Stores and counts in this order: the points and texts of a database that is gone, the spilled frames after the last
// stored one, the records of the rings after both, and the accepted points and texts that are in none of these.
#include "storage/recovery/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/liveness.h"
#include "model/system_series.h"
#include "storage/recovery/recovery.h"
#include "storage/recovery/waiting_points.h"
#include "storage/writer/append_log.h"

namespace tracker::internal {
namespace {

// Numbers that the dead process has used are not used again, whatever became of their frames.
uint64_t next_number(const DeadJournal& journal, const WriterStore& db) {
  return std::max(db.last_seq(), journal.highest_number()) + 1;
}

FrameRecord record_of(Frame frame, uint64_t number, const Id128& writer, std::vector<RingPosition> positions) {
  frame.writer = writer;
  frame.seq = number;
  return {number, encode_frame(frame), std::move(positions)};
}

Status append_frame(const DeadJournal& journal, WriterStore* db, Frame frame, std::vector<RingPosition> positions) {
  const uint64_t number = next_number(journal, *db);
  const Id128& writer = journal.identity().writer;
  return append_log(db, {record_of(std::move(frame), number, writer, std::move(positions))}, false).status();
}

// Counts what the journal knows to have been stored in a deleted database, if `db` has no frame. `read_from`: set to
// the positions from which to read the rings.
Result<Logged> count_removed(const std::string& dir, const DeadJournal& journal, const WriterStore& db,
                             std::vector<RingPosition>* read_from) {
  if (db.last_seq() != 0 || !journal.spill_sound()) return Logged();
  auto copy = DeadJournal::look(dir, &journal.identity());
  if (!copy.ok()) return copy.status();
  const Logged found = unstored_logged(WriterSnapshot(), copy->get());
  *read_from = (*copy)->skipped();
  return (*copy)->removed(found);
}

// Losses of accepted rows: neither those without room nor those that were not points.
bool is_of_accepted(LossReason reason) {
  return reason == LossReason::kDamaged || reason == LossReason::kDisk || reason == LossReason::kFileChanged;
}

uint64_t lost_of_accepted(const std::vector<Loss>& losses) {
  uint64_t out = 0;
  for (const Loss& loss : losses)
    if (is_of_accepted(loss.reason) && is_of_points(loss.series)) out += loss.count;
  return out;
}

uint64_t texts_lost_of_accepted(const std::vector<Loss>& losses) {
  uint64_t out = 0;
  for (const Loss& loss : losses)
    if (is_of_accepted(loss.reason) && loss.series == kTextLosses) out += loss.count;
  return out;
}

// A hint why the writer died: the kernel has killed a process of its cgroup for memory since it started.
std::string hint_of_death(const WriterIdentity& writer) {
  const WriterIdentity self = this_process();  // elsewhere the same path is another group
  const bool same = writer.boot_id == self.boot_id && writer.pid_namespace == self.pid_namespace;
  if (writer.oom_file.empty() || !same) return "";
  const auto kills = read_oom_kills(writer.oom_file);
  if (!kills || *kills <= writer.oom_kills) return "";
  return "out of memory? The kernel has killed a process of its cgroup for that since it began";
}

// What this recovery has stored, or counted as lost, after the last frame that the writer stored.
struct Replayed {
  uint64_t lost = 0;   // accepted points that are counted as lost
  uint64_t texts = 0;  // that are stored, or were accepted and are counted as lost
  bool ended = false;  // its end is stored
};

// The series in the database and the spilled frames, by id.
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

// A spilled frame keeps its number, unless a recoverer has used that for another frame.
Status keep_number_or_renumber(FrameRecord* record, uint64_t last, const DeadJournal& journal) {
  if (record->seq > last) return {};
  auto frame = decode_frame(record->bytes);
  if (!frame.ok()) return frame.status();
  const uint64_t number = std::max(last, journal.highest_number()) + 1;
  *record = record_of(std::move(*frame), number, journal.identity().writer, std::move(record->positions));
  return {};
}

// Stores the spilled frames after the last stored one, and counts `removed`, the content of a deleted database, as
// lost. If the rings do not count what was in rings that are gone, the damage of the spill file is an estimate of it;
// else count_missing() counts it. One transaction: after a first commit no recoverer could see that the database is
// new.
Status replay_spilled(const std::string& dir, DeadJournal* journal, WriterStore* db, uint64_t stored_seq,
                      const Logged& removed, std::vector<RingPosition> read_from, Replayed* done,
                      RecoveredWriter* out) {
  MissingFrames spilled = missing_frames(*journal, stored_seq, db->positions());
  if (!spilled.problem.empty()) journal->add_problem(dir + ": " + spilled.problem);
  uint64_t last = db->last_seq();
  for (FrameRecord& record : spilled.frames) {
    TRACKER_RETURN_IF_ERROR(keep_number_or_renumber(&record, last, *journal));
    last = record.seq;
    const Logged logged = logged_in(record, journal->series());
    out->points += logged.points;
    out->texts += logged.texts;
    done->texts += logged.texts;
    done->ended |= holds_end(record);
    ++out->frames;
  }
  Frame lost;
  if (removed.points > 0) lost.losses.push_back({0, LossReason::kFileChanged, removed.points});
  if (removed.texts > 0) lost.losses.push_back({kTextLosses, LossReason::kFileChanged, removed.texts});
  const uint64_t points = spilled.has_gap && !journal->counts_all() ? journal->points_in_spill_damage() : 0;
  if (points > 0) lost.losses.push_back({0, LossReason::kDamaged, points});
  done->lost += points;
  if (!lost.empty())
    spilled.frames.push_back(record_of(std::move(lost), std::max(last, journal->highest_number()) + 1,
                                       journal->identity().writer, std::move(read_from)));
  return append_log(db, spilled.frames, false).status();
}

// The rows of a database that the program has logged: without samples of the system, which do not use the rings.
uint64_t logged_of(uint64_t rows, const WriterSnapshot& stored) {
  for (const SeriesStats& series : stored.series)
    if (is_system_series(series.def.name)) rows -= std::min(rows, series.points);
  return rows;
}

// Called when everything is replayed: rows that the rings have accepted and that are neither stored nor counted as lost
// (`known`) are lost. If a recoverer dies before or after this, the next one computes the same sum. Two kinds of loss
// are not damage of the journal: points in rings that were in memory only, and texts too large for a ring; what
// finish() has recorded of texts is left to add_end().
Status count_missing(const std::string& dir, const Logged& known, DeadJournal* journal, WriterStore* db, Replayed* done,
                     RecoveredWriter* out) {
  const Logged accepted = journal->accepted();
  // If the process is alive it still has them and will record them again.
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
  TRACKER_RETURN_IF_ERROR(append_frame(*journal, db, std::move(frame), {}));
  done->texts += all_texts;
  out->texts_lost_in_memory = in_memory;
  const bool unfiled = points > 0 && journal->accepted_unfiled() >= points;
  if (unfiled) out->lost_in_memory = points;
  std::string what = points > 0 && !unfiled ? fmt::format("{} points", points) : "";
  if (texts > 0) what += fmt::format("{}{} text{}", what.empty() ? "" : " and ", texts, texts == 1 ? "" : "s");
  if (!what.empty())
    journal->add_problem(
        fmt::format("{}: {} that were accepted are neither stored nor in the journal: they are lost, "
                    "and the run's config, summary, tags and alerts may be lost too",
                    dir, what));
  return {};
}

// Stores what finish() has recorded and no frame has, as the end found no room if disk and journal were full. Texts
// that were too large for a ring are lost with the process then; reports how many of all accepted texts are missing.
void add_end(const DeadJournal& journal, const Replayed& done, Frame* frame) {
  if (done.ended || !journal.end()) return;
  const JournalEnd& end = *journal.end();
  if (end.texts > done.texts) frame->losses.push_back({kTextLosses, LossReason::kDisk, end.texts - done.texts});
  frame->events.push_back({EventType::kEnd, false, 0, end.time_us, end.payload});
}

}  // namespace

Status replay(const std::string& dir, DeadJournal* journal, WriterStore* db, const WriterSnapshot& stored,
              uint64_t stored_seq, RecoveredWriter* out) {
  const bool ended = stored.end.has_value(), noted = stored.recovered.has_value(), afresh = db->last_seq() == 0;
  const uint64_t logged_before = logged_of(std::max(stored.points, db->points_stored()), stored);
  const bool texts_known = stored.last_seq == stored_seq;  // else the database could not be read
  journal->complete_series(stored_series(stored, *journal));
  std::vector<RingPosition> read_from;
  const auto removed = count_removed(dir, *journal, *db, &read_from);
  if (!removed.ok()) return removed.status();
  out->removed = *removed;
  Replayed done;
  done.lost = lost_of_accepted(stored.losses) + removed->points;
  done.texts = stored.texts() + texts_lost_of_accepted(stored.losses) + removed->texts;
  done.ended = ended;
  TRACKER_RETURN_IF_ERROR(replay_spilled(dir, journal, db, stored_seq, *removed, std::move(read_from), &done, out));
  const bool has_logged = !db->positions().empty() || !journal->series().empty();
  if (!done.ended && !noted && !journal->end() && has_logged) journal->miss_rings();
  journal->start(db->positions(), afresh);
  if (journal->skipped_points() > 0 && !journal->counts_all()) {
    Frame frame;
    frame.losses.push_back({0, LossReason::kDamaged, journal->skipped_points()});
    TRACKER_RETURN_IF_ERROR(append_frame(*journal, db, std::move(frame), journal->skipped()));
    done.lost += journal->skipped_points();
  }
  for (;;) {
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    if (!journal->next(&builder, &positions)) break;
    Frame frame = builder.take();
    const uint64_t points = frame.points(), texts_stored = frame.texts();
    done.lost += lost_of_accepted(frame.losses);
    done.texts += texts_stored + texts_lost_of_accepted(frame.losses);
    TRACKER_RETURN_IF_ERROR(append_frame(*journal, db, std::move(frame), std::move(positions)));
    out->points += points;
    out->texts += texts_stored;
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
    if (!journal->problems().empty()) payload.set("damaged", true);
    if (std::string hint = hint_of_death(journal->identity()); !hint.empty()) payload.set("hint", std::move(hint));
    if (journal->got_sigterm())
      note.events.push_back({EventType::kAttribute, false, 0, realtime_us(), preempted_payload(kSigterm)});
    note.events.push_back({EventType::kNote, false, 0, realtime_us(), encode_cbor(payload)});
  }
  if (!note.empty()) TRACKER_RETURN_IF_ERROR(append_frame(*journal, db, std::move(note), {}));
  TRACKER_RETURN_IF_ERROR(db->append({}, true));
  const Status finished = db->finish();
  // A reader in a transaction holds the WAL; everything is committed and fsynced all the same.
  return finished.code() == Code::kBusy || finished.code() == Code::kTimeout ? Status() : finished;
}

}  // namespace tracker::internal
