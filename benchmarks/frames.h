// SPDX-License-Identifier: MIT
// A frame of one block as the storage benchmarks commit it: series that are logged together, no rows yet.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "codec/frame.h"
#include "model/records.h"

namespace bench {

constexpr uint32_t kSeries = 20;

using SeriesTypes = std::array<tracker::internal::ValueType, kSeries>;

inline tracker::internal::Frame begin_frame(const tracker::internal::WriterIdentity& identity, uint64_t seq,
                                            const SeriesTypes& types) {
  tracker::internal::Frame frame;
  frame.writer = identity.writer;
  frame.seq = seq;
  tracker::internal::Block& block = frame.blocks.emplace_back();
  block.values.resize(kSeries);
  for (uint32_t id = 1; id <= kSeries; ++id) {
    if (seq == 1) frame.defs.push_back({id, types[id - 1], "layer/" + std::to_string(id) + "/loss"});
    block.series.push_back(id);
    block.types.push_back(types[id - 1]);
  }
  return frame;
}

// All of one type.
inline tracker::internal::Frame begin_frame(const tracker::internal::WriterIdentity& identity, uint64_t seq,
                                            tracker::internal::ValueType type) {
  SeriesTypes types;
  types.fill(type);
  return begin_frame(identity, seq, types);
}

}  // namespace bench
