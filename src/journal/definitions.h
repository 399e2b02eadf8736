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
#include "codec/frame.h"
#include "model/records.h"

namespace tracker::internal {

constexpr std::string_view kDefinitionsMagic = "TRKDEFS1";
constexpr size_t kDefinitionsBytesMax = 512u << 20;  // more than kSeriesMax longest names

class DefinitionsFile {
 public:
  static Result<DefinitionsFile> create(const std::string& path, const WriterIdentity& identity);
  Status append(const SeriesDef& series);
  bool still_linked() const;  // false when somebody unlinked it under us

 private:
  explicit DefinitionsFile(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

struct Definitions {
  WriterIdentity identity;
  std::vector<SeriesDef> series;  // in id order
  bool torn_tail = false;         // bytes behind the last whole record: a definition that was never used
};
// kCorrupt without a whole identity record; kVersion for a newer file.
Result<Definitions> parse_definitions(std::string_view bytes);
Result<Definitions> read_definitions(const std::string& dir);

}  // namespace tracker::internal
