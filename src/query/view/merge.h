// SPDX-License-Identifier: MIT
// What the writers of a run said, merged into one: config, summary, attributes, metrics, losses. Pure functions on
// snapshots, which are in the order of RunView::writers(). Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

Value merge_config(const std::vector<WriterSnapshot>& writers);
// `metrics` as merge_metrics() gives them.
Value merge_summary(const std::vector<WriterSnapshot>& writers, const std::vector<MetricInfo>& metrics);
Value merged_attribute(const std::vector<WriterSnapshot>& writers, std::string_view key);
std::vector<MetricInfo> merge_metrics(const std::vector<WriterSnapshot>& writers);
// Whether what counts of a metric depends on rows that must be read: a resume shadows a part of them. See shown_rows.h.
bool needs_rows(const MetricInfo& metric);
// `waiting`: what the journals hold beside what is stored, lost points that no database has counted yet among it.
std::vector<MetricAccount> merge_losses_by_metric(const std::vector<WriterSnapshot>& writers,
                                                  const std::vector<WaitingPoints>& waiting = {});
LossAccount merge_losses(const std::vector<WriterSnapshot>& writers, const std::vector<WaitingPoints>& waiting = {});

// A number as a Value of its own kind: int64, bool, or double (exact for every float type).
Value value_of_bits(ValueType type, uint64_t bits);

}  // namespace tracker::internal
