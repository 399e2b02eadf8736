// SPDX-License-Identifier: MIT
// The rows of a series as they must be read, worked out the plain way from frames, and as a segment gives them; random
// logs of one writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codec/segment.h"
#include "support/random_frame.h"

namespace tracker::internal {

struct ModelRow {
  bool has_step;
  int64_t step, time_us;
  uint64_t bits;
  bool operator==(const ModelRow&) const = default;
};
using ModelRows = std::map<std::pair<uint32_t, ValueType>, std::vector<ModelRow>>;  // in raw order

inline ModelRows rows_of(const std::vector<Frame>& frames) {
  ModelRows out;
  for (const Frame& frame : frames) {
    std::map<std::pair<uint32_t, ValueType>, std::vector<std::pair<int64_t, ModelRow>>> keyed;
    for (const Block& block : frame.blocks) {
      for (size_t i = 0; i < block.series.size(); ++i) {
        int64_t latest = INT64_MIN;
        for (size_t row = 0; row < block.rows(); ++row) {
          latest = std::max(latest, block.order.empty() ? static_cast<int64_t>(row) : block.order[row]);
          keyed[{block.series[i], block.types[i]}].push_back(
              {latest,
               {block.has_steps, block.has_steps ? block.steps[row] : 0, block.times_us[row], block.values[i][row]}});
        }
      }
    }
    for (auto& [series, rows] : keyed) {
      std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [key, row] : rows) out[series].push_back(row);
    }
  }
  return out;
}

inline ModelRows rows_of(SegmentView* view) {
  std::map<std::pair<uint32_t, ValueType>, std::vector<std::pair<uint64_t, ModelRow>>> ordered;
  for (size_t b = 0; b < view->blocks().size(); ++b) {
    const SegmentBlock& block = view->blocks()[b];
    std::vector<int64_t> steps(block.rows, 0), times(block.rows);
    std::vector<uint64_t> order(block.rows), bits(block.rows);
    EXPECT_TRUE(!block.has_steps || view->steps(b, RowRange(), steps.data()).ok());
    EXPECT_TRUE(view->times(b, RowRange(), times.data()).ok());
    EXPECT_TRUE(view->order(b, RowRange(), order.data()).ok());
    for (size_t i = 0; i < block.series.size(); ++i) {
      EXPECT_TRUE(view->value_bits(b, i, RowRange(), bits.data()).ok());
      for (uint64_t row = 0; row < block.rows; ++row)
        ordered[{block.series[i], block.types[i]}].push_back(
            {order[row], {block.has_steps, steps[row], times[row], bits[row]}});
    }
  }
  ModelRows out;
  for (auto& [series, rows] : ordered) {
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ordinal, row] : rows) out[series].push_back(row);
  }
  return out;
}

// Losses added up.
inline std::map<std::pair<uint32_t, LossReason>, uint64_t> losses_of(const std::vector<Loss>& losses) {
  std::map<std::pair<uint32_t, LossReason>, uint64_t> out;
  for (const Loss& loss : losses) out[{loss.series, loss.reason}] += loss.count;
  return out;
}

inline SegmentLog log_of(const std::vector<Frame>& frames) {
  SegmentLog out;
  for (const Frame& frame : frames) {
    out.defs.insert(out.defs.end(), frame.defs.begin(), frame.defs.end());
    out.events.insert(out.events.end(), frame.events.begin(), frame.events.end());
    out.losses.insert(out.losses.end(), frame.losses.begin(), frame.losses.end());
    out.def_seqs.insert(out.def_seqs.end(), frame.defs.size(), frame.seq);
    out.event_seqs.insert(out.event_seqs.end(), frame.events.size(), frame.seq);
    out.loss_seqs.insert(out.loss_seqs.end(), frame.losses.size(), frame.seq);
  }
  return out;
}

inline void expect_same_log(const SegmentLog& a, const SegmentLog& b) {
  EXPECT_EQ(a.defs, b.defs);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.def_seqs, b.def_seqs);
  EXPECT_EQ(a.event_seqs, b.event_seqs);
  EXPECT_EQ(a.loss_seqs, b.loss_seqs);
}

