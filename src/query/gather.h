// SPDX-License-Identifier: MIT
// Reads rows of chosen metrics out of a writer's frames, each frame once for all of them. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "query/run_view.h"

namespace tracker::internal {

class Gatherer {
 public:
  // `metrics` as merge_metrics() knows them: their types decide how rows are kept.
  explicit Gatherer(const std::vector<const MetricInfo*>& metrics);

  // Appends the rows that `writer` held when its snapshot was taken. Damaged frames are named in `damage`, the rest is
  // read.
  Status read_writer(const WriterSnapshot& writer, WriterReader* reader, std::vector<std::string>* damage);
  // Rows in the order read, promoted to one type where several met.
  std::vector<History> take();

 private:
  struct Target {
    const MetricInfo* metric = nullptr;
    History history;
    size_t writer_begin = 0;     // rows there were before the writer that is being read
    size_t frame_begin = 0;      // and before its frame
    std::vector<int64_t> order;  // ordinals of the frame's rows; needed where they come from several blocks
    int blocks_in_frame = 0;
    bool several_types() const { return metric->types.size() > 1; }
  };
  struct Column {
    size_t target;
    ValueType type;
  };

  std::unordered_map<uint32_t, Column> columns_of(const WriterSnapshot& writer) const;
  Status read_frame(std::string_view bytes, const std::unordered_map<uint32_t, Column>& columns);
  Status read_column(const FrameView::BlockView& block, std::string_view values, const Column& column);
  static void note_source(Target* target, const WriterIdentity& writer);
  static void finish_frame(Target* target);
  void drop_frame();

  std::vector<Target> targets_;
};

}  // namespace tracker::internal
