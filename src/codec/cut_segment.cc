// SPDX-License-Identifier: MIT
#include "codec/cut_segment.h"

#include <algorithm>
#include <span>

#include "codec/segment_encode.h"

namespace tracker::internal {
namespace {

// The definitions, events or losses that came with the frames from `first` to `last`.
template <typename T>
void copy_between(const std::vector<T>& all, const std::vector<uint64_t>& all_seqs, uint64_t first, uint64_t last,
                  std::vector<T>* out, std::vector<uint64_t>* out_seqs) {
  const auto begin = std::ranges::lower_bound(all_seqs, first), end = std::ranges::upper_bound(all_seqs, last);
  out_seqs->assign(begin, end);
  out->assign(all.begin() + (begin - all_seqs.begin()), all.begin() + (end - all_seqs.begin()));
}

Result<std::string> encode_frames(const Id128& writer, std::span<const SegmentFrame> frames, const SegmentLog& log,
                                  SegmentRows rows) {
  if (frames.empty()) return std::string();
  SegmentParts parts;
  parts.writer = writer;
  parts.frames.assign(frames.begin(), frames.end());
  const uint64_t first = frames.front().seq, last = frames.back().seq;
  copy_between(log.defs, log.def_seqs, first, last, &parts.log.defs, &parts.log.def_seqs);
  copy_between(log.events, log.event_seqs, first, last, &parts.log.events, &parts.log.event_seqs);
  copy_between(log.losses, log.loss_seqs, first, last, &parts.log.losses, &parts.log.loss_seqs);
  parts.rows = std::move(rows);
  return encode_segment(&parts);
}

}  // namespace

Result<SegmentHalves> cut_segment(SegmentView* segment, uint64_t seq) {
  TRACKER_RETURN_IF_ERROR(segment->check());
  SegmentLog log;
  TRACKER_RETURN_IF_ERROR(segment->log(&log));
  std::vector<SegmentFrame> frames;
  TRACKER_RETURN_IF_ERROR(segment->frame_table(&frames));
  const auto rows = SegmentRows::of(segment);
  if (!rows.ok()) return rows.status();
  size_t kept = 0;
  uint64_t cut = 0;  // the first row after the cut
  for (; kept < frames.size() && frames[kept].seq <= seq; ++kept) cut += frames[kept].rows;
  const std::span<const SegmentFrame> all = frames;
  auto up_to = encode_frames(segment->writer(), all.first(kept), log, rows->between(0, cut));
  if (!up_to.ok()) return up_to.status();
  auto after = encode_frames(segment->writer(), all.subspan(kept), log, rows->between(cut, rows->rows()));
  if (!after.ok()) return after.status();
  return SegmentHalves{std::move(*up_to), std::move(*after)};
}

}  // namespace tracker::internal
