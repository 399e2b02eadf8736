// SPDX-License-Identifier: MIT
// A log of very many segments of a frame each, which compaction would not leave so.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/sqlite.h"
#include "support/segment_model.h"
#include "support/storage.h"

namespace tracker::internal {

// One series, one point a segment. The database's path.
inline std::string make_small_segments(const std::string& folder, const WriterIdentity& identity, uint64_t segments) {
  {
    auto db = WriterDb::create(folder, identity);
    std::vector<FrameRecord> records;
    for (uint64_t seq = 1; seq <= segments; ++seq) records.push_back(record_of(test_frame(identity, seq, 1, 1)));
    EXPECT_TRUE(db.ok() && (*db)->append(records, true).ok());
  }
  auto db = Sqlite::open(db_path(folder, identity), SqliteOpen::kWrite, 1000);
  EXPECT_TRUE(db.ok() && db->exec("BEGIN; DELETE FROM frames").ok());
  for (uint64_t seq = 1; seq <= segments; ++seq) {
    auto row = db->prepare("INSERT INTO segments(first_seq,last_seq,points,data) VALUES(?,?,1,?)");
    const auto number = static_cast<int64_t>(seq);
    const std::string bytes = segment_of({test_frame(identity, seq, 1, 1)});
    EXPECT_TRUE(row.ok() && row->bind(number).bind(number).bind_blob(bytes).run().ok());
  }
  EXPECT_TRUE(db->exec("COMMIT").ok());
  return db_path(folder, identity);
}

}  // namespace tracker::internal
