// SPDX-License-Identifier: MIT
#include "storage/database/stored_segment.h"

#include <algorithm>
#include <utility>

namespace tracker::internal {

Result<std::unique_ptr<StoredSegment>> StoredSegment::open(Sqlite* db, uint64_t first_seq) {
  auto blob = db->open_blob("segments", "data", static_cast<int64_t>(first_seq));
  if (!blob.ok()) return blob.status();
  std::unique_ptr<StoredSegment> out(new StoredSegment(std::move(*blob)));
  TRACKER_RETURN_IF_ERROR(out->open_view());
  return out;
}

Result<std::string_view> StoredSegment::read(uint64_t offset, uint64_t size) {
  kept_.push_back(std::make_unique_for_overwrite<char[]>(size));
  TRACKER_RETURN_IF_ERROR(blob_.read(offset, size, kept_.back().get()));
  return std::string_view(kept_.back().get(), size);
}

Status StoredSegment::open_view() {
  auto head = read(0, std::min(blob_.size(), kSegmentHeadGuess));
  if (!head.ok()) return head.status();
  auto bytes = SegmentView::head_bytes(*head, blob_.size());
  if (!bytes.ok()) return bytes.status();
  if (*bytes > head->size()) head = read(0, *bytes);
  if (!head.ok()) return head.status();
  auto view = SegmentView::open(*head, blob_.size(), [this](uint64_t offset, uint64_t n) { return read(offset, n); });
  if (!view.ok()) return view.status();
  view_.emplace(std::move(*view));
  return {};
}

Result<std::string> stored_frame(const std::string& path, uint64_t seq) {
  constexpr int kBusyMs = 1000;
  auto db = Sqlite::open(path, SqliteOpen::kRead, kBusyMs);
  if (!db.ok()) return db.status();
  auto find = db->prepare("SELECT data FROM frames WHERE seq=?");
  if (!find.ok()) return find.status();
  const auto row = find->bind(static_cast<int64_t>(seq)).step();
  if (!row.ok()) return row.status();
  return *row ? std::string(find->bytes_at(0)) : std::string();
}

}  // namespace tracker::internal
