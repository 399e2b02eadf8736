// SPDX-License-Identifier: MIT
// The values that benchmarks of the codec and of the store log. Threads: one at a time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

namespace bench {

class Values {
 public:
  // A loss that falls from 2.5 to 0.3 with 2.5 % of normal noise: 2.53 bytes of entropy as float32, 6.16 as float64.
  double loss(size_t i) {
    const double mean = 0.3 + 2.2 * std::exp(-static_cast<double>(i) / 25'000);
    return mean * (1 + 0.025 * normal_(random_));
  }
  uint64_t bits() { return random_(); }
  double noise() { return normal_(random_); }  // of mean 0 and deviation 1
  // As a training rounds what it logs. Entropy of the digits: 9.7, 10.7 and 8.7 bits.
  double accuracy() { return std::round((0.8 + 0.02 * noise()) * 1e4) / 1e4; }
  double perplexity() { return std::round((20 + 0.4 * noise()) * 1e3) / 1e3; }
  double milliseconds() { return std::round((180 + 10 * noise()) * 10) / 10; }
  // A schedule of so many steps.
  static double cosine(size_t i, size_t steps) {
    return 1.5e-4 * (1 + std::cos(3.14159265358979 * static_cast<double>(i) / static_cast<double>(steps)));
  }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // A call each millisecond, 20 µs late on average, and a long pause now and then.
  int64_t time(size_t i) {
    time_ +=
        1000 + static_cast<int64_t>(late_(random_)) + (i % 500 == 3 ? static_cast<int64_t>(random_() % 20'000) : 0);
    return time_;
  }

 private:
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  std::exponential_distribution<double> late_{1 / 20.0};
  int64_t time_ = 1'700'000'000'000'000;
};

}  // namespace bench
