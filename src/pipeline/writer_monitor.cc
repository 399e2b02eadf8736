// SPDX-License-Identifier: MIT
// What a run's monitor says: values of the series system/… and facts of the environment. They wait in memory for the
// drain thread, which gives them to the next frame: no ring is spent on a few values each 15 s (decision 0020).
#include <fmt/format.h>

#include <algorithm>

#include "journal/ring/frame_builder.h"
#include "pipeline/sigterm.h"
#include "pipeline/writer.h"

namespace tracker::internal {

void Writer::push_sample(const std::vector<NamedValue>& values) {
  if (disk_room() != DiskRoom::kEnough) return;  // none is taken: no point of the program is lost by it
  Sample sample{journal_->now_us(), {}};
  uint64_t unnamed = 0;
  for (const NamedValue& each : values) {
    const uint32_t id = journal_->series_id(each.name, ValueType::kFloat64);
    if (id == 0) ++unnamed;
    else sample.pairs.push_back({bits_of(each.value), id, 0});
  }
  bool kept = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (stopping_) return;
    kept = samples_.size() < kSamplesWaitingMax;
    for (const ValuePair& pair : sample.pairs) sample_series_.insert(pair.series);
    if (kept) samples_.push_back(sample);
  }
  // No points of the program: its account does not have them.
  if (!kept) unnamed += sample.pairs.size();
  if (unnamed > 0 && !samples_left_out_.exchange(true)) push_note(Value::Map{{"kind", "samples_left_out"}});
}

void Writer::push_environment(std::string payload) { push_fact(EventType::kEnvironment, std::move(payload)); }

void Writer::push_note(Value note) { push_fact(EventType::kNote, encode_cbor(note)); }

// What finds no room is an entry lost, as a config value would be. That a store is full is said by the thread that
// looks.
void Writer::push_fact(EventType type, std::string payload) {
  const bool store_full = type == EventType::kEnvironment && disk_room() == DiskRoom::kOnlyTheEnd;
  LossReason reason = store_full ? LossReason::kMaxDisk : LossReason::kTooLarge;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (stopping_) return;
    if (!store_full && facts_bytes_ + payload.size() <= kFactsBytesMax) {
      facts_bytes_ += payload.size();
      facts_.push_back({type, false, 0, journal_->now_us(), std::move(payload)});
      return;
    }
    if (!store_full && queue_is_full()) reason = LossReason::kDisk;
  }
  journal_->count_loss(kEntryLosses, reason, 1);
  if (!store_full)
    say_once_.say("facts", fmt::format("more than {} MiB of what the run says of its surroundings wait to be stored; "
                                       "further facts are dropped and counted",
                                       kFactsBytesMax >> 20));
}

// It waits for no room: the account of facts is for what comes again and again.
void Writer::note_sigterm() {
  const SigtermMark* mark = sigterm_.load(std::memory_order_acquire);
  if (mark == nullptr || sigterm_noted_ || !mark->seen.load(std::memory_order_acquire)) return;
  std::string payload = preempted_payload(kSigterm);
  const std::lock_guard<std::mutex> guard(mutex_);
  facts_bytes_ += payload.size();
  facts_.push_back({EventType::kAttribute, false, 0, journal_->now_us(), std::move(payload)});
  sigterm_noted_ = true;
}

// Under mutex_, at the begin of a drain. What a drain that failed has taken comes first.
void Writer::take_monitored() {
  if (samples_taken_.empty()) samples_taken_.swap(samples_);
  if (facts_taken_.empty()) facts_taken_.swap(facts_);
}

// Behind all definitions and all rings.
void Writer::add_monitored(FrameBuilder* builder) const {
  for (const Sample& sample : samples_taken_) builder->add_values(sample.pairs, 0, false, sample.time_us);
  for (const Event& event : facts_taken_)
    builder->add_event(event.type, event.step, event.has_step, event.time_us, event.payload);
}

// Under mutex_: their frame is in the queue.
void Writer::forget_monitored() {
  samples_taken_.clear();
  for (const Event& event : facts_taken_) facts_bytes_ -= event.payload.size();
  facts_taken_.clear();
}

// Under mutex_: of a frame whose rings are drained again, what was in no ring and is not in the log that is `there`,
// which holds the first samples of each series.
void Writer::take_samples_back(const Frame& frame, const WriterSnapshot& there) {
  const auto is_there = [&there](const Block& block, size_t row) {
    return std::any_of(there.series.begin(), there.series.end(), [&](const SeriesStats& series) {
      return series.def.id == block.series.front() && series.points > 0 && series.time_last_us >= block.times_us[row];
    });
  };
  for (const Block& block : frame.blocks) {
    const bool ours =
        !block.has_steps && std::all_of(block.series.begin(), block.series.end(),
                                        [this](uint32_t series) { return sample_series_.count(series) > 0; });
    for (size_t row = 0; ours && row < block.rows(); ++row) {
      if (is_there(block, row)) continue;
      Sample sample{block.times_us[row], {}};
      for (size_t i = 0; i < block.series.size(); ++i)
        sample.pairs.push_back({block.values[i][row], block.series[i], 0});
      samples_taken_.push_back(std::move(sample));
    }
  }
}

// Under mutex_.
uint64_t Writer::samples_stored() const {
  uint64_t out = 0;
  for (const uint32_t series : sample_series_)
    if (series < stored_by_series_.size()) out += stored_by_series_[series];
  return out;
}

}  // namespace tracker::internal
