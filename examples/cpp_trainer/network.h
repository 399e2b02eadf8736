// SPDX-License-Identifier: MIT
// A small multi-layer perceptron with two classes, and two spirals to tell apart. Nothing here knows of tracker.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <vector>

constexpr size_t kHidden = 32;

struct Example {
  std::array<double, 2> x;
  double label;  // 0 or 1
};

// Two interleaved spirals with noise, shuffled.
std::vector<Example> make_spirals(size_t count, unsigned seed);

struct Network {
  std::array<std::array<double, 2>, kHidden> w1{};
  std::array<double, kHidden> b1{}, w2{};
  double b2 = 0;

  static Network random(unsigned seed);
  double probability(const Example& example) const;
  // Adds the gradient of the loss of one example to `gradient` and returns the loss.
  double learn(const Example& example, Network* gradient) const;
  void add(const Network& gradient, double scale);
};

struct Score {
  double loss = 0, accuracy = 0;
};
Score evaluate(const Network& network, const std::vector<Example>& examples);
