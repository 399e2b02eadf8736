// SPDX-License-Identifier: MIT
#include "model/metric_definition.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/key.h"

namespace tracker::internal {
namespace {

constexpr SummaryKind kKinds[] = {SummaryKind::kLast, SummaryKind::kMin, SummaryKind::kMax, SummaryKind::kMean,
                                  SummaryKind::kBest};

bool kind_from(std::string_view name, SummaryKind* out) {
  for (const SummaryKind kind : kKinds)
    if (name == summary_kind_name(kind)) return *out = kind, true;
  return false;
}

Goal goal_from(std::string_view name) {
  if (name == "minimize") return Goal::kMinimize;
  return name == "maximize" ? Goal::kMaximize : Goal::kNone;
}

}  // namespace

const char* summary_kind_name(SummaryKind kind) {
  switch (kind) {
    case SummaryKind::kLast: return "last";
    case SummaryKind::kMin: return "min";
    case SummaryKind::kMax: return "max";
    case SummaryKind::kMean: return "mean";
    case SummaryKind::kBest: return "best";
  }
  return "last";
}

const char* goal_name(Goal goal) {
  return goal == Goal::kMinimize ? "minimize" : goal == Goal::kMaximize ? "maximize" : "";
}

Value MetricDefinition::to_value() const {
  Value out = Value::map();
  if (!step_metric.empty()) out.set("step_metric", step_metric);
  Value::List kinds;
  for (const SummaryKind kind : summary) kinds.emplace_back(summary_kind_name(kind));
  if (!kinds.empty()) out.set("summary", kinds);
  if (goal != Goal::kNone) out.set("goal", goal_name(goal));
  return out;
}

MetricDefinition MetricDefinition::from_value(const Value& value) {
  MetricDefinition out;
  out.step_metric = value.text_or("step_metric", "");
  out.goal = goal_from(value.text_or("goal", ""));
  const Value* kinds = value.find("summary");
  if (kinds == nullptr || kinds->as_list() == nullptr) return out;
  for (const Value& each : *kinds->as_list()) {
    SummaryKind kind = SummaryKind::kLast;
    if (each.as_text() != nullptr && kind_from(*each.as_text(), &kind)) out.summary.push_back(kind);
  }
  return out;
}

Result<MetricDefinition> make_definition(std::string_view name, std::string_view step_metric,
                                         const std::vector<std::string>& summary, std::string_view goal) {
  TRACKER_RETURN_IF_ERROR(check_key(name));
  MetricDefinition out;
  if (!step_metric.empty()) {
    if (const Status status = check_key(step_metric); !status.ok())
      return Status(Code::kInvalid, "step_metric: " + status.message());
    if (is_pattern(step_metric))
      return Status(Code::kInvalid, fmt::format("step_metric=\"{}\": expected the name of one metric", step_metric));
    out.step_metric = step_metric;
  }
  out.goal = goal_from(goal);
  if (!goal.empty() && out.goal == Goal::kNone)
    return Status(Code::kInvalid, fmt::format("goal=\"{}\": expected \"minimize\" or \"maximize\"", goal));
  for (const std::string& each : summary) {
    SummaryKind kind = SummaryKind::kLast;
    if (!kind_from(each, &kind))
      return Status(Code::kInvalid,
                    fmt::format("summary=\"{}\": expected \"min\", \"max\", \"mean\", \"last\", \"best\" "
                                "or a list of them",
                                each));
    if (kind == SummaryKind::kBest && out.goal == Goal::kNone)
      return Status(Code::kInvalid, "summary=\"best\" needs goal=\"minimize\" or goal=\"maximize\"");
    if (std::find(out.summary.begin(), out.summary.end(), kind) == out.summary.end()) out.summary.push_back(kind);
  }
  return out;
}

bool is_pattern(std::string_view name) { return name.find_first_of("*?") != std::string_view::npos; }

bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tracker::internal
