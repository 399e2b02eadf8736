// SPDX-License-Identifier: MIT
#include "journal/frame_builder.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tracker::internal {
namespace {

bool same_shape(const Block& block, std::span<const ValuePair> pairs, bool has_step) {
  if (block.has_steps != has_step || block.series.size() != pairs.size()) return false;
  for (size_t i = 0; i < pairs.size(); ++i)
    if (block.series[i] != pairs[i].series) return false;
  return true;
}

// A block holds a metric once; a call that names one twice is two rows.
bool has_repeats(std::span<const ValuePair> pairs, const SeriesTable* table) {
  std::vector<uint32_t> ids;
  for (const ValuePair& pair : pairs) ids.push_back(table != nullptr ? table->metric(pair.series) : pair.series);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

// A block needs none when its metrics are in no other one.
void drop_needless_orders(Frame* frame, const SeriesTable* table) {
  if (frame->blocks.size() < 2) return;
  const auto metric = [table](uint32_t series) { return table != nullptr ? table->metric(series) : series; };
  std::unordered_map<uint32_t, size_t> blocks_of;
  for (const Block& block : frame->blocks)
    for (const uint32_t series : block.series) ++blocks_of[metric(series)];
  for (Block& block : frame->blocks) {
    const auto shared = [&](uint32_t series) { return blocks_of[metric(series)] > 1; };
    if (std::none_of(block.series.begin(), block.series.end(), shared)) block.order.clear();
  }
}

}  // namespace

Block* FrameBuilder::block_for(std::span<const ValuePair> pairs, bool has_step) {
  if (last_ < frame_.blocks.size() && same_shape(frame_.blocks[last_], pairs, has_step)) return &frame_.blocks[last_];
  uint64_t hash = pairs.size() * 2 + (has_step ? 1 : 0);
  for (const ValuePair& pair : pairs) hash = (hash ^ pair.series) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
  const auto [first, end] = shapes_.equal_range(hash);
  for (auto it = first; it != end; ++it) {
    if (!same_shape(frame_.blocks[it->second], pairs, has_step)) continue;
    last_ = it->second;
    return &frame_.blocks[last_];
  }
  if (pairs.size() > 1 && has_repeats(pairs, series_)) return nullptr;
  return add_block(pairs, has_step, hash);
}

Block* FrameBuilder::add_block(std::span<const ValuePair> pairs, bool has_step, uint64_t hash) {
  if (frame_.blocks.size() == 1) {  // up to here the rows were in order as they stood
    frame_.blocks[0].order.resize(frame_.blocks[0].rows());
    std::iota(frame_.blocks[0].order.begin(), frame_.blocks[0].order.end(), int64_t{0});
  }
  Block block;
  block.has_steps = has_step;
  block.series.reserve(pairs.size());
  for (const ValuePair& pair : pairs) block.series.push_back(pair.series);
  block.values.resize(pairs.size());
  columns_ += pairs.size();
  last_ = frame_.blocks.size();
  shapes_.emplace(hash, last_);
  frame_.blocks.push_back(std::move(block));
  return &frame_.blocks[last_];
}

void FrameBuilder::add_values(std::span<const ValuePair> pairs, int64_t step, bool has_step, int64_t time_us) {
  if (pairs.empty()) return;
  Block* block = block_for(pairs, has_step);
  if (block == nullptr) {
    for (const ValuePair& pair : pairs) add_values({&pair, 1}, step, has_step, time_us);
    return;
  }
  if (has_step) block->steps.push_back(step);
  block->times_us.push_back(time_us);
  if (frame_.blocks.size() > 1) block->order.push_back(rows_);
  ++rows_;
  for (size_t i = 0; i < pairs.size(); ++i) block->values[i].push_back(pairs[i].bits);
  points_ += pairs.size();
  bytes_ += 16 + 8 * pairs.size();
}

void FrameBuilder::add_event(EventType type, int64_t step, bool has_step, int64_t time_us, std::string_view payload) {
  frame_.events.push_back({type, has_step, step, time_us, std::string(payload)});
  bytes_ += 32 + payload.size();
}

void FrameBuilder::add_loss(uint32_t series, LossReason reason, uint64_t count) {
  if (count > 0) frame_.losses.push_back({series, reason, count});
}

std::vector<uint32_t> FrameBuilder::series_in_use() const {
  std::vector<uint32_t> out;
  for (const Block& block : frame_.blocks) out.insert(out.end(), block.series.begin(), block.series.end());
  return out;
}

Frame FrameBuilder::take() {
  for (Block& block : frame_.blocks)
    for (const uint32_t series : block.series)
      block.types.push_back(series_ != nullptr ? series_->type(series) : ValueType::kFloat64);
  drop_needless_orders(&frame_, series_);
  Frame out = std::move(frame_);
  frame_ = Frame();
  shapes_.clear();
  last_ = 0;
  points_ = 0;
  rows_ = 0;
  bytes_ = 0;
  columns_ = 0;
  return out;
}

}  // namespace tracker::internal
