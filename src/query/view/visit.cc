// SPDX-License-Identifier: MIT
#include "query/view/visit.h"

#include <map>

namespace tracker::internal {

Status visit_histories(RunView* run, const std::vector<std::string>& metrics, bool all, uint64_t points_max,
                       const std::function<Status(const std::string& metric, const History& history)>& visit) {
  std::map<std::string, uint64_t> points_of;
  for (const MetricInfo& metric : run->stored_metrics()) points_of[metric.name] = metric.points;
  std::vector<std::string> group;
  uint64_t points = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    group.push_back(metrics[i]);
    points += points_of[metrics[i]];
    if (i + 1 < metrics.size() && points + points_of[metrics[i + 1]] <= points_max) continue;
    auto histories = run->histories(group, all);
    if (!histories.ok()) return histories.status();
    for (size_t k = 0; k < group.size(); ++k) {
      TRACKER_RETURN_IF_ERROR(visit(group[k], (*histories)[k]));
      (*histories)[k] = History();  // visited: its memory is free for what follows
    }
    group.clear();
    points = 0;
  }
  return Status();
}

}  // namespace tracker::internal
