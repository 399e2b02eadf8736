// SPDX-License-Identifier: MIT
#include "storage/recovery/waiting_points.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/fs.h"
#include "journal/ring/definitions.h"
#include "journal/ring/liveness.h"
#include "journal/ring/place.h"
#include "model/system_series.h"
#include "storage/database/schema.h"
#include "storage/frames/frames_log.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/recovery.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

// The run of each journal, read once: a listing asks for run after run, and the folder of a journal has the id of its
// writer, which is never reused. One object for each thread, so that no fork leaves a lock held.
class RunsOfJournals {
 public:
  const Id128* find(const std::string& root, const std::string& name) const {
    const auto at = runs_.find({root, name});
    return at == runs_.end() ? nullptr : &at->second;
  }
  // `there`: the present number of journals. Entries of deleted journals are removed once they are the majority.
  void learn(const std::string& root, const std::string& name, const Id128& run, size_t there) {
    if (runs_.size() > kRoots * (there + kSpare)) runs_.clear();
    runs_[{root, name}] = run;
  }

 private:
  static constexpr size_t kRoots = 4, kSpare = 64;
  std::map<std::pair<std::string, std::string>, Id128> runs_;
};

// What stored positions show about a spilled frame. The position of a ring may be missing: it was retired, or is not
// stored yet.
enum class Coverage { kUnknown, kStored, kNotStored };

Coverage coverage_of(const FrameRecord& frame, const std::vector<RingPosition>& stored) {
  size_t reached = 0;
  for (const RingPosition& position : frame.positions) {
    const auto at = std::find_if(stored.begin(), stored.end(),
                                 [&position](const RingPosition& other) { return other.nonce == position.nonce; });
    if (at == stored.end()) continue;
    if (at->position < position.position) return Coverage::kNotStored;
    ++reached;
  }
  return reached > 0 && reached == frame.positions.size() ? Coverage::kStored : Coverage::kUnknown;
}

RunsOfJournals& runs_of_journals() {
  thread_local RunsOfJournals runs;
  return runs;
}

}  // namespace

MissingFrames missing_frames(const DeadJournal& journal, uint64_t last_seq, std::vector<RingPosition> positions) {
  MissingFrames out;
  out.positions = std::move(positions);
  if (last_seq == 0 && journal.spill_sound() && !journal.spilled().empty())
    last_seq = journal.spilled().front().seq - 1;
  uint64_t seen = last_seq;
  for (const FrameRecord& spilled : journal.spilled()) {
    const Coverage coverage = coverage_of(spilled, out.positions);
    if (spilled.seq <= last_seq ? coverage != Coverage::kNotStored : coverage == Coverage::kStored) {
      seen = std::max(seen, spilled.seq);  // and all frames before it
      continue;
    }
    // After damage its number may have been used by a recoverer that stores the same rows from the rings.
    if (spilled.seq <= last_seq && !journal.spill_sound() && journal.rings_hold(out.positions)) break;
    if (const uint64_t gap = spilled.seq > seen ? spilled.seq - seen - 1 : 0; gap > 0) {
      const bool in_rings = journal.rings_hold(out.positions);
      // the rings have everything that the store's file has lost since: no damage
      if (in_rings && journal.spill_sound()) break;
      // An undamaged file lacks numbers of frames that were stored, or stored under other numbers.
      const bool is_damage = !journal.spill_sound() || gap > kSpillGapFramesMax;
      if (is_damage)
        out.problem =
            fmt::format("frames {} to {} are neither stored nor in the spill file", seen + 1, spilled.seq - 1);
      if (gap > kSpillGapFramesMax || in_rings) break;
      out.has_gap = true;
    }
    seen = std::max(seen, spilled.seq);
    FrameRecord frame = spilled;
    for (const RingPosition& position : frame.positions) set_position(position, &out.positions);
    out.frames.push_back(std::move(frame));
  }
  return out;
}

Logged logged_in(const FrameRecord& record, const std::vector<SeriesDef>& series) {
  const auto frame = decode_frame(record.bytes);
  if (!frame.ok()) return {};
  Logged out = frame->logged();
  for (const Block& block : frame->blocks)
    for (const uint32_t id : block.series)
      if (id > 0 && id <= series.size() && is_system_series(series[id - 1].name)) out.points -= block.rows();
  return out;
}

Unstored unstored(const WriterSnapshot& stored, DeadJournal* journal) {
  Unstored out;
  const auto count = [&out](const Frame& frame) {
    for (const Block& block : frame.blocks) {
      for (const uint32_t id : block.series) out.points[id] += block.rows();
      if (const auto largest = std::max_element(block.steps.begin(), block.steps.end()); largest != block.steps.end())
        out.step_max = std::max(out.step_max.value_or(*largest), *largest);
    }
    for (const Event& event : frame.events)
      if (event.has_step && (event.type == EventType::kText || event.type == EventType::kMedia))
        out.step_max = std::max(out.step_max.value_or(event.step), event.step);
    for (const Loss& loss : frame.losses) out.losses[{loss.series, loss.reason}] += loss.count;
  };
  const MissingFrames missing = missing_frames(*journal, stored.last_seq, stored.positions);
  for (const FrameRecord& record : missing.frames) {
    out.logged += logged_in(record, journal->series());
    if (const auto frame = decode_frame(record.bytes); frame.ok()) count(*frame);
  }
  journal->leave_retired_out(missing.positions);
  journal->start(missing.positions, stored.last_seq == 0);
  for (bool more = true; more;) {
    FrameBuilder builder;
    std::vector<RingPosition> reached;
    more = journal->next(&builder, &reached);
    const Frame frame = builder.take();
    out.logged += frame.logged();
    count(frame);
  }
  return out;
}

