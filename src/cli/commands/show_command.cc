// SPDX-License-Identifier: MIT
// tracker show: everything about one run on a page.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/artifact_command.h"
#include "cli/commands/command.h"
#include "cli/output/plot.h"
#include "cli/output/run_json.h"
#include "cli/output/show_sections.h"
#include "cli/output/text.h"
#include "query/chart/chart_query.h"
#include "query/view/environment.h"
#include "query/view/rank_status.h"
#include "query/view/visit.h"

namespace tracker::internal {
namespace {

struct Plots {
  std::vector<std::string> sparks;  // one a metric
  std::string charts;
};

template <typename Rows>
std::string chart_text(const Console& console, const MetricInfo& metric, const Rows& rows) {
  constexpr size_t kChartHeight = 10, kWidthWithoutTerminal = 80;
  std::string head = fmt::format("\n{}  {}", console.paint(visible(metric.name), "1"), counted(metric.points, "point"));
  const std::pair<uint64_t, std::string> marks[] = {{metric.nan, fmt::format("{} NaN", kNanMark)},
                                                    {metric.pos_inf, fmt::format("{} +Inf", kPosInfMark)},
                                                    {metric.neg_inf, fmt::format("{} -Inf", kNegInfMark)}};
  for (const auto& [count, mark] : marks)
    if (count > 0) head += fmt::format(", {} {}", count_text(count), mark);
  head += "\n";
  const size_t width = console.width > 0 ? static_cast<size_t>(console.width) : kWidthWithoutTerminal;
  for (const std::string& line : chart(rows, width, kChartHeight)) head += line + "\n";
  return head;
}

// Of a metric with so many rows that they shall not all be in memory. None: it has rows without a step.
Result<std::optional<StepCells>> cells_of(RunView* run, const MetricInfo& metric) {
  std::optional<StepCells> out;
  auto result = query_chart(run, {.metric = metric.name});
  if (!result.ok()) return result.status();
  if (result->left_out == 0) out = std::move(std::get<Chart<int64_t>>(result->chart).cells);
  return out;
}

size_t spark_cells(const Console& console) {
  return console.width > 0 ? std::clamp<size_t>(static_cast<size_t>(console.width) / 5, 8, 40) : 24;
}

Result<Plots> make_plots(const Console& console, RunView* run, uint64_t charts) {
  const size_t cells = spark_cells(console);
  const std::vector<MetricInfo> metrics = metrics_of_kind(*run, false);
  std::vector<std::string> sparks(metrics.size()), chart_texts(metrics.size());
  const auto plot = [&](size_t index, const auto& rows) {
    sparks[index] = sparkline(rows, cells);
    if (index < charts) chart_texts[index] = chart_text(console, metrics[index], rows);
  };
  std::vector<std::string> names;
  std::vector<size_t> places;  // in `metrics`
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].points > kVisitPointsMax) {
      const auto found = cells_of(run, metrics[i]);
      if (!found.ok()) return found.status();
      if (*found) plot(i, **found);
      if (*found) continue;
    }
    names.push_back(metrics[i].name);
    places.push_back(i);
  }
  size_t visited = 0;
  const Status status =
      visit_histories(run, names, false, kVisitPointsMax, [&](const std::string&, const History& history) {
        plot(places[visited++], history);
        return Status();
      });
  if (!status.ok()) return status;
  Plots plots{std::move(sparks), {}};
  for (const std::string& text : chart_texts) plots.charts += text;
  return plots;
}

// Of a run that is recorded those that are nowhere may be on their way.
uint64_t lost_media(const RunView& run) {
  const MediaAccount account = media_account(run);
  return account.dropped + (run.state() == RunState::kRunning ? 0 : account.lost);
}

}  // namespace

int run_show(Console& console, const GlobalOptions& global, const ShowOptions& options) {
  const auto found = find_named_run(console, global, options.run);
  if (!found.ok()) return fail(console, found.status());
  const auto opened = open_run(*found);
  if (!opened.ok()) return fail(console, opened.status());
  RunView& run = **opened;
  if (options.losses && !options.json) {
    console.print(head_section(console, run));
    console.print(losses_section(console, run.losses_by_metric()));
    console.print(account_section(console, run, lost_media(run)));
    return finish(console, run.problems(), run.problem_code());
  }
  if (options.console) return show_console(console, run, options.json);
  const auto texts = run.texts_by_metric();
  if (!texts.ok()) return fail(console, texts.status());
  const auto alerts = read_alerts(&run);
  if (!alerts.ok()) return fail(console, alerts.status());
  const auto media = summarize_media(&run);
  if (!media.ok()) return fail(console, media.status());
  const std::vector<LineageEdge> uses = edges_of_run(found->folder);
  const std::vector<RefusedArtifact> refused = refused_by_run(found->folder);
  if (options.json) {
    Value document = run_json(run, *texts, *alerts);
    document.set("inputs", edges_json(found->store, uses, ArtifactUse::kInput));
    document.set("outputs", edges_json(found->store, uses, ArtifactUse::kOutput));
    document.set("artifacts_refused", refused_json(refused));
    document.set("media", media_json(*media));
    document.set("media_account", media_account_json(media_account(run)));
    document.set("problems", text_list(problems_to_show(console, run)));
    console.print(visible_json(to_json(document, 2)) + "\n");
    return finish(console, run.problems(), run.problem_code());
  }
  const auto output = last_console_lines(&run);
  if (!output.ok()) return fail(console, output.status());
  const auto plots = make_plots(console, &run, options.plots);
  if (!plots.ok()) return fail(console, plots.status());
  const size_t narrower = run.ranks().size() > 1 ? 2 : 1;  // beside a column more
  const auto system = system_series(&run, spark_cells(console) / narrower);
  if (!system.ok()) return fail(console, system.status());
  console.print(head_section(console, run));
  console.print(environment_section(console, run));
  console.print(config_section(console, run));
  console.print(summary_section(console, run));
  console.print(metrics_section(console, run, plots->sparks));
  console.print(texts_section(console, *texts));
  console.print(artifacts_section(console, found->store, uses, refused));
  console.print(media_section(console, *media, media_account(run)));
  console.print(alerts_section(console, *alerts));
  console.print(plots->charts);
  console.print(system_section(console, run, *system));
  console.print(console_section(console, *output, run.ranks().size() > 1));
  console.print(account_section(console, run, lost_media(run)));
  console.print(cost_section(console, run));
  console.print(attempts_section(console, run));
  console.print(ranks_section(console, run));
  console.print(writers_section(console, run));
  return finish(console, run.problems(), run.problem_code());
}

}  // namespace tracker::internal
