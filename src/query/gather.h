// SPDX-License-Identifier: MIT
// Reads rows of chosen metrics out of a writer's frames, each frame once for all of them, and the steps and times of a
// block once for all of its series. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/run_view.h"
#include "query/selection.h"

namespace tracker::internal {

class Gatherer {
 public:
  // `metrics` as merge_metrics() knows them: their types decide how rows are kept. Of `selection` only the ranges of
  // steps and times are looked at.
  explicit Gatherer(const std::vector<const MetricInfo*>& metrics, const Selection& selection = {});
  // Takes room for all rows of the metrics at once.
  void reserve_all();

  // Appends the rows that `writer` held when its snapshot was taken. Damaged frames are named in `damage`, the rest is
  // read.
  Status read_writer(const WriterSnapshot& writer, WriterReader* reader, std::vector<std::string>* damage);
  // The same for the frames behind `*seq`, up to and with the one that brings the rows to `rows_max` or more. `*seq`
  // becomes that of the last frame that was read or found damaged.
  Status read_frames(const WriterSnapshot& writer, WriterReader* reader, uint64_t* seq, uint64_t rows_max,
                     std::vector<std::string>* damage);
  uint64_t rows() const;  // of all metrics so far
  // How many rows of each series (by id) were read from a writer since the last call.
  std::unordered_map<uint32_t, uint64_t> take_rows_read() { return std::exchange(rows_read_, {}); }
  // Rows in the order read, promoted to one type where several met.
  std::vector<History> take();

 private:
  struct Target {
    const MetricInfo* metric = nullptr;
    History history;
    size_t writer_begin = 0;           // rows there were before the writer that is being read
    size_t frame_begin = 0;            // and before its frame
    std::vector<size_t> block_begins;  // of the frame that is being read
    std::vector<int64_t> order;        // ordinals of its rows, where they come from several blocks
    bool several_types() const { return metric->types.size() > 1; }
  };
  struct Column {
    size_t target;
    ValueType type;
  };
  // Where the steps and times of the block being read stand already.
  struct BlockRows {
    size_t target = 0, begin = 0;
    size_t count = 0;  // 0: none of them is wanted
    bool has_order = false;
  };

  std::unordered_map<uint32_t, Column> columns_of(const WriterSnapshot& writer) const;
  Status read_frame(std::string_view bytes, const std::unordered_map<uint32_t, Column>& columns);
  Status read_block(const FrameView::BlockView& block, const std::unordered_map<uint32_t, Column>& columns);
  Status read_rows(const FrameView::BlockView& block, size_t target, BlockRows* rows);
  size_t count_wanted(const History& history, size_t begin, bool has_steps);
  void copy_rows(const BlockRows& rows, size_t target);
  Status read_values(const FrameView::BlockView& block, size_t column, const Column& to);
  static void note_source(Target* target, const WriterIdentity& writer);
  void finish_frame(Target* target);
  static void sort_frame(const std::vector<int64_t>& ordinals, size_t begin, History* history);
  void keep_wanted(size_t begin, History* history);
  bool has_ranges() const { return steps_.has_value() || times_us_.has_value(); }
  void drop_frame();

  std::vector<Target> targets_;
  std::optional<Int64Range> steps_, times_us_;
  std::vector<uint32_t> keep_;
  std::unordered_map<uint32_t, uint64_t> rows_read_;
};

}  // namespace tracker::internal
