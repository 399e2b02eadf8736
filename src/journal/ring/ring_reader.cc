// SPDX-License-Identifier: MIT
#include "journal/ring/ring_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tracker::internal {

TimeLine::TimeLine(std::vector<TimeAnchor> anchors, double ticks_per_ns)
    : anchors_(std::move(anchors)), ticks_per_ns_(ticks_per_ns > 0 ? ticks_per_ns : 1.0) {
  std::sort(anchors_.begin(), anchors_.end(), [](const TimeAnchor& a, const TimeAnchor& b) { return a.tick < b.tick; });
  std::erase_if(anchors_, [](const TimeAnchor& a) { return a.tick == 0; });
}

namespace {

// Anchors of a damaged ring can say anything, also what lies further apart than an int64.
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

int64_t TimeLine::wall_us(uint64_t tick) const {
  if (anchors_.empty()) return 0;
  const auto after = std::upper_bound(anchors_.begin(), anchors_.end(), tick,
                                      [](uint64_t t, const TimeAnchor& a) { return t < a.tick; });
  const TimeAnchor& base = after == anchors_.begin() ? anchors_.front() : *(after - 1);
  double ns_per_tick = 1.0 / ticks_per_ns_;
  if (after != anchors_.begin() && after != anchors_.end())
    ns_per_tick = static_cast<double>(difference(after->monotonic_ns, base.monotonic_ns)) /
                  static_cast<double>(after->tick - base.tick);
  const double since = static_cast<double>(static_cast<int64_t>(tick - base.tick)) * ns_per_tick;
  // Anchors of a damaged ring can say anything: a century either way is the most that is believed.
  constexpr double kCenturyNs = 3.2e18;
  const auto bounded = static_cast<int64_t>(std::isfinite(since) ? std::clamp(since, -kCenturyNs, kCenturyNs) : 0.0);
  const int64_t wall = base.realtime_ns / 1000 + bounded / 1000;
  // A clock that is slewed goes slower than the monotonic one: a time is never later than the next anchor.
  const bool between = after != anchors_.begin() && after != anchors_.end();
  return between && after->realtime_ns >= base.realtime_ns ? std::min(wall, after->realtime_ns / 1000) : wall;
}

namespace {

uint64_t load_word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// A cursor over one span: the current record, verified.
class Cursor {
 public:
  explicit Cursor(RingSpan* span) : span_(span), seed_(ring_seed(span->nonce)) { load(); }

  bool done() const { return done_; }
  uint64_t tick() const { return tick_; }
  uint64_t size() const { return size_; }
  uint64_t values() const { return head_kind(head_) == RecordKind::kValues ? head_count(head_) : 0; }

  void feed(const TimeLine& times, FrameBuilder* builder) {
    const char* at = record();
    const auto step = static_cast<int64_t>(load_word(at + 8));
    const bool has_step = (head_ & kHeadHasStep) != 0;
    const int64_t wall = times.wall_us(tick_);
    if (head_kind(head_) == RecordKind::kValues) {
      const auto* pairs =
          reinterpret_cast<const ValuePair*>(at + kRecordHeadBytes);  // 8-aligned: records are multiples of 8
      builder->add_values({pairs, head_count(head_)}, step, has_step, wall);
      span_->points += head_count(head_);
    } else {
      const uint64_t word = load_word(at + kRecordHeadBytes);
      span_->texts += static_cast<EventType>(word & 0xff) == EventType::kText ? 1 : 0;
      builder->add_event(static_cast<EventType>(word & 0xff), step, has_step, wall,
                         {at + kRecordHeadBytes + 8, word >> 32});
    }
    span_->from += size_;
    load();
  }

 private:
  const char* record() const { return span_->data + (span_->from & (span_->data_bytes - 1)); }

