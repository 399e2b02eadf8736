// SPDX-License-Identifier: MIT
// The definitions file of a journal (docs/formats/ring.md): who writes, and which id means which series. Append-only,
// each record framed with a CRC; a series is appended before its id is used, so rings can be recovered with nothing
// else. The end of the run is there, too: room for it is kept from the beginning, so that a run whose disk and
// journal are full ends as it should. Threads: the writer under the journal's lock; reading is a pure function. Cost:
// one write(2) to tmpfs a definition, and an fallocate(2) each 4 KiB.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/guarded_fd.h"
#include "codec/frame.h"
#include "model/records.h"

namespace tracker::internal {

constexpr std::string_view kDefinitionsMagic = "TRKJDEF1";
constexpr size_t kDefinitionsBytesMax = 512u << 20;  // more than kSeriesMax longest names
constexpr size_t kIdentityLookBytes = 8u << 10;      // a usual identity and a few series
constexpr size_t kSeriesRecordBytesMax = 8u << 10;   // a longer record is no series, where one is searched for
constexpr int kDefinitionsVersionsAhead = 15;        // a version further ahead of ours is damage, no newer one
constexpr uint64_t kEndReserve = 8u << 10;           // kept free after the definitions, for the end of the run

// What finish() has said, whatever then becomes of the threads and the disk.
struct JournalEnd {
  int64_t time_us = 0;
  uint64_t texts = 0;   // that were accepted in all; those too large for a ring may have been in memory alone
  std::string payload;  // CBOR of an end record
};

class DefinitionsFile {
 public:
  static Result<DefinitionsFile> create(const std::string& path, const WriterIdentity& identity);
  // kLimit: the file would be larger than `bytes_max`.
  Status append(const SeriesDef& series, uint64_t bytes_max = kDefinitionsBytesMax);
  // Into the room that is kept. The last one of a file counts.
  Status append_end(const JournalEnd& end);
  bool still_linked() const;  // false when somebody unlinked it under us, or closed its descriptor

 private:
  explicit DefinitionsFile(Fd fd) : fd_(std::move(fd)) {}
  Status keep_room(uint64_t bytes);
  Status append_record(const std::string& record, uint64_t before);
  GuardedFd fd_;
  uint64_t room_ = 0;  // bytes of the file that have their place already, written or not
};

struct Definitions {
  WriterIdentity identity;
  std::vector<SeriesDef> series;  // in id order
  bool torn_tail = false;         // bytes after the last whole record: a definition that was never used
  bool salvaged = false;          // who wrote it is known from elsewhere
  std::optional<JournalEnd> end;
};
// kCorrupt without a whole identity record; kVersion for a newer file.
Result<Definitions> parse_definitions(std::string_view bytes);
// Of a file whose first part does not verify: the series, which have CRCs of their own, and `writer`, which is known
// from elsewhere. Cost: reads each byte up to the first series.
Definitions salvage_definitions(std::string_view bytes, const WriterIdentity& writer);
Result<Definitions> read_definitions(const std::string& dir);
// The writer alone: a file with 100,000 series takes half a second to read, and a search for the journals of a run
// reads all of them.
Result<WriterIdentity> read_writer_identity(const std::string& dir);

}  // namespace tracker::internal
