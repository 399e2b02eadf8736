// SPDX-License-Identifier: MIT
// What a tail shows beside rows: texts, and what was set in config, summary and attributes, of the frames that a cursor
// has passed. Threads: as RunView.
#pragma once

#include <string>
#include <vector>

#include "model/value.h"
#include "query/tail/tail.h"

namespace tracker::internal {

struct TailedEvent {
  EventType type = EventType::kText;  // or kConfig, kSummary, kAttribute
  std::string key;                    // of a text its metric; empty: a whole map was merged
  Value value;
  bool has_step = false;
  int64_t step = 0;
  int64_t time_us = 0;
  RowSource source;
};

struct TailEventQuery {
  std::vector<std::string> metrics;  // of texts; empty: all
  bool texts = false;
  bool settings = false;  // config, summary, attributes
  bool alerts = false;
};

// The events between two positions of a tail, by writer, within it as recorded: those of the frames after `from`, up
// to `to`. Where a batch ended within a segment its events come with the batch that ends it. Damaged frames are passed
// over and named in problems(). Cost: reads those frames once more, decodes no column.
Result<std::vector<TailedEvent>> read_tail_events(RunView* run, const TailEventQuery& query, const TailCursor& from,
                                                  const TailCursor& to);

}  // namespace tracker::internal
