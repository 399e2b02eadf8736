// SPDX-License-Identifier: MIT
// What recovery reads of a dead writer's rings after the positions that are stored: records, losses, and the names of
// series where the definitions file lacks them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "journal/dead/dead_ring.h"
#include "journal/live/journal.h"  // kSeriesMax

namespace tracker::internal {
namespace {

// About how many of the points before `tail` lie between two positions, for records are about as long as others: by the
// ring's own count where that can be, else by the bytes.
uint64_t points_between(uint64_t from, uint64_t to, uint64_t tail, uint64_t accepted) {
  if (accepted > tail / sizeof(ValuePair)) return points_in_damage(to - from);
  return static_cast<uint64_t>(
      std::llround(static_cast<double>(accepted) * static_cast<double>(to - from) / static_cast<double>(tail)));
}

// Whether what a ring's header says of itself can be: then about how many of the points before `tail` lie after
// `from`.
std::optional<uint64_t> points_since(uint64_t from, uint64_t tail, uint64_t accepted, uint64_t bytes) {
  if (tail == 0 || tail < from || tail - from > bytes || accepted > tail / sizeof(ValuePair)) return std::nullopt;
  return points_between(from, tail, tail, accepted);
}

// Only what a journal holds by name: somebody else's file in the folder stays.
SeriesDef unknown_series(uint32_t id) { return {id, ValueType::kFloat64, fmt::format("damaged/series-{}", id)}; }

}  // namespace

void DeadJournal::start(const std::vector<RingPosition>& positions, bool afresh) {
  known_ = positions;
  std::vector<TimeAnchor> anchors;
  double rate = 1.0;
  for (const auto& ring : rings_) {
    const RingHeader& header = *ring->header;
    rate = header.ticks_per_ns;
    // The slot that comes next may be half written; it holds an anchor only when the slots are in their second lap.
    const uint64_t written = header.anchor_count.load();
    for (uint64_t i = 0; i < std::min<uint64_t>(written, kAnchorSlots); ++i)
      if (written < kAnchorSlots || i != written % kAnchorSlots) anchors.push_back(header.anchors[i]);
    uint64_t from = known_position(header.nonce);
    const uint64_t tail = header.tail.load();
    const uint64_t released = header.released.load();
    released_unknown_ = released_unknown_ || released > from;
    if (tail > from && tail - from > header.data_bytes && tail % 8 == 0) {
      // What is stored does not reach the ring's last lap: the spill file, or the database, lacks what was released.
      const RingSpan lap{ring->header, ring->data(), header.data_bytes, header.nonce, tail - header.data_bytes - 8,
                         tail};
      if (const uint64_t sound = next_sound_record(lap); sound < tail) {
        skipped_.push_back({header.nonce, sound});
        if (!afresh || !spill_sound_) {
          skipped_points_ += points_between(from, sound, tail, header.accepted.load());
          problems_.push_back(
              fmt::format("{}: what it held from position {} to {} is stored nowhere", ring->path, from, sound));
        }
        from = sound;
      }
    }
    // Where nothing of the last lap verifies, the header is not what it was.
    if (from > tail || tail - from > header.data_bytes || from % 8 != 0) {
      (void)give_up(ring->path.substr(dir_.size() + 1), header, header.data_bytes,
                    fmt::format("tail {} does not fit position {}", tail, from));
      continue;
    }
    if (from == tail) continue;
    spans_.push_back({ring->header, ring->data(), header.data_bytes, header.nonce, from, tail, 0, false});
    accounts_.push_back({points_since(from, tail, header.accepted.load(), header.data_bytes), 0, {}});
  }
  times_ = std::make_unique<TimeLine>(std::move(anchors), rate);
  for (const uint64_t nonce : blank_)
    if (known_position(nonce) > 0) name_blank(fmt::format("ring-{:016x}", nonce));
  for (UnreadRing& ring : unread_) {
    const auto known = points_since(known_position(ring.nonce), ring.tail, ring.accepted, ring.bytes);
    ring.points = known.value_or(points_in_damage(ring.bytes));
    problems_.push_back(fmt::format("{}: ring-{:016x}: {} {} points are lost", dir_, ring.nonce,
                                    known ? "about" : "up to", ring.points));
  }
}

Logged DeadJournal::removed(const Logged& recovered) const {
  const bool later = !spilled_.empty() && spilled_.front().seq > 1;
  if (!(released_unknown_ || later) || !problems_.empty()) return {};  // damage is counted by itself
  Logged all = accepted();
  all.texts += texts_committed();
  return {all.points - std::min(all.points, recovered.points), all.texts - std::min(all.texts, recovered.texts)};
}

// What the rings' headers have counted as lost and no frame has, and the rings that cannot be read.
void DeadJournal::add_losses(FrameBuilder* builder, std::vector<RingPosition>* positions) {
  for (const auto& ring : rings_) {
    for (size_t i = 0; i < kLossSlots; ++i) {
      const uint64_t key = ring->header->losses[i].key.load();
      if (key == 0) break;
      const uint64_t name = ring->header->nonce | (i + 1);
      const uint64_t reported = known_position(name);
      const uint64_t count = ring->header->losses[i].count.load();
      if (count == reported) continue;
      const auto reason = static_cast<uint8_t>(key & 0xff);
      if (count < reported || count > kLossCountMax || reason == 0 || reason > kRingLossReasonLast) {
        problems_.push_back(
            fmt::format("{}: loss count {} is damaged: it says {} points after {}", ring->path, i, count, reported));
        continue;
      }
      builder->add_loss(static_cast<uint32_t>(key >> 8), static_cast<LossReason>(key & 0xff), count - reported);
      positions->push_back({name, count});
    }
  }
  for (const UnreadRing& ring : unread_) {
    const uint64_t name = ring.nonce | kUnreadRing;
    // How many of the texts come after a position is not known.
    const uint64_t texts = known_position(ring.nonce) == 0 ? ring.texts : 0;
    if (ring.points + texts == 0 || known_position(name) != 0) continue;
    if (ring.points > 0) builder->add_loss(0, LossReason::kDamaged, ring.points);
    if (texts > 0) builder->add_loss(kTextLosses, LossReason::kDamaged, texts);
    positions->push_back({name, std::max<uint64_t>(ring.points, 1)});
  }
}

uint64_t DeadJournal::points_readable(RingSpan span) {
  for (;;) {
    FrameBuilder builder;
    builder.use_series(&series_);
    std::vector<RingSpan> one{span};
    const bool more = read_rings(&one, *times_, kRowsAFrame, kBytesAFrame, &builder);
    span = one.front();
    if (span.damaged) span.from = next_sound_record(span);
    else if (!more) return span.points;
    span.damaged = false;
  }
}

// About how many points the bytes up to `sound` held: by their length, and, where the ring says how many it has
// accepted, no more than are missing of those.
uint64_t DeadJournal::points_lost(const RingSpan& span, uint64_t sound, SpanAccount* account) {
  const uint64_t by_length = points_in_damage(sound - span.from);
  if (!account->accepted) return by_length;
  if (!account->missing) {
    RingSpan rest = span;
    rest.from = sound;
    rest.damaged = false;
    const uint64_t there = account->read + points_readable(rest);
    account->missing = *account->accepted - std::min(*account->accepted, there);
  }
  const uint64_t lost = std::max<uint64_t>(std::min(by_length, *account->missing), 1);
  *account->missing -= std::min(*account->missing, lost);
  return lost;
}

bool DeadJournal::next(FrameBuilder* builder, std::vector<RingPosition>* positions) {
  builder->use_series(&series_);
  const std::vector<SeriesDef>& all = definitions_.series;
  for (; defined_ < all.size() && builder->series_held() < kSeriesAFrame; ++defined_) {
    builder->add_series(all[defined_]);
    series_.add(all[defined_]);
  }
  if (defined_ < all.size()) return true;  // losses and rows need them all
  if (!started_) {
    started_ = true;
    add_losses(builder, positions);
  }
  std::vector<uint64_t> before;
  for (const RingSpan& span : spans_) before.push_back(span.from);
  const bool more = read_rings(&spans_, *times_, kRowsAFrame, kBytesAFrame, builder);
  name_unknown_series(builder);
  for (size_t i = 0; i < spans_.size(); ++i) {
    RingSpan& span = spans_[i];
    accounts_[i].read += std::exchange(span.points, 0);
    if (span.damaged) {
      const uint64_t sound = next_sound_record(span);
      const uint64_t lost = points_lost(span, sound, &accounts_[i]);
      builder->add_loss(0, LossReason::kDamaged, lost);
      problems_.push_back(
          fmt::format("{}: ring-{:016x}: {} bytes at position {} do not verify, about {} points are lost", dir_,
                      span.nonce, sound - span.from, span.from, lost));
      span.from = sound;
      span.damaged = false;
    }
    if (span.from != before[i]) positions->push_back({span.nonce, span.from});
  }
  return more || !builder->empty() || !positions->empty();
}

void DeadJournal::miss_rings() {
  const uint64_t here = rings_.size() + unread_.size() + unreadable_;
  if (here == 0 && blank_.empty()) {
    problems_.push_back(dir_ + ": none of its rings is left: an unknown number of points may be lost");
    ++unreadable_;
  }
  uint64_t held = UINT64_MAX;
  for (const auto& ring : rings_) held = std::min(held, ring->header->rings_held.load());
  if (rings_.empty() || held > kRingsHeldMax || held <= here) return;
  problems_.push_back(fmt::format("{}: {} of its {} rings {} gone: an unknown number of points may be lost", dir_,
                                  held - here, held, held - here == 1 ? "is" : "are"));
  unreadable_ += held - here;
}

void DeadJournal::complete_series(const std::vector<SeriesDef>& stored) {
  std::vector<SeriesDef>& all = definitions_.series;
  const size_t before = all.size();
  for (const SeriesDef& def : stored) {
    if (def.id <= all.size() || def.id > kSeriesMax || def.name.empty()) continue;
    while (all.size() + 1 < def.id) all.push_back(unknown_series(static_cast<uint32_t>(all.size() + 1)));
    all.push_back(def);
  }
  if (all.size() > before && !definitions_.salvaged)
    problems_.push_back(fmt::format("{}/defs is damaged: what {} metrics are called is known from what is stored", dir_,
                                    all.size() - before));
}

// Ids that a damaged definitions file no longer explains: their points are kept, each id under a name of its own.
void DeadJournal::name_unknown_series(FrameBuilder* builder) {
  for (const uint32_t id : builder->series_in_use()) {
    if (id <= definitions_.series.size() || !unknown_.insert(id).second) continue;
    if (unknown_.size() == 1)
      problems_.push_back(dir_ + "/defs is damaged: metrics whose name is lost are called damaged/series-<id>");
    builder->add_series(unknown_series(id));
  }
}

}  // namespace tracker::internal
