// SPDX-License-Identifier: MIT
#include "codec/level.h"

#include <algorithm>
#include <bit>

#include "codec/ordered_key.h"
#include "codec/value_summary.h"

namespace tracker::internal {
namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return bits_of(x) == bits_of(y); });
}

uint64_t stride_of(std::span<const int64_t> x) {
  if (x.size() < 2) return 0;
  const auto gap = [&x](size_t i) { return static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(x[i - 1]); };
  for (size_t i = 2; i < x.size(); ++i)
    if (gap(i) != gap(1)) return 0;
  return gap(1);
}

// Columns that only some levels have.
void drop_counts_of_finite(Level* level) {
  const auto none = [](const std::vector<uint64_t>& counts) {
    return std::all_of(counts.begin(), counts.end(), [](uint64_t n) { return n == 0; });
  };
  if (!none(level->nan) || !none(level->pos_inf) || !none(level->neg_inf)) return;
  level->nan.clear();
  level->pos_inf.clear();
  level->neg_inf.clear();
}

}  // namespace

bool Level::operator==(const Level& o) const {
  return LevelHead::operator==(o) && x0 == o.x0 && x1 == o.x1 && count == o.count && first == o.first &&
         last == o.last && min == o.min && max == o.max && same_bits(sum, o.sum) && nan == o.nan &&
         pos_inf == o.pos_inf && neg_inf == o.neg_inf;
}

unsigned level_shift(uint64_t rows, int64_t first, int64_t last, LevelAxis axis) {
  const uint64_t places = rows / level_cell_rows(axis) + 1;
  const auto too_many = [&](unsigned shift) {
    return static_cast<uint64_t>(last >> shift) - static_cast<uint64_t>(first >> shift) > places;
  };
  unsigned shift = 0;
  while (shift < kLevelShiftMax && too_many(shift)) ++shift;
  return shift;
}

Level make_level(std::span<const int64_t> x, std::span<const uint64_t> bits, ValueType type, unsigned shift,
                 LevelAxis axis) {
  Level out;
  out.axis = axis;
  out.type = type;
  out.shift = shift;
  out.rows = x.size();
  out.x_first = x.front();
  out.x_last = x.back();
  out.stride = stride_of(x);
  for (size_t begin = 0; begin < x.size();) {
    const auto of = x.begin() + static_cast<std::ptrdiff_t>(begin);
    const int64_t last = x[begin] | static_cast<int64_t>((uint64_t{1} << shift) - 1);
    const auto end = static_cast<size_t>(std::upper_bound(of, x.end(), last) - x.begin());
    const auto values = bits.subspan(begin, end - begin);
    const ValueSummary all = summarize_block(summarize_minis(values, type), values, type);
    out.x0.push_back(x[begin]);
    out.x1.push_back(x[end - 1]);
    out.count.push_back(all.rows);
    out.first.push_back(all.first_bits);
    out.last.push_back(all.last_bits);
    out.min.push_back(all.min_bits);
    out.max.push_back(all.max_bits);
    out.sum.push_back(all.sum);
    out.nan.push_back(all.nan);
    out.pos_inf.push_back(all.pos_inf);
    out.neg_inf.push_back(all.neg_inf);
    begin = end;
  }
  drop_counts_of_finite(&out);
  return out;
}

Level coarser_level(const Level& fine, unsigned shift) {
  const OrderedKey order(fine.type);
  Level out;
  static_cast<LevelHead&>(out) = fine;
  out.shift = shift;
  const auto at = [](const std::vector<uint64_t>& counts, size_t i) { return counts.empty() ? 0 : counts[i]; };
  bool any_finite = false;
  for (size_t i = 0; i < fine.cells(); ++i) {
    if (i == 0 || (fine.x0[i] >> shift) != (out.x0.back() >> shift)) {
      out.x0.push_back(fine.x0[i]);
      out.first.push_back(fine.first[i]);
      for (auto* column : {&out.count, &out.last, &out.min, &out.max, &out.nan, &out.pos_inf, &out.neg_inf})
        column->push_back(0);
      out.x1.push_back(0);
      out.sum.push_back(0);
      any_finite = false;
    }
    out.x1.back() = fine.x1[i];
    out.last.back() = fine.last[i];
    out.count.back() += fine.count[i];
    const uint64_t others = at(fine.nan, i) + at(fine.pos_inf, i) + at(fine.neg_inf, i);
    out.nan.back() += at(fine.nan, i);
    out.pos_inf.back() += at(fine.pos_inf, i);
    out.neg_inf.back() += at(fine.neg_inf, i);
    if (others == fine.count[i]) continue;
    if (!any_finite || order.key(fine.min[i]) < order.key(out.min.back())) out.min.back() = fine.min[i];
    if (!any_finite || order.key(fine.max[i]) > order.key(out.max.back())) out.max.back() = fine.max[i];
    out.sum.back() += fine.sum[i];
    any_finite = true;
  }
  drop_counts_of_finite(&out);
  return out;
}

}  // namespace tracker::internal
