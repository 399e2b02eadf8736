// SPDX-License-Identifier: MIT
// What a fuzzer of a run's files does with the run: every reading that shows or carries on something of it. Threads:
// one.
#pragma once

#include <cstdlib>

#include "query/chart/chart_query.h"
#include "query/runs/run_record.h"
#include "query/tail/tail.h"
#include "query/view/across_ranks.h"
#include "query/view/alerts.h"
#include "query/view/attempts.h"
#include "query/view/console.h"
#include "query/view/environment.h"
#include "query/view/media.h"
#include "query/view/rank_status.h"
#include "query/view/run_view.h"
#include "storage/verify/verify.h"

namespace tracker::internal {

inline void read_metric(RunView* run, const std::string& name) {
  const auto every = run->history(name, true), shown = run->history(name);
  if (every.ok() && (every->steps.size() != every->size() || every->times_us.size() != every->size())) std::abort();
  if (every.ok() && shown.ok() && shown->size() > every->size()) std::abort();
  (void)run->across_ranks(name);
  for (const ChartAxis axis : {ChartAxis::kStep, ChartAxis::kTime}) {
    ChartQuery query;
    query.metric = name;
    query.axis = axis;
    query.pixels = 16;
    (void)query_chart(run, query);
  }
}

inline void read_events(RunView* run) {
  (void)run->texts_by_metric(true);
  (void)read_media(run, "", true);
  (void)summarize_media(run);
  (void)media_names(*run);
  (void)media_account(*run);
  const auto alerts = read_alerts(run);
  if (alerts.ok() && alerts->alerts.size() > alerts->total) std::abort();
  const auto console = read_console(run);
  if (console.ok() && console->lines.size() > console->total) std::abort();
  if (console.ok())
    for (const ConsoleLine& line : console->lines) (void)console_text(line);
}

// The files may come from anyone: readings must end, with values or with an error that has a message.
inline void read_run(const RunFolder& folder) {
  auto opened = RunView::open(folder);
  if (!opened.ok()) {
    if (opened.status().message().empty()) std::abort();
    return;
  }
  RunView& run = **opened;
  (void)run.state_detail(), (void)run.name(), (void)run.losses(), (void)run.losses_by_metric();
  (void)to_json(run.config()), (void)to_json(run.summary()), (void)to_json(environment_of(run.writers()));
  (void)run.attempts(), (void)run.ranks();
  for (const MetricInfo& metric : run.metrics()) read_metric(&run, metric.name);
  read_events(&run);
  TailQuery query;
  TailCursor cursor = tail_begin(run, query);
  (void)read_tail(&run, query, &cursor);
  (void)read_run_record(folder);
  (void)verify_runs({folder.path}, "", {});
}

}  // namespace tracker::internal
