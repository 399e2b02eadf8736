// SPDX-License-Identifier: MIT
// tracker show: everything about one run on a page.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/plot.h"
#include "cli/run_json.h"
#include "cli/show_sections.h"
#include "cli/text.h"
#include "query/visit.h"

namespace tracker::internal {
namespace {

struct Plots {
  std::vector<std::string> sparks;  // one a metric
  std::string charts;
};

std::string chart_text(const Console& console, const MetricInfo& metric, const History& history) {
  constexpr size_t kChartHeight = 10, kWidthWithoutTerminal = 80;
  std::string head = fmt::format("\n{}  {}", console.paint(visible(metric.name), "1"), counted(metric.points, "point"));
  const std::pair<uint64_t, std::string> marks[] = {{metric.nan, fmt::format("{} NaN", kNanMark)},
                                                    {metric.pos_inf, fmt::format("{} +Inf", kPosInfMark)},
                                                    {metric.neg_inf, fmt::format("{} -Inf", kNegInfMark)}};
  for (const auto& [count, mark] : marks)
    if (count > 0) head += fmt::format(", {} {}", count_text(count), mark);
  head += "\n";
  const size_t width = console.width > 0 ? static_cast<size_t>(console.width) : kWidthWithoutTerminal;
  for (const std::string& line : chart(history, width, kChartHeight)) head += line + "\n";
  return head;
}

Result<Plots> make_plots(const Console& console, RunView* run, uint64_t charts) {
  const size_t cells = console.width > 0 ? std::clamp<size_t>(static_cast<size_t>(console.width) / 5, 8, 40) : 24;
  const std::vector<MetricInfo> metrics = run->metrics();
  std::vector<std::string> names;
  for (const MetricInfo& metric : metrics) names.push_back(metric.name);
  Plots plots;
  const Status status =
      visit_histories(run, names, false, kVisitPointsMax, [&](const std::string&, const History& history) {
        const size_t index = plots.sparks.size();
        plots.sparks.push_back(sparkline(history, cells));
        if (index < charts) plots.charts += chart_text(console, metrics[index], history);
        return Status();
      });
  if (!status.ok()) return status;
  return plots;
}

}  // namespace

int run_show(Console& console, const GlobalOptions& global, const ShowOptions& options) {
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const auto opened = open_run(*store, options.run);
  if (!opened.ok()) return fail(console, opened.status());
  RunView& run = **opened;
  if (options.losses && !options.json) {
    console.print(head_section(console, run));
    console.print(losses_section(console, run.losses_by_metric()));
    console.print(account_section(console, run.losses()));
    return finish(console, run.problems(), run.problem_code());
  }
  const auto texts = run.texts_by_metric();
  if (!texts.ok()) return fail(console, texts.status());
  if (options.json) {
    console.print(visible_json(to_json(run_json(run, *texts), 2)) + "\n");
    return finish(console, run.problems(), run.problem_code());
  }
  const auto plots = make_plots(console, &run, options.plots);
  if (!plots.ok()) return fail(console, plots.status());
  console.print(head_section(console, run));
  console.print(config_section(console, run));
  console.print(summary_section(console, run));
  console.print(metrics_section(console, run, plots->sparks));
  console.print(texts_section(console, *texts));
  console.print(plots->charts);
  console.print(account_section(console, run.losses()));
  console.print(attempts_section(console, run));
  console.print(ranks_section(console, run));
  console.print(writers_section(console, run));
  return finish(console, run.problems(), run.problem_code());
}

}  // namespace tracker::internal
