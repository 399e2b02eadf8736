// SPDX-License-Identifier: MIT
#include "pipeline/drain_inbox.h"

#include "base/clock.h"

namespace tracker::internal {

DrainInbox::Answer DrainInbox::push_large(LargeEvent event, LargeValue value, WaitingBytes waiting) {
  const Guard guard(mutex_);
  if (closed_) return Answer::kClosed;
  waiting.large = large_bytes_;
  value.overhead = large_waiting_ * sizeof(LargeEvent);
  const LargeAnswer answer = may_take_large(value, waiting);
  if (answer != LargeAnswer::kTake)
    return answer == LargeAnswer::kNoSharedRoom ? Answer::kNoSharedRoom : Answer::kNoRoom;
  event.tick = ticks();
  large_.push_back(std::move(event));
  large_bytes_ += value.bytes;
  ++large_waiting_;
  if (value.type == EventType::kText) ++large_texts_;
  return Answer::kTaken;
}

DrainInbox::Answer DrainInbox::push_sample(Sample sample) {
  const Guard guard(mutex_);
  if (closed_) return Answer::kClosed;
  if (samples_.size() >= kSamplesWaitingMax) return Answer::kNoRoom;
  samples_.push_back(std::move(sample));
  return Answer::kTaken;
}

DrainInbox::Answer DrainInbox::push_fact(EventType type, std::string payload, bool bounded) {
  const Guard guard(mutex_);
  if (bounded && closed_) return Answer::kClosed;
  if (bounded && facts_bytes_ + payload.size() > kFactsBytesMax) return Answer::kNoRoom;
  facts_bytes_ += payload.size();
  facts_.push_back({type, false, 0, journal_->now_us(), std::move(payload)});
  return Answer::kTaken;
}

void DrainInbox::close() {
  const Guard guard(mutex_);
  closed_ = true;
}

void DrainInbox::add_pending(SeriesCounts* counts) const {
  const Guard guard(mutex_);
  for (const auto* waiting : {&samples_, &samples_taken_})
    for (const Sample& sample : *waiting)
      for (const ValuePair& pair : sample.pairs) counts->at(pair.series).pending += 1;
}

void DrainInbox::take(std::deque<LargeEvent>* large) {
  const Guard guard(mutex_);
  for (; !large_.empty(); large_.pop_front()) large->push_back(std::move(large_.front()));
  // What a drain that failed has taken comes first.
  if (samples_taken_.empty()) samples_taken_.swap(samples_);
  if (facts_taken_.empty()) facts_taken_.swap(facts_);
  journal_->begin_drain();
}

void DrainInbox::add_monitored(FrameBuilder* builder) const {
  for (const Sample& sample : samples_taken_) builder->add_values(sample.pairs, 0, false, sample.time_us);
  for (const Event& event : facts_taken_)
    builder->add_event(event.type, event.step, event.has_step, event.time_us, event.payload);
}

void DrainInbox::forget_monitored() {
  const Guard guard(mutex_);
  samples_taken_.clear();
  for (const Event& event : facts_taken_) facts_bytes_ -= event.payload.size();
  facts_taken_.clear();
}

void DrainInbox::forget_large(size_t count, size_t bytes) {
  large_waiting_ -= count;
  large_bytes_ -= bytes;
}

void DrainInbox::put_back(std::vector<Sample> samples, size_t large_count, size_t large_bytes) {
  const Guard guard(mutex_);
  samples_taken_.insert(samples_taken_.end(), samples.begin(), samples.end());
  large_waiting_ += large_count;
  large_bytes_ += large_bytes;
}

}  // namespace tracker::internal
