// SPDX-License-Identifier: MIT
// Gathers records into the columns of a Frame: rows of the same shape (the same series in the same order) go into one
// block. Threads: one (the drain thread, or a recoverer). Cost: amortised a few ns a value; allocates as columns grow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "journal/ring/block_pool.h"
#include "journal/ring/ring_format.h"
#include "journal/ring/series_table.h"

namespace tracker::internal {

class FrameBuilder {
 public:
  // `pool`: where the memory of blocks comes from; null: they are made. Must live until take().
  explicit FrameBuilder(BlockPool* pool = nullptr) : pool_(pool) {}
  void add_values(std::span<const ValuePair> pairs, int64_t step, bool has_step, int64_t time_us);
  void add_event(EventType type, int64_t step, bool has_step, int64_t time_us, std::string_view payload);
  void add_loss(uint32_t series, LossReason reason, uint64_t count);
  void add_series(SeriesDef series) { frame_.defs.push_back(std::move(series)); }
  // Asked at take(): a block says its types itself, and a series was defined frames ago. Must live until then.
  void use_series(const SeriesTable* series) { series_ = series; }

  uint64_t points() const { return points_; }
  // Every series of the blocks so far, each once a block.
  std::vector<uint32_t> series_in_use() const;
  size_t approximate_bytes() const { return bytes_; }
  // Definitions and columns: each takes far more than a value, here and where the frame is summed up.
  size_t series_held() const { return frame_.defs.size() + columns_; }
  bool empty() const { return frame_.empty(); }
  // The frame so far; the builder is empty afterwards.
  Frame take();

 private:
  Block* block_for(std::span<const ValuePair> pairs, bool has_step);
  Block* add_block(std::span<const ValuePair> pairs, bool has_step, uint64_t hash);
  void remember_shape(uint64_t hash, uint32_t block);
  BlockPool* pool_;
  Frame frame_;
  // Where a shape's block is: 1 + its index, by hash, 0 where free; a power of two, half of it free.
  std::vector<uint32_t> shapes_;
  std::vector<uint64_t> hashes_;  // of the blocks' shapes
  size_t last_ = 0;               // the block of the previous row: most rows repeat the shape
  const SeriesTable* series_ = nullptr;
  uint64_t points_ = 0;
  int64_t rows_ = 0;
  size_t bytes_ = 0;
  size_t columns_ = 0;
};

}  // namespace tracker::internal
