// SPDX-License-Identifier: MIT
#include "storage/frames/frames_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

namespace tracker::internal {
namespace {

constexpr size_t kFramesDamageLinesMax = 1000;
constexpr size_t kDamageProbesMax = 16;  // ranges that each refresh reads again

// Over a network the blocks of a file may arrive out of order: bytes that did not verify before may verify now.
bool has_healed(FramesBytes& bytes, const Id128& writer, uint64_t offset) {
  bool first_is_there = false;
  FramesVisitor visitor;
  visitor.entry = [&](const FramesEntry& entry) {
    first_is_there = entry.offset == offset;
    return Status(Code::kClosed, "one is enough");
  };
  (void)scan_frames(bytes, writer, offset, visitor).ok();
  return first_is_there;
}

// The first record of a new file.
WriterIdentity read_identity(FramesBytes& bytes, const Id128& writer) {
  FramesTotals totals;
  FramesVisitor visitor;
  visitor.entry = [&](const FramesEntry& entry) {
    if (entry.kind == FramesKind::kIdentity) (void)add_entry(writer, entry, &totals).ok();
    return totals.identity ? Status(Code::kClosed, "one is enough") : Status();
  };
  (void)scan_frames(bytes, writer, kFramesHeaderBytes, visitor).ok();
  if (totals.identity) return std::move(*totals.identity);
  WriterIdentity unknown;
  unknown.writer = writer;
  return unknown;
}

}  // namespace

Result<std::unique_ptr<FramesReader>> FramesReader::open(const std::string& path) {
  auto input = open_frames(path, O_RDONLY);
  if (!input.ok()) return input.status();
  FileBytes bytes(input->fd.get(), input->size);
  return std::unique_ptr<FramesReader>(new FramesReader(path, read_identity(bytes, input->writer)));
}

// A new descriptor each time: over NFS, only opening asks the server for the file's present length.
Result<FramesInput> FramesReader::open_again() const {
  auto input = open_frames(path_, O_RDONLY);
  if (input.ok() && input->writer != writer_)
    return Status(Code::kCorrupt, fmt::format("{} belongs to writer {} now", path_, input->writer.hex()));
  return input;
}

Status FramesReader::refresh() {
  auto input = open_again();
  if (!input.ok()) return input.status();
  FileBytes bytes(input->fd.get(), input->size);
  bool from_start = input->size < seen_.end || input->inode != seen_.inode;
  for (size_t i = 0; i < seen_.damage_offsets.size() && i < kDamageProbesMax && !from_start; ++i)
    from_start = has_healed(bytes, writer_, seen_.damage_offsets[i]);
  if (from_start) seen_ = Seen();
  seen_.inode = input->inode;
  FramesVisitor visitor;
  visitor.entry = [this](const FramesEntry& entry) { return add(entry); };
  visitor.damage = [this](const FramesDamage& damage) {
    note(damage.offset, Code::kCorrupt, fmt::format("{} bytes at {} do not verify", damage.bytes, damage.offset));
  };
  auto end = scan_frames(bytes, writer_, seen_.end, visitor);
  if (!end.ok()) return Status(end.status().code(), fmt::format("{}: {}", path_, end.status().message()));
  seen_.end = *end;
  seen_.size = input->size;
  return {};
}

void FramesReader::note(uint64_t offset, Code code, const std::string& what) {
  if (seen_.damage.size() >= kFramesDamageLinesMax) return;
  seen_.damage.push_back({code, fmt::format("{}: {}", path_, what)});
  seen_.damage_offsets.push_back(offset);
}

Status FramesReader::add(const FramesEntry& entry) {
  auto view = add_entry(writer_, entry, &seen_.totals);
  const bool newer_kind = !view.ok() && view.status().code() == Code::kVersion && entry.kind != FramesKind::kFrame;
  if (newer_kind) return view.status();
  if (!view.ok()) {
    note(entry.offset, damage_code(view.status()),
         fmt::format("record at {}: {}", entry.offset, view.status().message()));
    return {};
  }
  if (!*view) return {};
  add_to_index((*view)->seq(), entry.offset);
  seen_.events.apply(**view);
  auto stats = compute_frame_stats(**view);
  if (!stats.ok()) {
    note(entry.offset, damage_code(stats.status()),
         fmt::format("frame {}: {}", (*view)->seq(), stats.status().message()));
    return {};
  }
  for (const auto& [id, later] : stats->series) {
    const auto [at, is_new] = seen_.series.try_emplace(id, later);
    if (!is_new) append_stats(later, &at->second);
  }
  return {};
}

void FramesReader::add_to_index(uint64_t seq, uint64_t offset) {
  std::vector<IndexEntry>& index = seen_.index;
  if (!index.empty() && offset - index.back().offset < seen_.index_stride) return;
  index.push_back({seq, offset});
  if (index.size() <= kIndexEntriesMax) return;
  for (size_t i = 0; 2 * i < index.size(); ++i) index[i] = index[2 * i];
  index.resize((index.size() + 1) / 2);
  seen_.index_stride *= 2;
}

// The offset from which a scan misses no frame after `seq`.
uint64_t FramesReader::offset_before(uint64_t seq) const {
  const auto later = std::upper_bound(seen_.index.begin(), seen_.index.end(), seq,
                                      [](uint64_t s, const IndexEntry& entry) { return s < entry.seq; });
  return later == seen_.index.begin() ? kFramesHeaderBytes : std::prev(later)->offset;
}

Result<WriterSnapshot> FramesReader::snapshot() {
  TRACKER_RETURN_IF_ERROR(refresh());
  WriterSnapshot out;
  out.frames_file = true;
  out.damage = seen_.damage;
  if (seen_.size > seen_.end && (seen_.events.end() || seen_.events.recovered()))
    out.damage.push_back({Code::kCorrupt, fmt::format("{}: {} bytes at {} do not verify, after the writer's end", path_,
                                                      seen_.size - seen_.end, seen_.end)});
  if (seen_.totals.identity) {
    out.identity = *seen_.totals.identity;
  } else {
    out.identity.writer = writer_;
    out.damage.push_back({Code::kCorrupt, path_ + ": the record with its writer's identity does not verify"});
  }
  out.positions = seen_.totals.positions;
  out.last_seq = seen_.totals.last_seq;
  out.attributes = seen_.events.attributes();
  out.losses = seen_.events.losses();
  out.end = seen_.events.end();
  out.recovered = seen_.events.recovered();
  out.step_max = seen_.events.step_max();
  out.heartbeat_us = seen_.totals.heartbeat_us;
  if (out.end) out.cost = out.end->cost;
  out.points = seen_.totals.points;
  out.frames = seen_.totals.frames;
  out.frame_bytes = seen_.totals.frame_bytes;
  put_series(seen_.series, &out);
  return out;
}

// Counts the points after `seq` and subtracts, because the points before it would be the whole file.
Result<LogPosition> FramesReader::place_of(uint64_t seq) {
  class Nothing : public LogVisitor {
    Result<bool> frame(const FrameView&) override { return true; }
    Result<bool> segment(SegmentView*, PointRange*) override { return true; }
  };
  const LogPosition end{seen_.totals.last_seq, seen_.totals.points};
  if (seq >= end.seq) return end;
  LogPosition after{seq, 0};
  Nothing nothing;
  TRACKER_RETURN_IF_ERROR(read(&after, end, &nothing, nullptr));
  return LogPosition{seq, end.points - std::min(end.points, after.points)};
}

Status FramesReader::read(LogPosition* at, const LogPosition& end, LogVisitor* visitor,
                          std::vector<LogDamage>* damage) {
  auto input = open_again();
  if (!input.ok()) return input.status();
  FileBytes bytes(input->fd.get(), input->size);
  const auto report = [&](Code code, const std::string& what) {
    if (damage != nullptr && damage->size() < kFramesDamageLinesMax)
      damage->push_back({code, fmt::format("{}: {}", path_, what)});
  };
  FramesTotals totals;
  totals.last_seq = at->seq;
  FramesVisitor records;
  records.entry = [&](const FramesEntry& entry) {
    if (entry.kind != FramesKind::kFrame) return Status();
    auto view = add_entry(writer_, entry, &totals);
    if (!view.ok()) {
      report(damage_code(view.status()), fmt::format("record at {}: {}", entry.offset, view.status().message()));
      return Status();
    }
    if (!*view) return Status();
    const FrameView& frame = **view;
    if (frame.seq() > end.seq) {
      at->seq = end.seq;
      return Status(Code::kClosed, "enough");
    }
    *at = {frame.seq(), at->points + frame.points()};
    auto more = visitor->frame(frame);
    if (!more.ok())
      report(damage_code(more.status()), fmt::format("frame {}: {}", frame.seq(), more.status().message()));
    return !more.ok() || *more ? Status() : Status(Code::kClosed, "enough");
  };
  records.damage = [&](const FramesDamage& bad) {
    report(Code::kCorrupt, fmt::format("{} bytes at {} do not verify", bad.bytes, bad.offset));
  };
  const bool same_file = input->inode == seen_.inode && input->size >= seen_.end;
  auto scanned = scan_frames(bytes, writer_, same_file ? offset_before(at->seq) : kFramesHeaderBytes, records);
  if (scanned.ok()) {
    at->seq = std::max(at->seq, end.seq);
    return {};
  }
  if (scanned.status().code() == Code::kClosed) return {};
  return Status(scanned.status().code(), fmt::format("{}: {}", path_, scanned.status().message()));
}

}  // namespace tracker::internal
