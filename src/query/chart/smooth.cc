// SPDX-License-Identifier: MIT
#include "query/chart/smooth.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace tracker::internal {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Uniform access to points and cells; what is not finite has weight 0.
class Weighted {
 public:
  explicit Weighted(const SmoothInput& in) : in_(in) {}
  size_t size() const { return in_.x.size(); }
  double x(size_t i) const { return in_.x[i]; }
  bool counts(size_t i) const { return in_.counts.empty() ? std::isfinite(in_.values[i]) : in_.counts[i] > 0; }
  double sum(size_t i) const { return counts(i) ? in_.values[i] : 0; }
  double count(size_t i) const {
    return in_.counts.empty() ? (std::isfinite(in_.values[i]) ? 1 : 0) : static_cast<double>(in_.counts[i]);
  }
  double mean(size_t i) const { return in_.counts.empty() ? in_.values[i] : in_.values[i] / count(i); }
  double passed(size_t i) const { return in_.counts.empty() ? in_.values[i] : kNoValue; }  // where counts(i) is false

 private:
  const SmoothInput& in_;
};

std::vector<double> ema(const Weighted& in, double half_life) {
  std::vector<double> out(in.size());
  double s = 0, w = 0, last_x = 0, last_delta = -1, d = 1;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in.counts(i)) {
      out[i] = in.passed(i);
      continue;
    }
    const double delta = w > 0 ? in.x(i) - last_x : 0;
    if (delta != last_delta) d = std::exp2(-delta / half_life);  // steps are mostly the same distance apart
    last_delta = delta;
    last_x = in.x(i);
    s = s * d + in.sum(i);
    w = w * d + in.count(i);
    out[i] = s / w;
  }
  return out;
}

bool all_equal(const Weighted& in) {
  for (size_t i = 1; i < in.size(); ++i)
    if (in.mean(i) != in.mean(0)) return false;
  return true;
}

std::vector<double> tensorboard(const Weighted& in, double a) {
  std::vector<double> out(in.size());
  const bool constant = all_equal(in);
  double s = 0, power = 1;
  for (size_t i = 0; i < in.size(); ++i) {
    if (constant || !in.counts(i)) {
      out[i] = in.counts(i) ? in.mean(i) : in.passed(i);
      continue;
    }
    s = a * s + (1 - a) * in.mean(i);
    power *= a;
    out[i] = s / (1 - power);
  }
  return out;
}

// The rows within `reach` of each row, a window that only moves to the right.
template <typename F>
void for_each_window(const Weighted& in, double reach, F&& visit) {
  size_t begin = 0, end = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    while (end < in.size() && in.x(end) - in.x(i) <= reach) ++end;
    while (in.x(i) - in.x(begin) > reach) ++begin;
    visit(i, begin, end);
  }
}

Result<std::vector<double>> gaussian(const Weighted& in, double sigma) {
  std::vector<double> out(in.size());
  const double reach = kGaussianReach * sigma;
  uint64_t pairs = 0;
  for_each_window(in, reach, [&](size_t i, size_t begin, size_t end) { pairs += in.counts(i) ? end - begin : 0; });
  if (pairs > kGaussianPairsMax)
    return Status(Code::kLimit, fmt::format("a Gaussian of width {} over {} points is too much work", sigma, in.size()),
                  "smooth a chart, which works on cells");
  for_each_window(in, reach, [&](size_t i, size_t begin, size_t end) {
    out[i] = in.passed(i);
    if (!in.counts(i)) return;
    double s = 0, w = 0;
    for (size_t j = begin; j < end; ++j) {
      const double distance = (in.x(j) - in.x(i)) / sigma;  // the square of a small sigma alone would be 0
      const double g = std::exp(-0.5 * distance * distance);
      s += g * in.sum(j);
      w += g * in.count(j);
    }
    out[i] = s / w;
  });
  return out;
}

// Sums over a window that moves, without subtracting what leaves it: a 1e300 that has left it changes no later sum.
// Two stacks: sums from each row to the end of the front, and one sum of what came after.
class MovingSum {
 public:
  explicit MovingSum(const Weighted& in) : in_(in) {}
  void move_to(size_t begin, size_t end) {
    if (begin >= front_end_) refill(begin, end);
    for (; end_ < end; ++end_) {
      back_.sum += in_.sum(end_);
      back_.count += in_.count(end_);
    }
    begin_ = begin;
  }
  double mean() const {
    const Part front = begin_ < front_end_ ? front_[front_end_ - 1 - begin_] : Part{};
    return (front.sum + back_.sum) / (front.count + back_.count);
  }

 private:
  struct Part {
    double sum = 0, count = 0;
  };
  void refill(size_t begin, size_t end) {
    front_.clear();
    Part part;
    for (size_t i = end; i-- > begin;) {
      part.sum += in_.sum(i);
      part.count += in_.count(i);
      front_.push_back(part);
    }
    front_end_ = end_ = end;
    back_ = {};
  }

  const Weighted& in_;
  std::vector<Part> front_;  // [k]: rows front_end_ - 1 - k to front_end_
  Part back_;                // rows front_end_ to end_
  size_t begin_ = 0, front_end_ = 0, end_ = 0;
};

std::vector<double> running_mean(const Weighted& in, double width) {
  std::vector<double> out(in.size());
  MovingSum window(in);
  for_each_window(in, width / 2, [&](size_t i, size_t begin, size_t end) {
    window.move_to(begin, end);
    out[i] = in.counts(i) ? window.mean() : in.passed(i);
  });
  return out;
}

}  // namespace

Status check_smoothing(const Smoothing& smoothing) {
  const double window = smoothing.window;
  switch (smoothing.kind) {
    case Smoother::kNone: return {};
    case Smoother::kTensorBoard:
      if (window >= 0 && window < 1) return {};
      return Status(Code::kInvalid, fmt::format("weight: {} is not within 0 and 1, 1 excluded", window));
    case Smoother::kEma:
    case Smoother::kGaussian:
    case Smoother::kMean: break;
  }
  if (std::isfinite(window) && window > 0) return {};
  const char* what = smoothing.kind == Smoother::kEma    ? "half_life"
                     : smoothing.kind == Smoother::kMean ? "width"
                                                         : "sigma";
  return Status(Code::kInvalid, fmt::format("{}: {} is not a positive number", what, window));
}

Result<std::vector<double>> smooth(const Smoothing& smoothing, const SmoothInput& input) {
  TRACKER_RETURN_IF_ERROR(check_smoothing(smoothing));
  const Weighted in(input);
  switch (smoothing.kind) {
    case Smoother::kEma: return ema(in, smoothing.window);
    case Smoother::kTensorBoard: return tensorboard(in, smoothing.window);
    case Smoother::kGaussian: return gaussian(in, smoothing.window);
    case Smoother::kMean: return running_mean(in, smoothing.window);
    case Smoother::kNone: break;
  }
  std::vector<double> out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(in.counts(i) ? in.mean(i) : in.passed(i));
  return out;
}

SmoothReach smooth_reach(const Smoothing& smoothing) {
  switch (smoothing.kind) {
    case Smoother::kNone: break;
    case Smoother::kEma: return {kEmaReach * smoothing.window, 0};
    case Smoother::kTensorBoard: return {std::numeric_limits<double>::infinity(), 0};
    case Smoother::kGaussian: return {kGaussianReach * smoothing.window, kGaussianReach * smoothing.window};
    case Smoother::kMean: return {smoothing.window / 2, smoothing.window / 2};
  }
  return {};
}

}  // namespace tracker::internal
