// SPDX-License-Identifier: MIT
#include "sync/unit_reader.h"

#include <algorithm>
#include <limits>

namespace tracker::internal {
namespace {

bool names_files(const FrameView& frame) {
  return std::any_of(frame.events().begin(), frame.events().end(), [](const Event& event) {
    return event.type == EventType::kMedia || event.type == EventType::kArtifact;
  });
}

class Collector : public LogVisitor {
 public:
  Collector(UnitList* out, uint64_t after, size_t bytes_max, size_t units_max)
      : out_(out), last_(after), bytes_max_(bytes_max), units_max_(units_max) {}
  bool is_full() const { return out_->bytes >= bytes_max_ || out_->units.size() >= units_max_; }
  uint64_t points() const { return points_; }
  uint64_t last() const { return last_; }

  Result<bool> frame(const FrameView& frame) override {
    points_ += frame.points();
    if (frame.seq() <= last_) return true;
    out_->names_files |= names_files(frame);
    add({BatchUnitKind::kFrame, frame.seq(), frame.seq(), frame.points(), std::string(frame.bytes())});
    return !is_full();
  }

  Result<bool> segment(SegmentView* segment, PointRange* wanted) override {
    points_ += wanted->last - wanted->first;
    if (segment->last_seq() <= last_) return true;
    // Compaction replaced frames of this list while it was read. Send them as they were; the rest comes next.
    if (!out_->units.empty() && segment->first_seq() <= last_) {
      points_ -= wanted->last - wanted->first;
      wanted->last = wanted->first;
      return false;
    }
    auto bytes = segment->bytes();
    if (!bytes.ok()) return bytes.status();
    out_->names_files = true;
    add({BatchUnitKind::kSegment, segment->first_seq(), segment->last_seq(), segment->points(), std::string(*bytes)});
    return !is_full();
  }

 private:
  void add(StoredUnit unit) {
    out_->bytes += unit.bytes.size();
    last_ = unit.last;
    out_->units.push_back(std::move(unit));
  }

  UnitList* const out_;
  uint64_t last_;
  const size_t bytes_max_, units_max_;
  uint64_t points_ = 0;
};

}  // namespace

Result<UnitList> UnitReader::read(uint64_t after, uint64_t up_to, size_t bytes_max, size_t units_max) {
  if (!placed_ || at_.seq != after) {
    auto place = reader_->place_of(after);
    if (!place.ok()) return place.status();
    at_ = *place;
    placed_ = true;
  }
  UnitList out;
  if (after >= up_to) {
    out.at_end = true;
    return out;
  }
  const uint64_t points_before = at_.points;
  Collector collector(&out, after, bytes_max, units_max);
  // No number of points: the end is after a frame, and a segment that goes beyond it is sent whole.
  constexpr uint64_t kAllPoints = std::numeric_limits<int64_t>::max();
  TRACKER_RETURN_IF_ERROR(reader_->read(&at_, {up_to, kAllPoints}, &collector, nullptr));
  const uint64_t moved = at_.points - std::min(at_.points, points_before);
  out.points_lost = moved - std::min(moved, collector.points());
  out.at_end = at_.seq >= up_to;
  at_.seq = std::max(at_.seq, collector.last());
  if (!out.at_end && !collector.is_full()) placed_ = false;
  return out;
}

}  // namespace tracker::internal
