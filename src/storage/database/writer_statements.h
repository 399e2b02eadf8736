// SPDX-License-Identifier: MIT
// The statements of a writer's connection, prepared once. Threads: one at a time.
#pragma once

#include "base/status.h"
#include "storage/database/event_rows.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

struct WriterStatements {
  Statement begin, commit, read_last, insert_frame, set_meta, set_position_row, drop_position, write_series_row;
  EventRows event_rows;

  Status prepare(Sqlite& db);
  void reset();
};

}  // namespace tracker::internal