// A writer that logs a few shapes by turns: steps that rise, repeat, jump or go back; a clock that is set back now and
// then; values of every behaviour, with special ones among them.
class RandomLog {
 public:
  explicit RandomLog(std::mt19937_64* random) : random_(*random) {
    const size_t shapes = 1 + random_() % 4;
    for (size_t s = 0; s < shapes; ++s) {
      Block shape;
      shape.has_steps = random_() % 4 != 0;
      for (size_t n = 1 + random_() % 4; n > 0; --n) {
        shape.series.push_back(static_cast<uint32_t>(1 + random_() % 8));
        shape.types.push_back(type_of(shape.series.back()));
      }
      shapes_.push_back(shape);
    }
    step_kind_ = random_() % 4;
    for (auto& byte : writer_.bytes) byte = static_cast<uint8_t>(random_());
  }

  std::vector<Frame> frames(size_t count, size_t rows_max) {
    std::vector<Frame> out;
    for (size_t i = 0; i < count; ++i) out.push_back(frame(rows_max));
    return out;
  }

 private:
  static ValueType type_of(uint32_t series) { return static_cast<ValueType>(1 + series % 6); }

  Frame frame(size_t rows_max) {
    Frame frame = random_frame(random_, 0);
    frame.writer = writer_;
    frame.seq = seq_ += 1 + (random_() % 5 == 0 ? random_() % 3 : 0);
    frame.blocks.clear();
    const bool ordered = random_() % 4 != 0;
    for (const Block& shape : shapes_) {
      if (random_() % 4 == 0) continue;
      Block block = shape;
      // The same call with its keys in another order has the same shape.
      if (random_() % 8 == 0) {
        std::reverse(block.series.begin(), block.series.end());
        std::reverse(block.types.begin(), block.types.end());
      }
      const size_t rows = random_() % (rows_max + 1);
      int64_t ordinal = static_cast<int64_t>(random_() % 5);
      for (size_t row = 0; row < rows; ++row) {
        if (block.has_steps) block.steps.push_back(next_step());
        block.times_us.push_back(next_time());
      }
      for (size_t row = 0; ordered && row < rows; ++row) block.order.push_back(ordinal += 1 + random_() % 3);
      for (const ValueType type : block.types) block.values.push_back(values(type, rows));
      frame.blocks.push_back(std::move(block));
    }
    return frame;
  }

  int64_t next_step() {
    switch (step_kind_) {
      case 0: return step_ += 1;
      case 1: return step_ += static_cast<int64_t>(random_() % 3);
      case 2: return step_ += random_() % 50 == 0 ? -20 : 1;
      default: return static_cast<int64_t>(random_());
    }
  }
  int64_t next_time() {
    if (random_() % 1000 == 0) time_ -= 5'000'000;
    return time_ += static_cast<int64_t>(random_() % 2000);
  }
  std::vector<uint64_t> values(ValueType type, size_t rows) {
    std::vector<uint64_t> out = random_column(random_, rows);
    const bool noisy = random_() % 2 == 0;
    for (uint64_t& v : out) {
      if (noisy && type == ValueType::kFloat32) v = bits_of(1.0f + static_cast<float>(random_() % 1000) * 1e-4f);
      if (noisy && type == ValueType::kFloat64) v = bits_of(1.0 + static_cast<double>(random_() % 1000) * 1e-4);
      if (random_() % 100 == 0) v = special(type);
      v &= width_mask(type);
    }
    return out;
  }
  uint64_t special(ValueType type) {
    const uint64_t top = (width_mask(type) >> 1) + 1;
    const uint64_t inf = type == ValueType::kFloat64   ? 0x7ff0000000000000
                         : type == ValueType::kFloat32 ? 0x7f800000
                         : type == ValueType::kFloat16 ? 0x7c00
                                                       : 0x7f80;
    const uint64_t all[] = {inf, inf | top, inf + 1 + random_() % 64, (inf + 1) | top, top, 1, top | 1, 0};
    return all[random_() % 8];
  }

  std::mt19937_64& random_;
  Id128 writer_;
  std::vector<Block> shapes_;
  uint64_t seq_ = 0;
  uint64_t step_kind_ = 0;
  int64_t step_ = 0;
  int64_t time_ = 1'700'000'000'000'000;
};

// The frames as one segment; all of them fit.
inline std::string segment_of(const std::vector<Frame>& frames) {
  SegmentBuilder builder(frames.front().writer, size_t{1} << 30);
  for (const Frame& frame : frames) {
    const std::string bytes = encode_frame(frame);
    auto view = FrameView::parse(bytes);
    EXPECT_TRUE(view.ok()) << view.status().to_string();
    const Status status = builder.add(*view);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  auto segment = builder.finish();
  EXPECT_TRUE(segment.ok()) << segment.status().to_string();
  return segment.ok() ? *segment : std::string();
}

}  // namespace tracker::internal
