// SPDX-License-Identifier: MIT
#include "storage/stats_table.h"

#include <algorithm>
#include <string>

namespace tracker::internal {

void StatsTable::clear() {
  places_.clear();
  pieces_.clear();
}

void StatsTable::add(const SeriesStats& stats) {
  if (SeriesStats* known = search(stats.def.id); known != nullptr) {
    append_stats(stats, known);
    return;
  }
  const auto place = static_cast<uint32_t>(places_.size());
  if (place == pieces_.size() * kPiece) pieces_.push_back(std::make_unique<SeriesStats[]>(kPiece));
  const std::pair<uint32_t, uint32_t> entry(stats.def.id, place);
  places_.insert(std::lower_bound(places_.begin(), places_.end(), entry), entry);
  at(place) = stats;
}

SeriesStats* StatsTable::search(uint32_t id) const {
  const auto found = std::lower_bound(places_.begin(), places_.end(), std::pair<uint32_t, uint32_t>(id, 0));
  if (found == places_.end() || found->first != id) return nullptr;
  return &pieces_[found->second / kPiece][found->second % kPiece];
}

const SeriesStats* StatsTable::find(uint32_t id) const { return search(id); }

void StatsTable::forget_name(uint32_t id) {
  SeriesStats* known = search(id);
  if (known != nullptr) std::string().swap(known->def.name);
}

}  // namespace tracker::internal
