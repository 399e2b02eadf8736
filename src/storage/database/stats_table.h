// SPDX-License-Identifier: MIT
// The series that the writer of a database has in memory, by id. Threads: one at a time. Memory: 56 bytes a series;
// counts, steps and times that are equal for series of the same calls are stored once, 56 bytes more for each series
// that is logged alone; names until they are written. Cost: a search of log(series) for each id; an id that does not
// rise moves the larger ones.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/log/series_stats.h"

namespace tracker::internal {

class StatsTable {
 public:
  void clear();
  // Adds rows of the series stats.def.id that were logged after the present ones; its count of dropped points is
  // ignored. After an exception only clear() may be called.
  void add(const SeriesStats& stats);
  std::optional<SeriesStats> find(uint32_t id) const;  // nullopt: no such series
  // Call when they are written in the database.
  void forget_names();
  size_t name_bytes() const { return names_.size(); }  // held
  size_t shared_rows() const { return shared_.size - shared_free_.size(); }

 private:
  // The common data of series of the same calls.
  struct Rows {
    uint64_t points = 0;
    int64_t step_min = 0, step_max = 0, last_step = 0;
    int64_t time_first_us = 0, time_last_us = 0;
    bool has_steps = false;
    bool operator==(const Rows&) const = default;
  };
  struct Shared {
    Rows rows;
    uint32_t series = 0;  // how many series use it; 0: it is free
  };
  struct Entry {
    double min = 0, max = 0, sum = 0;
    uint64_t first_bits = 0, last_bits = 0;
    uint32_t shared = 0;
    ValueType type = ValueType::kFloat64;
    bool is_new = true;  // no other series uses it yet
    bool has_others = false;
  };
  // For the few series with rows that are not finite.
  struct Others {
    uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  };
  struct NameAt {
    uint32_t id = 0, at = 0, bytes = 0;
    bool operator<(const NameAt& other) const { return id < other.id; }
  };
  // Growing copies nothing.
  template <typename Item>
  struct Pieces {
    static constexpr uint32_t kPiece = 256;
    std::vector<std::unique_ptr<Item[]>> pieces;
    uint32_t size = 0;
    Item& operator[](uint32_t place) const { return pieces[place / kPiece][place % kPiece]; }
    uint32_t add() {
      if (size == pieces.size() * kPiece) pieces.push_back(std::make_unique<Item[]>(kPiece));
      return size++;
    }
  };

  const std::pair<uint32_t, uint32_t>* search(uint32_t id) const;
  SeriesStats known(uint32_t id, const Entry& entry) const;
  void keep_name(uint32_t id, std::string_view name);
  std::string_view name_of(uint32_t id) const;
  uint32_t share(const Rows& rows);
  void leave(uint32_t shared);

  std::vector<std::pair<uint32_t, uint32_t>> places_;  // id and place, sorted
  Pieces<Entry> entries_;
  Pieces<Shared> shared_;
  std::vector<uint32_t> shared_free_;
  std::array<uint32_t, 256> lately_{};  // where rows were shared, by their hash
  std::map<uint32_t, Others> others_;
  std::string names_;             // concatenated
  std::vector<NameAt> names_at_;  // by id
};

}  // namespace tracker::internal
