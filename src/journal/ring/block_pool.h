// SPDX-License-Identifier: MIT
// Blocks of frames that are encoded, for the next frames: a run that logs 100 metrics ten times a second makes 100
// blocks of seven vectors each, and to allocate and free those was half of what its drain thread did. Threads: one at a
// time. Memory: at most kSpareBlocksMax small blocks, some 200 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "codec/frame.h"

namespace tracker::internal {

constexpr size_t kSpareBlocksMax = 256;
constexpr size_t kSpareBlockCellsMax = 64;  // of a block that is kept: rows x (series + 3)

class BlockPool {
 public:
  // An empty block with the memory of an earlier one, where there is one.
  Block take() {
    if (spare_.empty()) return {};
    Block out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  // Keeps what it has room for; what finds no memory to be listed in goes.
  void give(std::vector<Block> blocks) noexcept {
    try {
      spare_.reserve(std::min(kSpareBlocksMax, spare_.size() + blocks.size()));
    } catch (const std::bad_alloc&) {
      return;
    }
    // From the last one on, so that the next frame, of the same shapes, takes them in the same order.
    for (auto block = blocks.rbegin(); block != blocks.rend() && spare_.size() < kSpareBlocksMax; ++block) {
      if (block->rows() * (block->series.size() + 3) > kSpareBlockCellsMax) continue;
      empty(&*block);
      spare_.push_back(std::move(*block));
    }
  }

  size_t size() const { return spare_.size(); }

 private:
  static void empty(Block* block) {
    block->has_steps = false;
    block->series.clear();
    block->types.clear();
    block->steps.clear();
    block->times_us.clear();
    block->order.clear();
    for (auto& column : block->values) column.clear();
  }

  std::vector<Block> spare_;
};

}  // namespace tracker::internal
