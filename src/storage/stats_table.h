// SPDX-License-Identifier: MIT
// What the writer of a database holds of its series, by id. Threads: one at a time. Memory: about 190 bytes a series,
// and its name until it is written. Cost: a search of log(series) an id; ids that do not rise cost a move of those
// behind.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "storage/series_stats.h"

namespace tracker::internal {

class StatsTable {
 public:
  void clear();
  // Adds rows of the series stats.def.id that were logged after those here.
  void add(const SeriesStats& stats);
  const SeriesStats* find(uint32_t id) const;  // nullptr: none
  // It is written in the database and need not be held.
  void forget_name(uint32_t id);

 private:
  static constexpr uint32_t kPiece = 256;  // so that growing copies nothing

  SeriesStats& at(uint32_t place) { return pieces_[place / kPiece][place % kPiece]; }
  SeriesStats* search(uint32_t id) const;

  std::vector<std::pair<uint32_t, uint32_t>> places_;  // id and place, sorted
  std::vector<std::unique_ptr<SeriesStats[]>> pieces_;
};

}  // namespace tracker::internal
