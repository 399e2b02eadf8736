// SPDX-License-Identifier: MIT
// A TensorBoard event file that grows with a run: what the run's databases hold goes behind what the file holds, row by
// row as recorded. How far it has come stands in the file itself, in a record that readers of such files pass over, so
// that whoever goes on (a resumed run) neither repeats a row nor leaves one out, wherever the one before was killed.
//
// Rows of one rank, texts, and config once. Threads: one at a time. Memory: kLiveEventsRows rows. Cost: a file is read
// once, when it is there already; each batch is one write.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/lasting_fd.h"
#include "query/tail/tail.h"

namespace tracker::internal {

constexpr uint64_t kLiveEventsRows = 32 * 1024;  // of one batch
// Limit: bytes of the live TensorBoard file. Beyond it: the file grows no more, reported once.
constexpr uint64_t kLiveEventsBytesMax = uint64_t{4} << 30;

struct LiveEventsPlan {
  int64_t rank = 0, attempt = 1;
  std::optional<int64_t> resume_step = {};  // of this attempt: TensorBoard is told to forget what it has behind it
  uint64_t bytes_max = kLiveEventsBytesMax;
};

class LiveEvents {
 public:
  explicit LiveEvents(LiveEventsPlan plan) : plan_(plan) {}
  // <folder>/<project>/<id>/events.out.tfevents.<seconds>.tracker.<uid>.live
  static std::string path_of(const std::string& folder, const RunView& run);

  // Everything that `run` holds and the file does not; `go_on` is asked between batches, false ends it early. kBusy:
  // another process writes the file; kNotFound: the file or its folder was removed meanwhile, nothing is made in its
  // place; kLimit: it would be beyond LiveEventsPlan.bytes_max; else what the disk said: the next call goes on there.
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
  LastingFd fd_;
  uint64_t size_ = 0;  // up to the last mark
  // What the last mark says.
  TailCursor cursor_;
  bool has_cursor_ = false, has_config_ = false;
  int64_t attempt_ = 0;  // the newest one of which rows are in the file
};

}  // namespace tracker::internal
