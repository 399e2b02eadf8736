// SPDX-License-Identifier: MIT
#include "journal/ring/frame_builder.h"

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
  std::vector<uint32_t> metrics;
  for (const Block& block : frame->blocks)
    for (const uint32_t series : block.series) metrics.push_back(metric(series));
  std::sort(metrics.begin(), metrics.end());
  const bool any_shared = std::adjacent_find(metrics.begin(), metrics.end()) != metrics.end();
  for (Block& block : frame->blocks) {
    const auto shared = [&](uint32_t series) {
      const auto [first, end] = std::equal_range(metrics.begin(), metrics.end(), metric(series));
      return end - first > 1;
    };
    if (!any_shared || std::none_of(block.series.begin(), block.series.end(), shared)) block.order.clear();
  }
}

size_t shape_place(uint64_t hash, size_t places) { return static_cast<size_t>(hash >> 32) & (places - 1); }

}  // namespace

Block* FrameBuilder::block_for(std::span<const ValuePair> pairs, bool has_step) {
  if (last_ < frame_.blocks.size() && same_shape(frame_.blocks[last_], pairs, has_step)) return &frame_.blocks[last_];
  uint64_t hash = pairs.size() * 2 + (has_step ? 1 : 0);
  for (const ValuePair& pair : pairs) hash = (hash ^ pair.series) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
  hash *= 0x9e3779b97f4a7c15ull;
  for (size_t at = shapes_.empty() ? 0 : shape_place(hash, shapes_.size()); !shapes_.empty() && shapes_[at] != 0;
       at = (at + 1) & (shapes_.size() - 1)) {
    const size_t block = shapes_[at] - 1;
    if (hashes_[block] != hash || !same_shape(frame_.blocks[block], pairs, has_step)) continue;
    last_ = block;
    return &frame_.blocks[last_];
  }
  if (pairs.size() > 1 && has_repeats(pairs, series_)) return nullptr;
  return add_block(pairs, has_step, hash);
}

Block* FrameBuilder::add_block(std::span<const ValuePair> pairs, bool has_step, uint64_t hash) {
  if (frame_.blocks.size() == 1) {  // up to here the rows were in order as they were
    frame_.blocks[0].order.resize(frame_.blocks[0].rows());
    std::iota(frame_.blocks[0].order.begin(), frame_.blocks[0].order.end(), int64_t{0});
  }
  Block block = pool_ != nullptr ? pool_->take() : Block();
  block.has_steps = has_step;
  block.series.reserve(pairs.size());
  for (const ValuePair& pair : pairs) block.series.push_back(pair.series);
  block.values.resize(pairs.size());
  columns_ += pairs.size();
  last_ = frame_.blocks.size();
  frame_.blocks.push_back(std::move(block));
  remember_shape(hash, static_cast<uint32_t>(last_));
  return &frame_.blocks[last_];
}

void FrameBuilder::remember_shape(uint64_t hash, uint32_t block) {
  hashes_.push_back(hash);
  const auto put = [this](uint32_t index) {
    size_t at = shape_place(hashes_[index], shapes_.size());
    while (shapes_[at] != 0) at = (at + 1) & (shapes_.size() - 1);
    shapes_[at] = index + 1;
  };
  if (hashes_.size() * 2 <= shapes_.size()) return put(block);
  shapes_.assign(std::max<size_t>(256, shapes_.size() * 4), 0);
  for (uint32_t index = 0; index <= block; ++index) put(index);
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
  hashes_.clear();
  last_ = 0;
  points_ = 0;
  rows_ = 0;
  bytes_ = 0;
  columns_ = 0;
  return out;
}

}  // namespace tracker::internal
