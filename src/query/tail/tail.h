// SPDX-License-Identifier: MIT
// New rows of a run since the last look: what a live display asks for again and again. Each row of the metrics asked
// for comes exactly once, over any number of calls, processes and writers: the caller keeps the cursor after each
// batch that it has processed. Threads: as RunView.
//
//   auto cursor = tail_begin(run, query);             or tail_end(), or TailCursor::parse(token)
//   for (;;) {
//     run->refresh();                                 what has been committed by now
//     auto batch = read_tail(&run, query, &cursor);   bounded; repeat at once while batch->more
//     if (nothing more and run->state() is not kRunning) break;
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "query/tail/tail_cursor.h"
#include "query/view/run_view.h"

namespace tracker::internal {

// Limit: rows of one batch of tail() by default. Beyond it: the next batch.
constexpr uint64_t kTailRowsDefault = 1u << 20;

struct TailQuery {
  std::vector<std::string> metrics;      // empty: all of them. Names that are not there yet are waited for
  uint64_t rows_max = kTailRowsDefault;  // of one batch; at least 1
  // Of which writers; empty: of all. The cursor does not move for the others, and goes on with any choice.
  std::function<bool(const WriterIdentity&)> takes = {};
};

struct TailedMetric {
  std::string name;
  History rows;  // by writer, within it in the order logged; nothing is resolved
};

struct TailBatch {
  std::vector<TailedMetric> metrics;  // those with new rows, by name
  uint64_t rows = 0;
  bool more = false;  // the snapshot holds more than rows_max let through
};

// Before the first row, or after the last one of the snapshot; writers that come later are read from their start.
TailCursor tail_begin(const RunView& run, const TailQuery& query);
TailCursor tail_end(const RunView& run, const TailQuery& query);
// In front of the last `frames` frames of each writer, and where that is within a segment in front of the segment.
// Cost: a read of the table of frames.
Result<TailCursor> tail_back(RunView* run, const TailQuery& query, uint64_t frames);

// kInvalid: a cursor of another run, or for other metrics; rows_max of 0.
Status check_tail(const RunView& run, const TailQuery& query, const TailCursor& cursor);

// The rows of the last snapshot after the cursor, which moves past them. The batch is at most rows_max rows and one
// frame (of a segment: one call) more a writer; writers with news share rows_max, so that none waits for another's
// backlog. Damaged frames are passed over and named in problems(). After a failure the cursor is as before. Errors: as
// above; kLimit: so many writers that the cursor would be beyond kTailCursorBytesMax. Cost: reads the log after the
// cursor, decodes the columns asked for; a segment that holds more than a batch once a batch.
Result<TailBatch> read_tail(RunView* run, const TailQuery& query, TailCursor* cursor);

}  // namespace tracker::internal
