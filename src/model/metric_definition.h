// SPDX-License-Identifier: MIT
// define_metric(): what a user says of a metric, or of all whose names match a pattern: its default x, which values
// stand for it in the summary, and which direction is better. Stored as events (EventType::kMetric). Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

enum class SummaryKind : uint8_t { kLast, kMin, kMax, kMean, kBest };
const char* summary_kind_name(SummaryKind kind);  // "last", "min", "max", "mean", "best"

enum class Goal : uint8_t { kNone, kMinimize, kMaximize };
const char* goal_name(Goal goal);  // "", "minimize", "maximize"

// Limit: names and patterns of define_metric a process. Beyond it: not recorded, reported once; an error with strict
// and from C and C++.
constexpr size_t kMetricDefinitionsMax = 4096;

struct MetricDefinition {
  std::string step_metric;           // default x of readers; empty: the step
  std::vector<SummaryKind> summary;  // empty: the last value
  Goal goal = Goal::kNone;
  bool operator==(const MetricDefinition&) const = default;

  Value to_value() const;
  // What a newer version wrote and this one does not know is left out.
  static MetricDefinition from_value(const Value& value);
};

// From the words of the APIs; `summary` and `goal` as above, empty ones mean "not given". kInvalid says what was
// expected; so does "best" without a goal, and a name or step_metric that is no key.
Result<MetricDefinition> make_definition(std::string_view name, std::string_view step_metric,
                                         const std::vector<std::string>& summary, std::string_view goal);

// A name is a pattern when it holds "*" (any bytes, "/" too, or none) or "?" (one byte).
bool is_pattern(std::string_view name);
// Cost: linear in both but for patterns of many stars, then their product.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace tracker::internal
