// SPDX-License-Identifier: MIT
// The types of a writer's series, learnt from the definitions that pass in its frames. A record of a ring holds ids
// and bits alone; a frame names the type of every column, so the types are put in before a frame is encoded.
// Threads: one at a time. Cost: a vector look-up a column.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/frame.h"

namespace tracker::internal {

class SeriesTypes {
 public:
  // Learns the frame's definitions and sets Block::types. A series that was never defined is taken as float64, 8
  // bytes wide, so that no bit is lost.
  void complete(Frame* frame) {
    for (const SeriesDef& def : frame->defs) {
      if (def.id >= by_id_.size()) by_id_.resize(size_t{def.id} + 1, ValueType::kFloat64);
      by_id_[def.id] = def.type;
    }
    for (Block& block : frame->blocks) {
      block.types.clear();
      for (const uint32_t id : block.series)
        block.types.push_back(id < by_id_.size() ? by_id_[id] : ValueType::kFloat64);
    }
  }

 private:
  std::vector<ValueType> by_id_;   // ids are given from 1 upward
};

}  // namespace tracker::internal
