// SPDX-License-Identifier: MIT
// Another process considered this one dead and stored part of its rings: the drain reads the rest of them again.
#include <algorithm>

#include "journal/live/journal.h"

namespace tracker::internal {
namespace {

uint64_t position_in(const std::vector<RingPosition>& positions, uint64_t nonce) {
  uint64_t out = 0;
  for (const RingPosition& position : positions)
    if (position.nonce == nonce) out = std::max(out, position.position);
  return out;
}

}  // namespace

RingSpan Journal::read_between(RingFile* file, uint64_t from, uint64_t to) {
  std::vector<RingSpan> span{{file->header(), file->data(), file->data_bytes(), file->nonce(), from, to, 0, false}};
  const TimeLine times({last_anchor_, now_}, 1.0);
  for (bool more = true; more && !span[0].damaged;) {
    FrameBuilder builder;
    builder.use_series(&series_drained_);
    more = read_rings(&span, times, kRowsAFrame, kBytesAFrame, &builder);
  }
  return span[0];
}

void Journal::rewind(const std::vector<RingPosition>& stored, uint32_t defined) {
  const std::lock_guard<std::mutex> guard(files_mutex_);
  for (const auto& held : files_) {
    RingFile* file = held->file.get();
    RingHeader* header = file->header();
    const uint64_t known = std::min(position_in(stored, file->nonce()), header->tail.load(std::memory_order_acquire));
    const uint64_t at = std::max(known, header->released.load());
    if (at < file->drained) {
      const RingSpan again = read_between(file, at, file->drained);
      file->points_read -= std::min(file->points_read, again.points);
      file->texts_read -= std::min(file->texts_read, again.texts);
    } else {
      const RingSpan passed = read_between(file, file->drained, at);
      file->points_read += passed.points;
      file->texts_read += passed.texts;
    }
    file->drained = at;
    header->released.store(at, std::memory_order_release);
    for (size_t i = 0; i < kLossSlots; ++i)
      file->losses_drained[i] = file->losses_released[i] = position_in(stored, file->nonce() | (i + 1));
  }
  losses_pending_ = true;
  taken_.clear();
  taken_losses_.clear();
  defs_drained_ = defs_taken_ = std::min(defs_drained_, defined);
}

}  // namespace tracker::internal
