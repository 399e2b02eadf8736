// SPDX-License-Identifier: MIT
// The definitions file of a journal (docs/formats/ring.md): who writes, and which id means which series. Append-only,
// each record framed with a CRC; a series is appended before its id is used, so rings can be recovered with nothing
// else. Threads: the writer under the journal's lock; reading is a pure function. Cost: one write(2) to tmpfs a
// definition.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/lasting_fd.h"
#include "codec/frame.h"
#include "model/records.h"

namespace tracker::internal {

constexpr std::string_view kDefinitionsMagic = "TRKDEFS1";
constexpr size_t kDefinitionsBytesMax = 512u << 20;  // more than kSeriesMax longest names
constexpr size_t kIdentityLookBytes = 8u << 10;      // a usual identity and a few series
constexpr size_t kSeriesRecordBytesMax = 8u << 10;   // a longer record is no series, where one is looked for
constexpr int kDefinitionsVersionsAhead = 15;        // a version further ahead of ours is damage, no newer one

class DefinitionsFile {
 public:
  static Result<DefinitionsFile> create(const std::string& path, const WriterIdentity& identity);
  // kLimit: the file would be larger than `bytes_max`.
  Status append(const SeriesDef& series, uint64_t bytes_max = kDefinitionsBytesMax);
  bool still_linked() const;  // false when somebody unlinked it under us, or closed its descriptor

 private:
  explicit DefinitionsFile(Fd fd) : fd_(std::move(fd)) {}
  LastingFd fd_;
};

struct Definitions {
  WriterIdentity identity;
  std::vector<SeriesDef> series;  // in id order
  bool torn_tail = false;         // bytes behind the last whole record: a definition that was never used
  bool salvaged = false;          // who wrote it is known from elsewhere
};
// kCorrupt without a whole identity record; kVersion for a newer file.
Result<Definitions> parse_definitions(std::string_view bytes);
// Of a file whose first part does not verify: the series, which have CRCs of their own, and `writer`, who wrote it as
// is known from elsewhere. Cost: looks at each byte up to the first series.
Definitions salvage_definitions(std::string_view bytes, const WriterIdentity& writer);
Result<Definitions> read_definitions(const std::string& dir);
// Who writes, alone: a file with 100,000 series takes half a second to read, and who looks for the journals of a run
// looks at all of them.
Result<WriterIdentity> read_writer_identity(const std::string& dir);

}  // namespace tracker::internal
