// SPDX-License-Identifier: MIT
// Rows of a chart in the order of its axis, read as often as wanted and a few at a time, and what a chart must know of
// them before it is made. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "query/chart/chart.h"
#include "query/chart/chart_smooth.h"
#include "query/chart/smooth.h"

namespace tracker::internal {

template <typename X>
class RowStream {
 public:
  virtual ~RowStream() = default;
  // Row `row` in the order of x is the next one.
  virtual Status seek(uint64_t row) = 0;
  // The next rows, at most `n`; 0: there are no more. `x` and `values` have room for n.
  virtual Result<size_t> read(size_t n, X* x, double* values) = 0;
};

// What is counted of all rows, which may come in any order: in that of x the rows [begin, end) lie in the window, those
// of [reach_begin, reach_end) reach into it.
template <typename X>
struct WindowCount {
  std::optional<X> lo = {}, hi = {};  // as asked for
  SmoothReach reach = {};
  uint64_t rows = 0;
  X least{}, greatest{};  // with rows > 0
  uint64_t begin = 0, end = 0, reach_begin = 0, reach_end = 0;

  void add(std::span<const X> x) {
    if (x.empty()) return;
    // Most often they rise, and their ends say it all.
    const bool rising = std::is_sorted(x.begin(), x.end());
    const auto [low, high] = rising ? std::pair(x.front(), x.back()) : ends_of(x);
    least = rows == 0 ? low : std::min(least, low);
    greatest = rows == 0 ? high : std::max(greatest, high);
    rows += x.size();
    const auto before = [&](const auto& is) {
      return static_cast<uint64_t>(rising ? std::partition_point(x.begin(), x.end(), is) - x.begin()
                                          : std::count_if(x.begin(), x.end(), is));
    };
    if (lo) {
      begin += before([&](X at) { return at < *lo; });
      reach_begin += before([&](X at) { return at < *lo && distance(at, *lo) > reach.left; });
    }
    end += hi ? before([&](X at) { return !(at > *hi); }) : x.size();
    reach_end += hi ? before([&](X at) { return !(at > *hi) || distance(*hi, at) <= reach.right; }) : x.size();
  }

 private:
  static std::pair<X, X> ends_of(std::span<const X> x) {
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    return {*low, *high};
  }
};

// Rows [begin, end) of a stream as a source of points.
template <typename X>
class StreamSource : public ChartSource<X> {
 public:
  StreamSource(RowStream<X>* stream, uint64_t begin, uint64_t end) : stream_(stream), at_(begin), end_(end) {}
  uint64_t rows() const override { return end_ - at_; }
  // Pieces of the same length from the first row on: the last bits of sums depend on it.
  Result<bool> next(const CellGrid<X>&, bool, ChartPiece<X>* out) override {
    if (!begun_) TRACKER_RETURN_IF_ERROR(stream_->seek(at_));
    begun_ = true;
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kPieceRows, end_ - at_));
    x_.resize(wanted);
    values_.resize(wanted);
    size_t have = 0;
    while (have < wanted) {
      auto more = stream_->read(wanted - have, x_.data() + have, values_.data() + have);
      if (!more.ok()) return more.status();
      if (*more == 0) return Status(Code::kBusy, "rows that were counted are gone", "try again");
      have += *more;
    }
    at_ += wanted;
    *out = {x_, values_, nullptr};
    return wanted > 0;
  }

 private:
  static constexpr size_t kPieceRows = 4096;  // they stay in the cache while they are read
  RowStream<X>* const stream_;
  uint64_t at_, end_;
  bool begun_ = false;
  std::vector<X> x_;
  std::vector<double> values_;
};

}  // namespace tracker::internal
