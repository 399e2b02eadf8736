// SPDX-License-Identifier: MIT
// What the drain must know of every series of a writer. Threads: one at a time. Memory: a byte a series, some 60 for
// one that shares its name with an earlier one, and about 40 where add() has to find out which series are one metric.
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
    if (types_.size() <= series.id) types_.resize(series.id + size_t{1}, ValueType::kFloat64);
    types_[series.id] = series.type;
    if (metric != series.id) metrics_[series.id] = metric;
  }
  // float64 for an undefined id.
  ValueType type(uint32_t id) const { return id < types_.size() ? types_[id] : ValueType::kFloat64; }
  // The same for all series of one metric: a metric logged as two types is two series.
  uint32_t metric(uint32_t id) const {
    if (metrics_.empty()) return id;
    const auto found = metrics_.find(id);
    return found == metrics_.end() ? id : found->second;
  }

 private:
  std::vector<ValueType> types_;
  std::unordered_map<uint32_t, uint32_t> metrics_;  // of those whose id is not that of their metric
  std::unordered_map<uint64_t, uint32_t> first_of_;
};

}  // namespace tracker::internal
