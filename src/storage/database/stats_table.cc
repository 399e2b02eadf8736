// SPDX-License-Identifier: MIT
#include "storage/database/stats_table.h"

#include <algorithm>

namespace tracker::internal {
namespace {

constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull;

}  // namespace

void StatsTable::clear() { *this = StatsTable(); }

void StatsTable::add(const SeriesStats& stats) {
  const uint32_t id = stats.def.id;
  const auto* at = search(id);
  if (at == nullptr) {
    const std::pair<uint32_t, uint32_t> entry(id, entries_.add());
    places_.insert(std::lower_bound(places_.begin(), places_.end(), entry), entry);
    entries_[entry.second].type = stats.def.type;
    at = search(id);
  }
  Entry& entry = entries_[at->second];
  if (!stats.def.name.empty()) keep_name(id, stats.def.name);
  SeriesStats sum = known(id, entry);
  append_stats(stats, &sum);
  entry.type = sum.def.type;
  entry.min = sum.min;
  entry.max = sum.max;
  entry.sum = sum.sum;
  entry.first_bits = sum.first_bits;
  entry.last_bits = sum.last_bits;
  entry.has_others = sum.finite != sum.points || sum.nan + sum.pos_inf + sum.neg_inf > 0;
  if (entry.has_others) others_[id] = {sum.finite, sum.nan, sum.pos_inf, sum.neg_inf};
  const Rows rows{sum.points,        sum.step_min,     sum.step_max, sum.last_step,
                  sum.time_first_us, sum.time_last_us, sum.has_steps};
  if (!entry.is_new) leave(entry.shared);
  entry.is_new = true;
  entry.shared = share(rows);
  entry.is_new = false;
}

std::optional<SeriesStats> StatsTable::find(uint32_t id) const {
  const auto* at = search(id);
  if (at == nullptr) return std::nullopt;
  SeriesStats out = known(id, entries_[at->second]);
  out.def.name = name_of(id);
  return out;
}

void StatsTable::forget_names() {
  names_.clear();
  names_at_.clear();
}

// Keeps the first name of a series.
void StatsTable::keep_name(uint32_t id, std::string_view name) {
  if (!name_of(id).empty()) return;
  const NameAt entry{id, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(name.size())};
  names_at_.insert(std::lower_bound(names_at_.begin(), names_at_.end(), entry), entry);
  names_ += name;
}

std::string_view StatsTable::name_of(uint32_t id) const {
  const auto found = std::lower_bound(names_at_.begin(), names_at_.end(), NameAt{id});
  if (found == names_at_.end() || found->id != id) return {};
  return std::string_view(names_).substr(found->at, found->bytes);
}

const std::pair<uint32_t, uint32_t>* StatsTable::search(uint32_t id) const {
  const auto found = std::lower_bound(places_.begin(), places_.end(), std::pair<uint32_t, uint32_t>(id, 0));
  return found == places_.end() || found->first != id ? nullptr : &*found;
}

// Everything except the name.
SeriesStats StatsTable::known(uint32_t id, const Entry& entry) const {
  SeriesStats out;
  out.def.id = id;
  out.def.type = entry.type;
  if (entry.is_new) return out;
  const Rows& rows = shared_[entry.shared].rows;
  out.points = rows.points;
  out.has_steps = rows.has_steps;
  out.step_min = rows.step_min;
  out.step_max = rows.step_max;
  out.last_step = rows.last_step;
  out.time_first_us = rows.time_first_us;
  out.time_last_us = rows.time_last_us;
  out.min = entry.min;
  out.max = entry.max;
  out.sum = entry.sum;
  out.first_bits = entry.first_bits;
  out.last_bits = entry.last_bits;
  const Others others = entry.has_others ? others_.at(id) : Others{rows.points};
  out.finite = others.finite;
  out.nan = others.nan;
  out.pos_inf = others.pos_inf;
  out.neg_inf = others.neg_inf;
  return out;
}

// One more series uses them. Searches only the recently shared ones: series of one call arrive one after the other.
uint32_t StatsTable::share(const Rows& rows) {
  uint64_t hash = rows.points;
  for (const int64_t part : {rows.step_min, rows.last_step, rows.time_first_us, rows.time_last_us})
    hash = (hash ^ static_cast<uint64_t>(part)) * kMix, hash ^= hash >> 29;
  uint32_t& lately = lately_[hash * kMix >> 56];
  if (lately < shared_.size && shared_[lately].series > 0 && shared_[lately].rows == rows) {
    ++shared_[lately].series;
    return lately;
  }
  if (shared_free_.empty()) shared_free_.push_back(shared_.add());
  lately = shared_free_.back();
  shared_free_.pop_back();
  shared_[lately] = {rows, 1};
  return lately;
}

void StatsTable::leave(uint32_t shared) {
  if (--shared_[shared].series == 0) shared_free_.push_back(shared);
}

}  // namespace tracker::internal
