// SPDX-License-Identifier: MIT
// A segment in a row of `segments`; its parts are read when they are needed and stay in memory as long as this object.
// It keeps a read transaction open. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/segment.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

constexpr uint64_t kSegmentHeadGuess = 4096;  // most directories are shorter

class StoredSegment {
 public:
  // kCorrupt: there is no such row, or its head is damaged. `db` must outlive it.
  static Result<std::unique_ptr<StoredSegment>> open(Sqlite* db, uint64_t first_seq);
  SegmentView* view() { return &*view_; }

 private:
  explicit StoredSegment(Blob blob) : blob_(std::move(blob)) {}
  Result<std::string_view> read(uint64_t offset, uint64_t size);
  Status open_view();

  Blob blob_;
  std::vector<std::unique_ptr<char[]>> kept_;
  std::optional<SegmentView> view_;
};

// The bytes of frame `seq` in the database at `path`; empty: it is in a segment, or missing. Cost: opens the database.
Result<std::string> stored_frame(const std::string& path, uint64_t seq);

}  // namespace tracker::internal