  // Finds the next record and checks it; skips pads. A record that is not sound ends the span.
  void load() {
    while (span_->from < span_->to && !span_->damaged) {
      const uint64_t left_in_lap = span_->data_bytes - (span_->from & (span_->data_bytes - 1));
      const uint64_t word0 = load_word(record());
      head_ = static_cast<uint32_t>(word0 >> 32);
      const RecordKind kind = head_kind(head_);
      if (kind == RecordKind::kPad) {
        if (record_crc_begin(seed_, span_->from, head_) != static_cast<uint32_t>(word0)) break;
        span_->from += left_in_lap;
        continue;
      }
      if (left_in_lap < kRecordHeadBytes + 8) break;
      size_ = size_of(kind);
      if (size_ == 0 || size_ > left_in_lap || size_ > span_->to - span_->from || !verify(static_cast<uint32_t>(word0)))
        break;
      tick_ = load_word(record() + 16);
      return;
    }
    if (span_->from < span_->to) span_->damaged = true;
    done_ = true;
  }

  // By what the record itself says; 0 for none. An event without a type is none: a frame that held it would be refused.
  uint64_t size_of(RecordKind kind) const {
    if (kind == RecordKind::kValues) return kRecordHeadBytes + head_count(head_) * sizeof(ValuePair);
    const uint64_t word = load_word(record() + kRecordHeadBytes);
    if (kind != RecordKind::kEvent || (word & 0xff) == 0) return 0;
    return kRecordHeadBytes + 8 + ((word >> 32) + 7) / 8 * 8;
  }

  bool verify(uint32_t expected) const {
    uint32_t crc = record_crc_begin(seed_, span_->from, head_);
    const char* at = record();
    for (uint64_t i = 8; i < size_; i += 8) crc = crc32c_word(crc, load_word(at + i));
    return crc == expected;
  }

  RingSpan* span_;
  uint32_t seed_;
  uint32_t head_ = 0;
  uint64_t size_ = 0;
  uint64_t tick_ = 0;
  bool done_ = false;
};

}  // namespace

uint64_t next_sound_record(const RingSpan& span) {
  uint64_t checked = 0;
  for (uint64_t at = span.from + 8; at < span.to && checked < kResyncBytesMax; at += 8) {
    RingSpan probe = span;
    probe.from = at;
    probe.damaged = false;
    const Cursor cursor(&probe);
    if (!cursor.done()) return probe.from;
    checked += 8 + cursor.size();
  }
  return span.to;
}

uint64_t points_begun(const RingSpan& span) {
  RingSpan probe = span;
  probe.from = span.to;
  probe.to = span.to + 2 * span.data_bytes;
  const Cursor cursor(&probe);
  return cursor.done() ? 0 : cursor.values();
}

uint64_t points_in_damage(uint64_t bytes) {
  return bytes > kRecordHeadBytes + sizeof(ValuePair) ? (bytes - kRecordHeadBytes) / sizeof(ValuePair) : 1;
}

bool read_rings(std::vector<RingSpan>* spans, const TimeLine& times, size_t rows_max, size_t bytes_max,
                FrameBuilder* builder) {
  std::vector<Cursor> cursors;
  for (RingSpan& span : *spans) {
    Cursor cursor(&span);
    if (!cursor.done()) cursors.push_back(cursor);
  }
  if (cursors.empty()) return false;
  const auto room = [&] { return builder->approximate_bytes() < bytes_max && builder->series_held() < kSeriesAFrame; };
  for (size_t rows = 0; rows < rows_max && room() && !cursors.empty(); ++rows) {
    // One ring is by far the commonest case; with more, the oldest record is next (k is at most 128 and mostly small).
    size_t oldest = 0;
    for (size_t i = 1; i < cursors.size(); ++i)
      if (cursors[i].tick() < cursors[oldest].tick()) oldest = i;
    cursors[oldest].feed(times, builder);
    if (cursors[oldest].done()) cursors.erase(cursors.begin() + static_cast<ptrdiff_t>(oldest));
  }
  return true;
}

}  // namespace tracker::internal
