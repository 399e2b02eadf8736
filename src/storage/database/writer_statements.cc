// SPDX-License-Identifier: MIT
#include "storage/database/writer_statements.h"

#include <string_view>

#include "storage/database/own_commits.h"
#include "storage/database/schema.h"
#include "storage/database/stats_table.h"

namespace tracker::internal {

Status WriterStatements::prepare(Sqlite& db) {
  const struct {
    Statement* statement;
    std::string_view sql;
  } all[] = {
      {&begin, "BEGIN IMMEDIATE"},
      {&commit, "COMMIT"},
      {&read_last, kReadLastSeq},
      {&insert_frame, "INSERT INTO frames VALUES(?,?,?,?,?)"},
      {&set_meta, "INSERT OR REPLACE INTO meta VALUES(?,?)"},
      {&set_position_row, "INSERT OR REPLACE INTO journal VALUES(?,?)"},
      {&drop_position, "DELETE FROM journal WHERE nonce=?"},
      {&write_series_row, kWriteSeries},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = db.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return event_rows.prepare(db);
}

void WriterStatements::reset() {
  for (Statement* statement :
       {&begin, &commit, &read_last, &insert_frame, &set_meta, &set_position_row, &drop_position, &write_series_row})
    *statement = {};
  event_rows.reset();
}

}  // namespace tracker::internal
