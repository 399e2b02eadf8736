// SPDX-License-Identifier: MIT
// <store>/ingest.db: units that clients have sent, from the fsync that acknowledges them until they are in the files of
// their runs. Threads: one at a time; other connections may read it at the same time. Cost: blocks on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/records.h"
#include "storage/sqlite/sqlite.h"
#include "storage/store/store.h"
#include "storage/writer/batch.h"

namespace tracker::internal {

constexpr const char* kIngestFile = "ingest.db";
// Limit: bytes of units that a server keeps aside. Beyond it: counted.
constexpr uint64_t kQuarantineBytesMax = 256 << 20;

// A waiting unit. `lost` points of the numbers before `first` become a frame of their own (ingest.cc).
struct WaitingUnit {
  int64_t id = 0;
  BatchUnitKind kind = BatchUnitKind::kFrame;
  uint64_t first = 0, last = 0;
  uint64_t after = 0;  // the server's number when it arrived
  std::string bytes;
};

// A writer with waiting units.
struct WaitingWriter {
  int64_t row = 0;
  Id128 run;
  WriterIdentity identity;
  int64_t heartbeat_us = 0;
  uint64_t last = 0;   // of its units
  uint64_t bytes = 0;  // of them
};

class IngestDb {
 public:
  // Makes the file if it is missing. kCorrupt, kVersion: the file is another one.
  static Result<IngestDb> open(const Store& store);

  Status begin(bool durable);
  Status commit();
  void roll_back();
  // Within a transaction.
  Result<int64_t> put_writer(const Id128& run, const WriterIdentity& writer, int64_t heartbeat_us);
  Status put_unit(int64_t writer, const BatchUnit& unit, uint64_t after);
  Status quarantine(const Id128& run, const Id128& writer, const BatchUnit& unit);
  Status erase_units(int64_t writer, int64_t up_to_id);
  Status quarantine_all(int64_t writer);

  // By writers that have units.
  Result<std::vector<WaitingWriter>> waiting();
  // Those with an id above `id`, by id, up to `bytes_max` bytes.
  Result<std::vector<WaitingUnit>> units(int64_t writer, int64_t after_id, uint64_t bytes_max);
  // Of a waiting frame; empty: there is none.
  Result<std::string> frame(int64_t writer, uint64_t seq);
  Result<uint64_t> quarantined();
  Result<uint64_t> quarantined_of(const Id128& run);

 private:
  Sqlite db_;
  bool full_sync_ = true;
};

}  // namespace tracker::internal
