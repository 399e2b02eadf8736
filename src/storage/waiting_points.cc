// SPDX-License-Identifier: MIT
#include "storage/waiting_points.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "base/fs.h"
#include "journal/liveness.h"
#include "journal/place.h"
#include "storage/frames_log.h"
#include "storage/journal_home.h"
#include "storage/recovery.h"
#include "storage/run_folder.h"

namespace tracker::internal {
namespace {

// Which run each journal is of, as it was read once: a listing asks for run after run, and the folder of a journal
// bears the id of its writer, which is never given again. A thread's own, so that no fork leaves a lock behind.
class RunsOfJournals {
 public:
  const Id128* find(const std::string& root, const std::string& name) const {
    const auto at = runs_.find({root, name});
    return at == runs_.end() ? nullptr : &at->second;
  }
  // `there`: how many there are now. Those that are gone are forgotten when they are the most.
  void learn(const std::string& root, const std::string& name, const Id128& run, size_t there) {
    if (runs_.size() > kRoots * (there + kSpare)) runs_.clear();
    runs_[{root, name}] = run;
  }

 private:
  static constexpr size_t kRoots = 4, kSpare = 64;
  std::map<std::pair<std::string, std::string>, Id128> runs_;
};

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
  for (const FrameRecord& frame : journal.spilled()) {
    if (frame.seq <= last_seq) continue;
    if (const uint64_t gap = frame.seq - last_seq - 1; gap > 0) {
      out.problem =
          fmt::format("frames {} to {} are neither stored nor in the spill file", last_seq + 1, frame.seq - 1);
      if (gap > kSpillGapFramesMax || journal.rings_hold(out.positions)) break;
      out.gaps.push_back(out.frames.size());
    }
    last_seq = frame.seq;
    for (const RingPosition& position : frame.positions) set_position(position, &out.positions);
    out.frames.push_back(frame);
  }
  return out;
}

Logged logged_in(const FrameRecord& record) {
  auto frame = decode_frame(record.bytes);
  return frame.ok() ? frame->logged() : Logged();
}

Logged logged_behind(const WriterSnapshot& stored, DeadJournal* journal) {
  Logged out;
  const MissingFrames missing = missing_frames(*journal, stored.last_seq, stored.positions);
  for (const FrameRecord& record : missing.frames) out += logged_in(record);
  journal->start(missing.positions, stored.last_seq == 0);
  for (bool more = true; more;) {
    FrameBuilder builder;
    std::vector<RingPosition> reached;
    more = journal->next(&builder, &reached);
    out += builder.take().logged();
  }
  return out;
}

std::vector<WaitingPoints> points_waiting(const RunFolder& folder,
                                          const std::function<WriterSnapshot(const Id128& writer)>& stored) {
  std::vector<WaitingPoints> out;
  const auto store = Store::open(parent_path(parent_path(parent_path(folder.path))));
  if (!store.ok()) return out;  // a run's folder by itself: nobody recovers into it
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
      if (writer->run.uid != folder.identity.uid || !is_of(*writer, dir, *store)) continue;
      auto journal = DeadJournal::look(dir, &*writer);
      if (!journal.ok()) continue;
      WaitingPoints waiting{(*journal)->identity(), false, 0, 0};
      waiting.live = probe_journal(waiting.writer, dir) == Liveness::kLive;
      const Logged behind = logged_behind(stored(waiting.writer.writer), journal->get());
      waiting.points = behind.points;
      waiting.texts = behind.texts;
      if (waiting.points + waiting.texts > 0) out.push_back(std::move(waiting));
    }
  }
  return out;
}

}  // namespace tracker::internal
