// SPDX-License-Identifier: MIT
// Goes through the histories of many metrics within a bound of memory. Threads: as RunView.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

constexpr uint64_t kVisitPointsMax = 4u << 20;  // about 100 MB of rows

// Calls `visit` for each metric in the order given; its failure ends the visit. Every reading passes over all frames,
// so metrics are read together, as many as `points_max` stored points allow (one larger metric is read by itself).
Status visit_histories(RunView* run, const std::vector<std::string>& metrics, bool all, uint64_t points_max,
                       const std::function<Status(const std::string& metric, const History& history)>& visit);

}  // namespace tracker::internal
