// SPDX-License-Identifier: MIT
#include "network.h"

#include <algorithm>
#include <cmath>

std::vector<Example> make_spirals(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.03);
  std::uniform_real_distribution<double> along(0.1, 1.0);
  std::vector<Example> examples;
  for (size_t i = 0; i < count; ++i) {
    const double label = static_cast<double>(i % 2);
    const double radius = along(random);
    const double angle = 5.0 * radius + label * 3.14159265358979;
    examples.push_back({{radius * std::cos(angle) + noise(random), radius * std::sin(angle) + noise(random)}, label});
  }
  std::shuffle(examples.begin(), examples.end(), random);
  return examples;
}

Network Network::random(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  Network network;
  for (size_t i = 0; i < kHidden; ++i) {
    network.w1[i] = {2 * normal(random), 2 * normal(random)};
    network.b1[i] = normal(random);
    network.w2[i] = normal(random) / std::sqrt(static_cast<double>(kHidden));
  }
  return network;
}

double Network::probability(const Example& example) const {
  double sum = b2;
  for (size_t i = 0; i < kHidden; ++i)
    sum += w2[i] * std::tanh(w1[i][0] * example.x[0] + w1[i][1] * example.x[1] + b1[i]);
  return 1 / (1 + std::exp(-sum));
}

double Network::learn(const Example& example, Network* gradient) const {
  std::array<double, kHidden> hidden{};
  double sum = b2;
  for (size_t i = 0; i < kHidden; ++i) {
    hidden[i] = std::tanh(w1[i][0] * example.x[0] + w1[i][1] * example.x[1] + b1[i]);
    sum += w2[i] * hidden[i];
  }
  const double p = 1 / (1 + std::exp(-sum));
  const double error = p - example.label;
  gradient->b2 += error;
  for (size_t i = 0; i < kHidden; ++i) {
    const double back = error * w2[i] * (1 - hidden[i] * hidden[i]);
    gradient->w2[i] += error * hidden[i];
    gradient->b1[i] += back;
    gradient->w1[i][0] += back * example.x[0];
    gradient->w1[i][1] += back * example.x[1];
  }
  return -std::log(std::max(example.label > 0.5 ? p : 1 - p, 1e-12));
}

void Network::add(const Network& gradient, double scale) {
  b2 += scale * gradient.b2;
  for (size_t i = 0; i < kHidden; ++i) {
    w1[i][0] += scale * gradient.w1[i][0];
    w1[i][1] += scale * gradient.w1[i][1];
    b1[i] += scale * gradient.b1[i];
    w2[i] += scale * gradient.w2[i];
  }
}

Score evaluate(const Network& network, const std::vector<Example>& examples) {
  Score score;
  for (const Example& example : examples) {
    const double p = network.probability(example);
    score.loss -= std::log(std::max(example.label > 0.5 ? p : 1 - p, 1e-12));
    score.accuracy += (p > 0.5) == (example.label > 0.5) ? 1 : 0;
  }
  score.loss /= static_cast<double>(examples.size());
  score.accuracy /= static_cast<double>(examples.size());
  return score;
}
