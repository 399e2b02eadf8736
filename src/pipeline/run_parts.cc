// SPDX-License-Identifier: MIT
// From one part of a run's files to the next.
#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "model/key.h"
#include "pipeline/run_files.h"
#include "query/rows/event_visitor.h"
#include "storage/database/writer_parts.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// Null: no part is there, or no part can be read.
Result<std::unique_ptr<WriterReader>> reader_of(const std::vector<PartFile>& parts) {
  if (parts.empty()) return std::unique_ptr<WriterReader>();
  auto reader = WriterReader::open(parts.front().path);
  const Code code = reader.status().code();
  if (code == Code::kCorrupt || code == Code::kNotFound) return std::unique_ptr<WriterReader>();
  return reader;
}

// The events that were in no ring and that another process has stored from the spill file, in frames after `after`.
Status read_in_no_ring(WriterReader* reader, uint64_t after, const WriterSnapshot& there, std::vector<Event>* out) {
  auto at = reader->place_of(after);
  if (!at.ok()) return at.status();
  EventVisitor visitor(after, there.last_seq, [out](const Event& event) {
    if (is_in_no_ring(event)) out->push_back(event);
  });
  return reader->read(&*at, there.end_of_log(), &visitor);
}

}  // namespace

std::string part_change_line(const LeftPart& left, int next, const Logged& gone) {
  const bool one = gone.points + gone.texts == 1;
  std::string out = fmt::format("{} {}; the run continues in part {} of this writer's files", left.path,
                                part_change_text(left.change), next);
  if (gone.points + gone.texts > 0)
    out += fmt::format(": {} that {} stored {} gone and {} counted as dropped", counted_text(gone),
                       one ? "was" : "were", one ? "is" : "are", one ? "is" : "are");
  return out;
}

bool is_in_no_ring(const Event& event) {
  return event.type == EventType::kNote || event.type == EventType::kEnvironment ||
         event.payload.size() > kInlineTextBytesMax;
}

// What the part holds since its last fsync stays in it, so it gets one more fsync. SQLite's database file itself is not
// opened here: closing it would drop the locks of other connections of this process, and every commit since the last
// fsync is in the WAL.
void RunFiles::leave_part(uint64_t committed) {
  left_ = {part_->change(), part_->path(), {}, committed};
  if (left_.change == PartChange::kSyncFailed) {
    // What the part before was to store again waits for the first commit of this one.
    auto frames = first_frames_.empty() ? part_->not_durable() : Result<std::vector<FrameRecord>>(first_frames_);
    if (frames.ok()) {
      left_.again = std::move(*frames);
      std::erase_if(left_.again, [committed](const FrameRecord& frame) { return frame.seq > committed; });
      left_.seq = std::max(part_->durable_seq(), before_.seq);
    }
  }
  if (left_.change == PartChange::kPinned) pinned_parts_.push_back(left_.path);
  const std::string written = part_->kind() == StoreFiles::kFrames ? left_.path : left_.path + "-wal";
  part_.reset();
  if (left_.change != PartChange::kSyncFailed && file_kind(written) == FileKind::kPlain) sync_path(written);
}

Result<LeftFiles> RunFiles::read_left(uint64_t committed) const {
  LeftFiles out;
  const std::vector<PartFile> parts = parts_of(left_.path);
  out.next = std::max(number_, parts.empty() ? 0 : parts.back().number) + 1;
  if (out.next > kPartsMax)
    return Status(Code::kLimit, fmt::format("{} {}, and this writer has {} parts", left_.path,
                                            part_change_text(left_.change), kPartsMax));
  auto reader = reader_of(parts);
  if (!reader.ok()) return reader.status();
  auto there = *reader ? (*reader)->snapshot() : Result<WriterSnapshot>(WriterSnapshot());
  if (there.status().code() == Code::kCorrupt) there = WriterSnapshot();
  if (!there.ok()) return there.status();
  out.there = std::move(*there);
  // After a failed fsync frames of our own may be there that its COMMIT did not confirm.
  out.foreign = left_.change != PartChange::kSyncFailed && out.there.last_seq > committed;
  if (out.foreign) TRACKER_RETURN_IF_ERROR(read_in_no_ring(reader->get(), committed, out.there, &out.stored));
  return out;
}

void RunFiles::begin_part(int number, const PartsBefore& before, std::vector<FrameRecord> first) {
  first_frames_ = std::move(first);
  before_ = before;
  number_ = number;
  left_ = {};
}

}  // namespace tracker::internal
