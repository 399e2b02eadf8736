// SPDX-License-Identifier: MIT
// What the drain must know of every series of a writer. Threads: one at a time. Memory: 8 bytes a series, and about 40
// more where add() has to find out which series are one metric.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/frame.h"

namespace tracker::internal {

class SeriesTable {
 public:
  void add(const SeriesDef& series) {
    // Only hashes of names are kept: two names that meet are taken for one metric, which costs an order column.
    const uint64_t name = std::hash<std::string_view>{}(series.name);
    add(series, first_of_.try_emplace(name, series.id).first->second);
  }
  // `metric`: one id for all series of the same name.
  void add(const SeriesDef& series, uint32_t metric) {
    if (entries_.size() <= series.id) entries_.resize(series.id + 1);
    entries_[series.id] = {series.type, metric};
  }
  // float64 for an id that nobody defined.
  ValueType type(uint32_t id) const { return id < entries_.size() ? entries_[id].type : ValueType::kFloat64; }
  // The same for all series of one metric: a metric logged as two types is two series.
  uint32_t metric(uint32_t id) const {
    return id < entries_.size() && entries_[id].metric != 0 ? entries_[id].metric : id;
  }

 private:
  struct Entry {
    ValueType type = ValueType::kFloat64;
    uint32_t metric = 0;
  };
  std::vector<Entry> entries_;
  std::unordered_map<uint64_t, uint32_t> first_of_;
};

}  // namespace tracker::internal
