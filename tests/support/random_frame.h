// SPDX-License-Identifier: MIT
// Random frames for round trips and damage. The seed is printed and may be given: TRACKER_TEST_SEED=123.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "codec/frame.h"

namespace tracker::internal {

inline std::mt19937_64 seeded_random() {
  const char* given = std::getenv("TRACKER_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("TRACKER_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return std::mt19937_64(seed);
}

inline uint64_t width_mask(ValueType type) {
  const size_t width = value_width(type);
  return width == 8 ? ~0ull : (1ull << (8 * width)) - 1;
}

// Numbers of every kind of behaviour: equal, rising evenly, rising unevenly, any.
inline std::vector<uint64_t> random_column(std::mt19937_64& random, size_t rows) {
  std::vector<uint64_t> out(rows);
  const uint64_t first = random() >> (random() % 64);
  const uint64_t stride = random() >> (random() % 64);
  const uint64_t kind = random() % 4;
  uint64_t at = first;
  for (uint64_t& v : out) {
    v = at;
    if (kind == 1) at += stride;
    if (kind == 2) at += random() % 1000;
    if (kind == 3) at = random() >> (random() % 64);
  }
  return out;
}

inline Frame random_frame(std::mt19937_64& random, size_t rows_max = 200) {
  Frame frame;
  for (auto& byte : frame.writer.bytes) byte = static_cast<uint8_t>(random());
  frame.seq = random() >> (random() % 64);
  const auto any_type = [&random] { return static_cast<ValueType>(1 + random() % 6); };
  for (size_t i = random() % 4; i > 0; --i)
    frame.defs.push_back({static_cast<uint32_t>(random()), any_type(), std::string(random() % 40, 'k')});
  for (size_t b = random() % 4; b > 0; --b) {
    Block block;
    const size_t rows = random() % (rows_max + 1);
    block.has_steps = random() % 3 != 0;
    const auto to_ints = [](const std::vector<uint64_t>& from) {
      return std::vector<int64_t>(from.begin(), from.end());
    };
    if (block.has_steps) block.steps = to_ints(random_column(random, rows));
    block.times_us = to_ints(random_column(random, rows));
    if (random() % 3 == 0) block.order = to_ints(random_column(random, rows));
    for (size_t s = random() % 6; s > 0; --s) {
      block.series.push_back(static_cast<uint32_t>(random()));
      block.types.push_back(any_type());
      block.values.push_back(random_column(random, rows));
      for (uint64_t& v : block.values.back()) v &= width_mask(block.types.back());
    }
    frame.blocks.push_back(std::move(block));
  }
  for (size_t i = random() % 4; i > 0; --i) {
    const bool has_step = random() % 2 == 0;
    frame.events.push_back({static_cast<EventType>(1 + random() % 6), has_step,
                            has_step ? static_cast<int64_t>(random()) : 0, static_cast<int64_t>(random()),
                            std::string(random() % 100, 'p')});
  }
  for (size_t i = random() % 3; i > 0; --i)
    frame.losses.push_back({static_cast<uint32_t>(random()), static_cast<LossReason>(1 + random() % 5), random()});
  return frame;
}

}  // namespace tracker::internal
