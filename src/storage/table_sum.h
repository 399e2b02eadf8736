// SPDX-License-Identifier: MIT
// The checksum of a database's small tables, which have none of their own: one flipped bit there would be another
// config, another name of a metric, another end (docs/decisions/0045). It is written when the database is finished,
// and says up to which frame it holds: a writer that goes on, of an older version too, leaves it behind. Threads: one.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "storage/sqlite.h"

namespace tracker::internal {

// By their largest id. With more there is no checksum: to read them all again takes a reader too long.
constexpr int64_t kTableSumSeriesMax = 100'000;

// Within the transaction that wrote the tables last, all of whose frames are counted in `last_seq`.
Status write_table_sum(Sqlite& db, uint64_t last_seq);
// Within the first transaction of a writer that goes on.
Status drop_table_sum(Sqlite& db);

// The newest frame that the rows of the log name, whatever `meta` says. 0: there is none. kCorrupt.
Result<uint64_t> newest_frame(Sqlite& db);

enum class TableSum { kNone, kSound, kWrong };
// kNone: there is none, or it is of an earlier state. `bytes`: what stands there. kCorrupt: a table cannot be read.
// Cost: reads meta, series, attributes and losses.
Result<TableSum> check_table_sum(Sqlite& db);

}  // namespace tracker::internal
