// SPDX-License-Identifier: MIT
// Reads rows of chosen metrics out of a writer's log, each frame or segment once for all of them, and the steps and
// times of a block once for all of its series. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "query/rows/history.h"
#include "query/rows/metric_info.h"
#include "query/rows/row_block.h"
#include "query/rows/selection.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

class Gatherer {
 public:
  // `metrics` as merge_metrics() knows them: their types decide how rows are kept. Of `selection` only the ranges of
  // steps and times are read.
  explicit Gatherer(const std::vector<const MetricInfo*>& metrics, const Selection& selection = {});
  // Takes room for all rows of the metrics at once.
  void reserve_all();

  // Appends the rows that `writer` held when its snapshot was taken. Damage is named in `damage`, the rest is read.
  Status read_writer(const WriterSnapshot& writer, WriterReader* reader, std::vector<LogDamage>* damage);
  // The same for what follows `*at`, up to and with the frame that brings the rows to `rows_max` or more; in a
  // segment up to the row that does. `*at` moves past what was read or found damaged.
  Status read_log(const WriterSnapshot& writer, WriterReader* reader, LogPosition* at, uint64_t rows_max,
                  std::vector<LogDamage>* damage);
  // The same up to `end` instead of the snapshot's, whose place in the log it must be.
  Status read_log_to(const WriterSnapshot& writer, WriterReader* reader, LogPosition* at, const LogPosition& end,
                     uint64_t rows_max, std::vector<LogDamage>* damage);
  uint64_t rows() const;  // of all metrics so far
  // Rows in the order read, promoted to one type where several met.
  std::vector<History> take();

 private:
  class Visitor;
  struct Target {
    const MetricInfo* metric = nullptr;
    History history;
    size_t writer_begin = 0;           // rows there were before the writer that is being read
    size_t frame_begin = 0;            // and before its frame or segment
    std::vector<size_t> block_begins;  // of the frame that is being read
    std::vector<int64_t> order;        // ordinals of its rows, where they come from several blocks or were sorted
    bool several_types() const { return metric->types.size() > 1; }
  };
  struct Column {
    size_t target;
    ValueType type;
  };
  using Columns = std::unordered_map<uint32_t, Column>;
  // Where the steps and times of the block being read are already.
  struct BlockRows {
    size_t target = 0, begin = 0;
    size_t count = 0;  // 0: none of them is wanted
    bool has_order = false;
  };

  Columns columns_of(const WriterSnapshot& writer) const;
  Status read_frame(const FrameView& frame, const Columns& columns);
  Result<bool> read_segment(SegmentView* segment, const Columns& columns, uint64_t rows_max, PointRange* wanted);
  Status read_apart(SegmentView* segment, const Columns& columns, bool partial, PointRange* wanted);
  Status read_blocks(SegmentView* segment, const Columns& columns, bool with_order);
  Status cut_segment(SegmentView* segment, uint64_t room, PointRange* wanted);
  int64_t ordinal_after(uint64_t rows) const;
  Status read_block(RowBlock* block, const Columns& columns);
  Status read_rows(RowBlock* block, size_t target, BlockRows* rows);
  size_t count_wanted(const History& history, size_t begin, bool has_steps);
  void copy_rows(const BlockRows& rows, size_t target);
  Status read_values(RowBlock* block, size_t column, const Column& to);
  static void note_source(Target* target, const WriterIdentity& writer);
  void finish_frame(Target* target);
  static void sort_rows(Target* target);
  static void keep_ordinals(const OrdinalRange& range, Target* target);
  void keep_wanted(size_t begin, History* history);
  bool has_ranges() const { return steps_.has_value() || times_us_.has_value(); }
  void drop_frame();
  static void drop_rows(Target* target);

  std::vector<Target> targets_;
  std::optional<Int64Range> steps_, times_us_;
  std::vector<uint32_t> keep_;
};

}  // namespace tracker::internal
