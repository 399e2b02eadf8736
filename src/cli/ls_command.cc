// SPDX-License-Identifier: MIT
// tracker ls: the runs of a store, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/run_json.h"
#include "cli/style.h"
#include "cli/table.h"
#include "cli/text.h"

namespace tracker::internal {
namespace {

// What was read of the runs, and what could not be.
struct Listing {
  std::vector<std::unique_ptr<RunView>> runs;
  uint64_t left_out = 0;  // by --limit
  std::vector<std::string> problems;
  Code worst = Code::kOk;

  void note(Code code, const std::string& problem) {
    problems.push_back(problem);
    if (worst != Code::kVersion) worst = code;
  }
};

Listing read_runs(const Store& store, const LsOptions& options) {
  Listing listing;
  std::vector<std::string> damaged;
  std::vector<RunFolder> folders = store.list_runs(options.project, &damaged);
  for (const std::string& line : damaged) listing.note(Code::kCorrupt, line);
  if (options.limit > 0 && folders.size() > options.limit) {
    listing.left_out = folders.size() - options.limit;
    folders.resize(options.limit);
  }
  for (const RunFolder& folder : folders) {
    auto run = RunView::open(folder);
    if (!run.ok()) {
      listing.note(run.status().code(), run.status().to_string());
      continue;
    }
    for (const std::string& problem : (*run)->problems()) listing.note((*run)->problem_code(), problem);
    listing.runs.push_back(std::move(*run));
  }
  return listing;
}

// The first two values of the summary, the ones called "loss" before the others.
std::string summary_text(const RunView& run) {
  constexpr size_t kShown = 2, kNameWidth = 40, kValueWidth = 16;
  Value summary = run.summary();
  Value::Map entries = *summary.as_map();
  const auto is_loss = [](const std::string& name) { return name == "loss" || name.ends_with("/loss"); };
  std::stable_partition(entries.begin(), entries.end(), [&is_loss](const auto& entry) { return is_loss(entry.first); });
  std::string out;
  for (size_t i = 0; i < entries.size() && i < kShown; ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : "  ", cut_to(visible(entries[i].first), kNameWidth),
                       cut_to(value_text(entries[i].second), kValueWidth));
  return out;
}

std::string table_text(const Console& console, const Listing& listing) {
  const auto any = [&listing](auto test) { return std::any_of(listing.runs.begin(), listing.runs.end(), test); };
  const bool names = any([](const auto& run) { return run->name() != run->identity().id; });
  const bool lost = any([](const auto& run) { return run->losses().dropped > 0; });
  std::vector<TableColumn> columns{{"RUN", false, 16}};
  if (names) columns.push_back({"NAME", false, 8});
  columns.insert(columns.end(), {{"STATE"}, {"CREATED"}, {"DURATION"}, {"POINTS", true}});
  if (lost) columns.push_back({"LOST", true});
  columns.push_back({"SUMMARY", false, 7});
  Table table(columns);
  for (const auto& run : listing.runs) {
    const LossAccount account = run->losses();
    std::vector<Table::Cell> row{run->identity().project + "/" + run->identity().id};
    if (names) row.emplace_back(run->name() == run->identity().id ? std::string() : run->name());
    row.emplace_back(run_state_name(run->state()), state_sgr(run->state()));
    row.emplace_back(ago_text(run->created_us(), console.now_us));
    row.emplace_back(duration_text(duration_us(*run, console.now_us)));
    row.emplace_back(count_text(account.stored));
    if (lost) row.emplace_back(account.dropped > 0 ? count_text(account.dropped) : "", "31");
    row.emplace_back(summary_text(*run));
    table.add(std::move(row));
  }
  return table.render(console);
}

std::string json_document(const Store& store, const Listing& listing) {
  Value::List runs, problems;
  for (const auto& run : listing.runs) runs.push_back(run_head_json(*run));
  for (const std::string& problem : listing.problems) problems.emplace_back(problem);
  return to_json(Value::Map{{"store", store.path()},
                            {"runs", runs},
                            {"left_out", static_cast<int64_t>(listing.left_out)},
                            {"problems", problems}},
                 2);
}

}  // namespace

int run_ls(Console& console, const GlobalOptions& global, const LsOptions& options) {
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const Listing listing = read_runs(*store, options);
  if (options.json) {
    console.print(json_document(*store, listing) + "\n");
  } else if (listing.runs.empty() && listing.problems.empty()) {
    const std::string project = options.project.empty() ? "" : " of project " + options.project;
    console.print(visible(fmt::format("No runs{} in {}", project, store->path())) + "\n");
  } else if (!listing.runs.empty()) {
    console.print(table_text(console, listing));
  }
  if (listing.left_out > 0 && !options.json)
    console.print(fmt::format("{} more; --limit 0 shows all\n", count_text(listing.left_out)));
  return finish(console, listing.problems, listing.worst);
}

}  // namespace tracker::internal