Logged unstored_logged(const WriterSnapshot& stored, DeadJournal* journal) { return unstored(stored, journal).logged; }

namespace {

// By name; samples of the system are not counted.
void name_what_waits(const Unstored& found, const std::vector<SeriesDef>& series, WaitingPoints* out) {
  std::map<std::string, WaitingMetric> metrics;
  const auto name_of = [&series](uint32_t id) {
    return id > 0 && id <= series.size() ? series[id - 1].name : std::string();
  };
  for (const auto& [id, points] : found.points)
    if (const std::string name = name_of(id); !is_system_series(name)) metrics[name].points += points;
  for (const auto& [loss, count] : found.losses) {
    const auto& [id, reason] = loss;
    if (reason == LossReason::kDamaged) continue;
    if (id == kTextLosses) out->texts_dropped[reason] += count;
    else if (id == kEntryLosses) out->entries_dropped[reason] += count;
    else if (const std::string name = name_of(id); !is_system_series(name)) {
      out->dropped[reason] += count;
      if (reason != LossReason::kRejected) metrics[name].dropped[reason] += count;
    }
  }
  for (auto& [name, metric] : metrics) {
    metric.name = name;
    out->metrics.push_back(std::move(metric));
  }
}

// The files that change when a live process moves rows from a ring to the spill file, or from there to the database.
std::vector<std::string> traces_in(const std::string& dir) {
  std::vector<std::string> out;
  for (const std::string& name : list_dir(dir).value_or({}))
    if (name.starts_with("ring-")) out.push_back(name);
  std::sort(out.begin(), out.end());
  struct stat st{};
  if (::stat(join_path(dir, "spill").c_str(), &st) == 0) out.push_back(std::to_string(st.st_size));
  return out;
}

WaitingPoints waiting_in(const std::string& dir, const WriterIdentity& writer,
                         const std::function<WriterSnapshot(const Id128& writer)>& stored) {
  WaitingPoints out;
  for (int look = 1; look <= kJournalLooksMax; ++look) {
    const std::vector<std::string> before = traces_in(dir);
    auto journal = DeadJournal::look(dir, &writer);
    if (!journal.ok() && journal.status().code() != Code::kNotFound && journal.status().code() != Code::kBusy) {
      out.writer = writer;
      out.live = probe_journal(writer, dir) == Liveness::kLive;
      // At least one; none is lost if a newer version wrote it.
      out.newer = journal.status().code() == Code::kVersion;
      if (!out.live && !out.newer) out.unread_rings = 1;
    }
    if (!journal.ok()) break;
    out.writer = (*journal)->identity();
    out.live = probe_journal(out.writer, dir) == Liveness::kLive;
    const WriterSnapshot known = stored(out.writer.writer);
    const bool ended = known.end || known.recovered || (*journal)->end();
    if (!out.live && !ended && !(*journal)->series().empty()) (*journal)->miss_rings();
    const Unstored found = unstored(known, journal->get());
    if (look < kJournalLooksMax && traces_in(dir) != before) continue;
    out.points = found.logged.points;
    out.texts = found.logged.texts;
    out.step_max = found.step_max;
    if (!out.live) out.unread_rings = (*journal)->unreadable_rings();
    name_what_waits(found, (*journal)->series(), &out);
    break;
  }
  return out;
}

}  // namespace

std::vector<WaitingPoints> points_waiting(const RunFolder& folder,
                                          const std::function<WriterSnapshot(const Id128& writer)>& stored) {
  std::vector<WaitingPoints> out;
  const auto store = Store::open(parent_path(parent_path(parent_path(folder.path))));
  if (!store.ok()) return out;  // a run's folder without a store: no recovery uses it
  for (const std::string& root : journal_roots(store->path())) {
    auto names = list_dir(root);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (!Id128::from_hex(name)) continue;
      const std::string dir = join_path(root, name);
      const Id128* known = runs_of_journals().find(root, name);
      if (known != nullptr && *known != folder.identity.uid) continue;
      if (!is_directory(dir)) continue;
      const auto writer = writer_of_journal(dir, folder);
      if (!writer.ok()) continue;
      runs_of_journals().learn(root, name, writer->run.uid, names->size());
      if (writer->run.uid != folder.identity.uid || !is_of(*writer, *store)) continue;
      WaitingPoints waiting = waiting_in(dir, *writer, stored);
      if (waiting.holds_anything()) out.push_back(std::move(waiting));
    }
  }
  return out;
}

std::optional<WriterEnd> end_in_journal(const WriterIdentity& writer, const std::string& store_path) {
  const std::string dir = find_journal(writer, store_path);
  if (dir.empty() || !check_private_dir(parent_path(dir), false).ok()) return std::nullopt;
  const auto store = Store::open(store_path);
  const auto definitions = read_definitions(dir);
  if (!store.ok() || !definitions.ok() || !is_of(definitions->identity, *store)) return std::nullopt;
  if (definitions->identity.writer != writer.writer || !definitions->end) return std::nullopt;
  const auto said = decode_cbor(definitions->end->payload);
  return said.ok() ? end_from_value(*said, definitions->end->time_us) : std::nullopt;
}

}  // namespace tracker::internal
