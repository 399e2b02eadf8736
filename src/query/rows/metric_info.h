// SPDX-License-Identifier: MIT
// What is known of a metric without reading its rows. Values without behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "model/metric_definition.h"
#include "model/records.h"

namespace tracker::internal {

// Of the rows of a metric that no resume shadows; rows that a later one of the same step replaces count too.
struct ShownStats {
  uint64_t points = 0, finite = 0, nan = 0;
  double min = 0, max = 0, sum = 0;                           // over finite values; valid when finite > 0
  int64_t last_attempt = 0, last_rank = 0, last_time_us = 0;  // of the row that MetricInfo.last_bits is of
  int64_t first_attempt = 0, first_time_us = 0;               // and of the row that MetricInfo.first_bits is of
  // Whether the statistics of the writers have these; else rows must be read, which RunView does when asked.
  bool last_known = true, range_known = true;
};

// A metric over all writers of a run: the union of its series of numbers. Texts are not series: see RunView::texts.
struct MetricInfo {
  std::string name;
  std::vector<ValueType> types;  // distinct, by (attempt, started) of their writers and series id
  uint64_t points = 0, dropped = 0;
  bool has_steps = false;
  int64_t step_min = 0, step_max = 0;  // valid with has_steps
  int64_t last_step = 0;
  int64_t time_first_us = 0, time_last_us = 0;
  double min = 0, max = 0, sum = 0;  // over finite values of all rows, as are the counts; `shown` has those that count
  uint64_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0;
  ValueType last_type = ValueType::kFloat64;
  uint64_t last_bits = 0;  // value of the last row shown: of the last attempt, there of the lowest rank, there by time
  ValueType first_type = ValueType::kFloat64;
  uint64_t first_bits = 0;  // of the first row shown: of the first attempt, there by time
  ShownStats shown;
  MetricDefinition definition;  // of define_metric(): its own, else that of the last pattern that matches
};

}  // namespace tracker::internal
