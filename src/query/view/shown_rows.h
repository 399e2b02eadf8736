// SPDX-License-Identifier: MIT
// What counts of metrics of which a resume shadows a part: ShownStats of the rows that are shown, without holding them
// (shown_visitor.h). What was found is kept, so the next look at a run that goes on reads what is new. Threads: one at
// a time. Memory: the columns of a block at a time, and about 250 bytes a metric and writer that were looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "query/rows/shown_visitor.h"
#include "query/view/run_view.h"

namespace tracker::internal {

class ShownRows {
 public:
  using ReaderOf = std::function<WriterReader*(size_t writer)>;

  // Fills in what needs_rows() misses, of those of `metrics` that miss it. `writers`: of the snapshot that `metrics`
  // were merged from. The result is that of decoding all rows, but for the rounding of sums, and for damage in columns
  // that need not be decoded: their rows count. Other failures: kIo, kBusy; then nothing of the metrics is changed.
  Status complete(const std::vector<WriterSnapshot>& writers, const ReaderOf& reader_of,
                  std::vector<MetricInfo>* metrics, std::vector<LogDamage>* damage);
  uint64_t decoded_blocks() const { return decoded_blocks_; }  // so far; of frames and of segments

 private:
  struct Fold {
    LogPosition at;  // up to where it is looked at
    ShownPart part;
    bool decode_all = false;  // a directory was at odds with its columns
  };
  struct Folds {
    int64_t shown_up_to = INT64_MAX;
    uint64_t missing = 0;  // points of the log in parts that are gone
    std::map<std::string, Fold> by_metric;
  };
  // One writer as it is looked at.
  struct Look {
    const WriterSnapshot* writer;
    WriterReader* reader;
    Folds* folds;
    std::vector<LogDamage>* damage;
  };
  using Names = std::set<std::string>;  // of metrics
  struct Ends {
    bool first = false, last = false;
  };
  class Choice;

  void forget_others(const std::vector<WriterSnapshot>& writers);
  Status fold(const Look& look, const Names& names);
  Status fold_from(const Look& look, const std::vector<std::string>& names);
  Status read_ends(const Look& look, const std::map<std::string, Ends>& ends);
  Status read_ends_after(const Look& look, uint64_t seq, const std::map<std::string, Ends>& ends);

  std::map<Id128, Folds> writers_;
  uint64_t decoded_blocks_ = 0;
};

}  // namespace tracker::internal
