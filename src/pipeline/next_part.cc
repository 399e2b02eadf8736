// SPDX-License-Identifier: MIT
// A run whose part has changed (storage/log/part_change.h) continues in the next part, with state frames first: what
// the program logged of the run's state, and its series. These frames and those that wait in the queue get the next
// numbers. After a failed fsync those that wait keep their numbers and come first.
//
// One change means more: frames in the part that this process has not written. Another process has considered this one
// dead and has recovered its journal (src/journal/ring/owner_lock.h describes how that is prevented). What is stored is
// known exactly, by the ring positions that are committed with the frames: queued frames that came from rings are
// discarded, and the rings are read again from those positions.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "journal/ring/frame_builder.h"
#include "pipeline/store_thread.h"
#include "storage/log/ring_positions.h"

namespace tracker::internal {
namespace {

bool is_stored(const FrameRecord& record, const std::vector<RingPosition>& stored) {
  return std::all_of(record.positions.begin(), record.positions.end(), [&stored](const RingPosition& position) {
    return std::any_of(stored.begin(), stored.end(), [&position](const RingPosition& p) {
      return p.nonce == position.nonce && p.position >= position.position;
    });
  });
}

bool is_same(const Event& a, const Event& b) {
  return a.type == b.type && a.time_us == b.time_us && a.has_step == b.has_step && a.step == b.step &&
         a.payload == b.payload;
}

// Samples of the system in a frame whose rings are drained again. They were in no ring; those in the log that is
// `there`, which holds the first samples of each series, are left out.
void take_samples(const Frame& frame, const WriterSnapshot& there, const std::set<uint32_t>& sample_series,
                  std::vector<Sample>* out) {
  const auto is_there = [&there](const Block& block, size_t row) {
    return std::any_of(there.series.begin(), there.series.end(), [&](const SeriesStats& series) {
      return series.def.id == block.series.front() && series.points > 0 && series.time_last_us >= block.times_us[row];
    });
  };
  for (const Block& block : frame.blocks) {
    const bool ours = !block.has_steps && std::all_of(block.series.begin(), block.series.end(),
                                                      [&](uint32_t series) { return sample_series.contains(series); });
    for (size_t row = 0; ours && row < block.rows(); ++row) {
      if (is_there(block, row)) continue;
      Sample sample{block.times_us[row], {}};
      for (size_t i = 0; i < block.series.size(); ++i)
        sample.pairs.push_back({block.values[i][row], block.series[i], 0});
      out->push_back(std::move(sample));
    }
  }
}

}  // namespace

// While another process recovers the journal nothing is stored: kBusy. A disk that is slow to open the files keeps the
// store thread alone: drains go on, into frames that get other numbers here.
Status StoreThread::plan_next_part() {
  const auto epoch = drain_.hold_journal();  // a recoverer that comes after this raises another one
  if (!epoch) return Status(Code::kBusy, "another process recovers this run");
  auto left = files_.read_left(queue_.committed_seq());
  if (!left.ok()) return left.status();
  const WriterSnapshot& there = left->there;
  const LeftPart& part = files_.left();
  const bool foreign = left->foreign, is_disk = part.change == PartChange::kSyncFailed;

  const auto stopped = drain_.stop_rounds();
  const FrameCounts again = counts_of(part.again);
  Logged gone;
  if (foreign) {
    (void)journal_.check_links();  // the other process has removed some of its files
    take_over(&*left);
  } else {
    gone = queue_.remove_gone(there, there.last_seq < queue_.committed_seq() ? again : FrameCounts());
    const StoredAccount account = queue_.account();
    if (const Logged all{account.points_removed, account.texts_removed}; all.points + all.texts > 0)
      pipeline_.health.set_lost_text(part_change_line(part, left->next, all));
  }
  PartsBefore before = queue_.account().before_part(foreign ? there.last_seq : part.seq, again);
  if (foreign) before.log_points = there.end_of_log().points;

  std::vector<FrameRecord> records = part.again;
  uint64_t number = std::max(queue_.next_seq(), there.last_seq + 1);
  for (FrameRecord& record : state_frames(gone, *left, number)) records.push_back(std::move(record));
  number = records.back().seq + 1;
  FrameRecord* first = &records.front();
  std::vector<RingPosition> positions = files_.positions();
  const std::vector<FramePtr> waiting = queue_.all();
  if (is_disk) {  // readers may have seen what waits: it keeps its numbers
    journal_.say_number(number - 1);
    queue_.set_next_seq(number);
    if (part.again.empty() && !waiting.empty()) {
      first = &waiting.front()->record;
      for (const RingPosition& position : first->positions) set_position(position, &positions);
    }
  } else {
    TRACKER_RETURN_IF_ERROR(queue_.renumber(number));
  }
  // With the first one: rings are read on from there even where a death cuts an append to a .frames file short.
  first->positions = std::move(positions);
  if (foreign) journal_.confirm(*epoch);
  // One line for all parts of a disk that fails.
  const std::string topic = is_disk ? "fsync" : fmt::format("part {}", left->next);
  const std::string line = part_change_line(part, left->next, gone);
  files_.begin_part(left->next, before, std::move(records));
  if (foreign) {
    journal_.add_note(Value::Map{{"kind", "went_on"}});
    drain_.drain_again();
  }
  pipeline_.warnings.warn_once(topic, line);
  queue_.notify();
  return {};
}

// What is stored is counted, and only spilled frames that are not stored stay in the queue. The rings are drained
// again.
void StoreThread::take_over(LeftFiles* left) {
  const WriterSnapshot& there = left->there;
  std::vector<RingPosition> known = there.positions;
  std::deque<FramePtr> kept;
  std::vector<Event> events;
  std::vector<Sample> samples;
  const std::set<uint32_t> sample_series = queue_.account().sample_series;
  const auto together = queue_.hand_over();
  for (const FramePtr& waiting : queue_.all()) {
    auto frame = decode_frame(waiting->record.bytes);
    if (!frame.ok()) continue;  // made by this process, just now
    if (waiting->was_spilled && !is_stored(waiting->record, there.positions)) {
      waiting->spilled = false;
      for (const RingPosition& position : waiting->record.positions) set_position(position, &known);
      kept.push_back(waiting);
      continue;
    }
    take_samples(*frame, there, sample_series, &samples);
    for (Event& event : frame->events) {
      if (!is_in_no_ring(event)) continue;
      const auto found = std::find_if(left->stored.begin(), left->stored.end(),
                                      [&event](const Event& other) { return is_same(event, other); });
      if (found == left->stored.end()) events.push_back(std::move(event));
      else left->stored.erase(found);
    }
  }
  drain_.put_back(std::move(samples), std::move(events), [&] { queue_.take_over(there, std::move(kept), known); });
  files_.set_positions(there.positions);
}

// Each no larger than a frame of a drain. What those have not defined, frames that still wait will define. An end that
// went with its part is repeated.
std::vector<FrameRecord> StoreThread::state_frames(const Logged& gone, const LeftFiles& left, uint64_t first) {
  std::vector<FrameRecord> out;
  FrameBuilder builder;
  const auto add_frame = [&] {
    Frame frame = builder.take();
    frame.writer = writer_;
    frame.seq = first + out.size();
    out.push_back({frame.seq, encode_frame(frame), {}});
  };
  const uint32_t defined = queue_.defined();
  for (SeriesDef& series : journal_.definitions()) {
    if (series.id > defined) break;
    if (builder.series_held() >= kSeriesAFrame) add_frame();
    builder.add_series(std::move(series));
  }
  for (const Attribute& attribute : queue_.state().attributes()) {
    if (builder.approximate_bytes() >= kBytesAFrame) add_frame();
    builder.add_event(attribute.type, 0, false, attribute.time_us, encode_cbor(state_payload(attribute)));
  }
  Value note = Value::Map{{"kind", "next_part"}, {"points", static_cast<int64_t>(gone.points)}};
  if (gone.texts > 0) note.set("texts", static_cast<int64_t>(gone.texts));
  builder.add_event(EventType::kNote, 0, false, realtime_us(), encode_cbor(note));
  // The frames that wait come before, but after a failed fsync.
  const bool is_last = queue_.bytes() == 0 || files_.left().change == PartChange::kSyncFailed;
  if (!left.foreign && queue_.drained_all() && is_last && !left.there.end)
    builder.add_event(EventType::kEnd, 0, false, realtime_us(), queue_.end_record());
  add_frame();
  return out;
}

}  // namespace tracker::internal
