// SPDX-License-Identifier: MIT
// A TensorBoard event file that grows with a run: rows of the run's databases are appended as they are recorded. The
// position is in the file itself, in a record that readers of such files ignore, so a process that continues (a resumed
// run) neither repeats nor omits a row, wherever the previous one was killed.
//
// Rows of one rank, texts, and config once. Threads: one at a time. Memory: kLiveEventsRows rows. Cost: an existing
// file is read once; each batch is one write.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/guarded_fd.h"
#include "query/tail/tail.h"

namespace tracker::internal {

constexpr uint64_t kLiveEventsRows = 32 * 1024;  // of one batch
// Limit: bytes of the live TensorBoard file. Beyond it: the file grows no more, reported once.
constexpr uint64_t kLiveEventsBytesMax = uint64_t{4} << 30;

struct LiveEventsPlan {
  int64_t rank = 0, attempt = 1;
  std::optional<int64_t> resume_step = {};  // of this attempt: TensorBoard is made to forget its rows after this step
  uint64_t bytes_max = kLiveEventsBytesMax;
};

class LiveEvents {
 public:
  explicit LiveEvents(LiveEventsPlan plan) : plan_(plan) {}
  // <folder>/<project>/<id>/events.out.tfevents.<seconds>.tracker.<uid>.live
  static std::string path_of(const std::string& folder, const RunView& run);

  // Appends everything that `run` has and the file does not; `go_on` is called between batches, false ends it early.
  // kBusy: another process writes the file; kNotFound: the file or its folder was removed meanwhile, and is not made
  // again; kLimit: it would exceed LiveEventsPlan.bytes_max; else an error of the disk: the next call continues there.
  Status follow(const std::string& path, RunView* run, const std::function<bool()>& go_on);
  void close() { fd_.reset(); }

 private:
  Status open(const std::string& path);
  Status read_marks(const std::string& path);
  bool read_mark(std::string_view record);
  Status keep_open();
  Status is_there() const;
  Status begin(const RunView& run);
  Status follow_writers(const TailQuery& query, RunView* run, const std::function<bool()>& go_on);
  void add_rows(const TailBatch& batch, std::string* out) const;
  Status write(std::string bytes);

  LiveEventsPlan plan_;
  std::string path_;
  GuardedFd fd_;
  uint64_t size_ = 0;  // up to the last mark
  // The position of the last mark.
  TailCursor cursor_;
  bool has_cursor_ = false, has_config_ = false;
  int64_t attempt_ = 0;  // the newest attempt with rows in the file
};

}  // namespace tracker::internal
