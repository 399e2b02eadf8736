// SPDX-License-Identifier: MIT
// tracker ls: the runs of a store that match a filter, in an order, page by page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "artifact/lineage.h"
#include "cli/commands/command.h"
#include "cli/commands/ls_columns.h"
#include "cli/output/progress.h"
#include "cli/output/run_json.h"
#include "cli/output/show_sections.h"
#include "cli/output/style.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "query/runs/runs_query.h"

namespace tracker::internal {
namespace {

// What the run set itself, then the last values of metrics, the ones called "loss" first; on a terminal as much of each
// as leaves room for the others. Without those that have a column of their own.
std::string summary_text(const Console& console, const RunRow& run, const std::vector<FilterField>& looked_at) {
  constexpr size_t kShown = 8, kNameWidth = 32, kValueWidth = 16;
  std::set<const Value*> in_columns;
  for (const FilterField& field : looked_at)
    if (field.id == FilterFieldId::kSummary || (field.id == FilterFieldId::kMetrics && field.stat == MetricStat::kLast))
      in_columns.insert(find_field_key(run.record.summary, field));
  Value::Map entries;
  for (const auto& entry : *run.record.summary.as_map())
    if (!in_columns.contains(&entry.second)) entries.push_back(entry);
  const auto was_set = [&run](const auto& entry) {
    const Value* metric = run.record.metrics.find(entry.first);
    return metric == nullptr || metric->as_list() == nullptr || metric->as_list()->empty() ||
           !(metric->as_list()->front() == entry.second);
  };
  const auto is_loss = [](const auto& entry) { return entry.first == "loss" || entry.first.ends_with("/loss"); };
  std::stable_partition(std::stable_partition(entries.begin(), entries.end(), was_set), entries.end(), is_loss);
  const bool all = console.width == 0;
  std::string out;
  for (size_t i = 0; i < entries.size() && (all || i < kShown); ++i) {
    const std::string name = visible(entries[i].first), value = value_text(entries[i].second);
    out += fmt::format("{}{} {}", i == 0 ? "" : "  ", all ? name : cut_middle(name, kNameWidth),
                       all ? value : cut_to(value, kValueWidth));
  }
  return out;
}

uint64_t lost_of_any_kind(const CatalogRecord& record) {
  return record.dropped + record.texts_dropped() + record.entries_dropped() + record.unread_rings();
}

// "12", "12 + 1 text + 3 entries", "12 + ?" where rings could not be read.
std::string lost_text(const CatalogRecord& record) {
  std::string out = record.dropped > 0 ? count_text(record.dropped) : "";
  const auto add = [&out](const std::string& part) { out += (out.empty() ? "" : " + ") + part; };
  if (record.texts_dropped() > 0) add(counted(record.texts_dropped(), "text"));
  if (record.entries_dropped() > 0) add(counted(record.entries_dropped(), "entry"));
  if (record.unread_rings() > 0) add("?");
  return out;
}

std::string field_text(const FilterField& field, const std::optional<Value>& value) {
  if (!value) return "";
  const FieldKind kind = field.kind();
  if (kind == FieldKind::kTime) return time_text(*value->as_int());
  if (kind == FieldKind::kDuration) return duration_text(*value->as_int());
  return value_text(*value);
}

TableColumn column_of(const FilterField& field, const std::string& title) {
  const FieldKind kind = field.kind();
  constexpr size_t kTitleShown = 24, kWidthMin = 8;
  return {title, kind == FieldKind::kNumber || kind == FieldKind::kMetric,
          std::clamp(display_width(title), kWidthMin, kTitleShown)};
}

// On a terminal the project that all rows are of is shown above them, and RUN is an id.
class RunColumn {
 public:
  RunColumn(const Console& console, const RunsList& list) {
    if (console.width == 0 || list.rows.empty()) return;
    const std::string& project = list.rows.front().record.identity.project;
    is_common_ = std::all_of(list.rows.begin(), list.rows.end(),
                             [&project](const RunRow& run) { return run.record.identity.project == project; });
    if (is_common_) head_ = "Project " + console.paint(visible(project), "1") + "\n";
  }
  const std::string& head() const { return head_; }
  std::string text(const RunRow& run) const {
    const std::string whole = run_text(run.run_folder());
    return is_common_ ? whole.substr(run.record.identity.project.size() + 1) : whole;
  }

 private:
  bool is_common_ = false;
  std::string head_;
};

// `looked_at`: by the filter and the order; their values are in RunRow::columns.
std::string table_text(const Console& console, const RunsList& list, const std::vector<FilterField>& looked_at,
                       std::vector<std::string>* left_out) {
  const auto any = [&list](auto test) { return std::any_of(list.rows.begin(), list.rows.end(), test); };
  const bool names = any([](const RunRow& run) { return run.record.name != run.record.identity.id; });
  const bool lost = any([](const RunRow& run) { return lost_of_any_kind(run.record) > 0; });
  std::vector<TableColumn> columns{{"RUN"}};
  if (names) columns.push_back({"NAME", false, 8, 3});
  columns.insert(columns.end(),
                 {{"STATE", false, 0, 1}, {"CREATED", false, 0, 5}, {"DURATION", false, 0, 7}, {"POINTS", true, 0, 6}});
  if (lost) columns.push_back({"LOST", true, 0, 2});
  for (const FilterField& field : looked_at) columns.push_back(column_of(field, field.text()));
  columns.push_back({"SUMMARY", false, 18, 4});
  Table table(columns);
  const RunColumn runs(console, list);
  for (const RunRow& run : list.rows) {
    const CatalogRecord& record = run.record;
    const int64_t created_us = record.identity.created_us;
    std::vector<Table::Cell> row{runs.text(run)};
    if (names) row.emplace_back(record.name == record.identity.id ? std::string() : record.name);
    row.emplace_back(run_state_name(record.state), state_sgr(record.state));
    row.emplace_back(ago_text(created_us, console.now_us));
    row.emplace_back(duration_text((record.ended_us != 0 ? record.ended_us : console.now_us) - created_us));
    row.emplace_back(count_text(record.points));
    if (lost) row.emplace_back(lost_text(record), "31");
    for (size_t i = 0; i < looked_at.size(); ++i) row.emplace_back(field_text(looked_at[i], run.columns[i]));
    row.emplace_back(summary_text(console, run, looked_at));
    table.add(std::move(row));
  }
  return runs.head() + table.render(console, 0, left_out);
}

// The columns that were asked for, after the run.
std::string columns_text(const Console& console, const RunsList& list, const AskedColumns& asked) {
  std::vector<TableColumn> columns{{"RUN"}};
  for (size_t i = 0; i < asked.fields.size(); ++i) columns.push_back(column_of(asked.fields[i], asked.titles[i]));
  Table table(columns);
  const RunColumn runs(console, list);
  for (const RunRow& run : list.rows) {
    std::vector<Table::Cell> row{runs.text(run)};
    for (size_t i = 0; i < asked.fields.size(); ++i) row.emplace_back(field_text(asked.fields[i], run.columns[i]));
    table.add(std::move(row));
  }
  return runs.head() + table.render(console);
}

Value waiting_json(const RunsList& list) {
  Value::List out;
  for (const auto& [run, waiting] : list.waiting) {
    Value entry = internal::waiting_json(waiting);
    entry.set("run", run);
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<std::string> remarks_of(const RunsList& list) {
  std::vector<std::string> out = list.unknown;
  out.insert(out.end(), list.notes.begin(), list.notes.end());
  return out;
}

std::string json_document(const Store& store, const RunsList& list, uint64_t left_out, const AskedColumns& asked,
                          const std::vector<std::string>& problems) {
  const std::vector<std::string>& fields = asked.titles;  // a key of the document is what a script has written
  Value::List runs;
  for (const RunRow& row : list.rows) {
    Value run = run_head_json(row);
    Value columns = Value::map();
    for (size_t i = 0; i < fields.size(); ++i) columns.set(fields[i], row.columns[i].value_or(Value()));
    if (!fields.empty()) run.set("columns", std::move(columns));
    runs.push_back(std::move(run));
  }
  return to_json(Value::Map{{"store", store.path()},
                            {"runs", runs},
                            {"matched", static_cast<int64_t>(list.matched)},
                            {"left_out", static_cast<int64_t>(left_out)},
                            {"notes", text_list(remarks_of(list))},
                            {"waiting", waiting_json(list)},
                            {"problems", text_list(problems)}},
                 2);
}

std::string nothing_text(const Store& store, const LsOptions& options, uint64_t matched) {
  if (matched > 0)
    return fmt::format("{}, none after the first {}", counted(matched, "run"), count_text(options.offset));
  const std::string project = options.project.empty() ? "" : " of project " + options.project;
  const char* match = options.where.empty() ? "" : " that match";
  return fmt::format("no runs{}{} in {}", project, match, store.path());
}

// Rows go to stdout, remarks to stderr.
void print(Console& console, const Store& store, const LsOptions& options, const AskedColumns& asked,
           const std::vector<FilterField>& looked_at, const RunsList& list) {
  const uint64_t first = std::min(options.offset, list.matched);
  const uint64_t left_out = list.matched - first - list.rows.size();
  if (options.json) {
    std::vector<std::string> problems = list.problems;
    for (const UnfinishedRecovery& each : console.unfinished)
      if (options.project.empty() || each.run.project == options.project) problems.push_back(each.text);
    problems.insert(problems.end(), console.recovery_problems.begin(), console.recovery_problems.end());
    console.print(visible_json(json_document(store, list, left_out, asked, problems)) + "\n");
    return;
  }
  std::vector<std::string> no_room;
  if (!list.rows.empty())
    console.print(asked.fields.empty() ? table_text(console, list, looked_at, &no_room)
                                       : columns_text(console, list, asked));
  else if (list.problems.empty()) console.note(nothing_text(store, options, list.matched));
  if (!no_room.empty())
    console.note(
        fmt::format("no room for {} in {} columns; --columns chooses", fmt::join(no_room, ", "), console.width));
  if (left_out > 0) console.note(fmt::format("{} more; --limit 0 shows all", count_text(left_out)));
  for (const std::string& remark : remarks_of(list)) console.note(remark);
  for (const auto& [run, waiting] : list.waiting) console.note(run + ": " + waiting_text(waiting));
}

}  // namespace

int run_ls(Console& console, const GlobalOptions& global, const LsOptions& options) {
  FilterError error;
  RunsQuery query;
  query.project = options.project;
  query.where = options.where;
  query.sort = options.sort;
  // A pipe gets all lines: its reader could not see that some are missing. A document says it.
  query.limit = options.limit_given || options.json || console.width > 0 ? options.limit : 0;
  query.offset = options.offset;
  query.now_us = console.now_us;
  // Mistakes are said before a dead writer is recovered.
  const auto wrong = [&](Status status, const std::string& text) {
    if (const auto store = Store::open(Store::resolve(global.dir)); store.ok())
      status = name_known_field(*store, query, status, &error);
    return fail_at(console, status, text, error);
  };
  const auto filter = Filter::parse(options.where, console.now_us, &error);
  if (!filter.ok()) return wrong(filter.status(), options.where);
  std::vector<SortField> order;
  if (!options.sort.empty()) {
    auto sort = parse_sort(options.sort, &error);
    if (!sort.ok()) return wrong(sort.status(), options.sort);
    order = std::move(*sort);
  }
  AskedColumns asked;
  std::vector<FilterField> looked_at;
  if (!options.columns.empty()) {
    auto columns = parse_asked_columns(options.columns, &error);
    if (!columns.ok()) return wrong(columns.status(), options.columns);
    asked = std::move(*columns);
    query.columns = asked.fields;
  } else if (!options.json) {
    query.columns = looked_at = fields_looked_at(*filter, order);
  }
  query.name_unknown = true;
  const bool patterns = std::find(asked.patterns.begin(), asked.patterns.end(), true) != asked.patterns.end();
  if (patterns || (asked.fields.empty() && !options.json)) query.documents = CatalogDocuments::kAll;
  else if (options.json) query.documents = CatalogDocuments::kSummary;
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  VersionNumbers numbers(*store);
  query.version_name = [&numbers](const std::string& name) { return numbers.name_of(name); };
  ProgressBar bar(console, "reading runs");
  query.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  auto list = query_runs(*store, query);
  bar.clear();
  if (!list.ok()) return fail(console, list.status());
  if (patterns) {
    std::vector<std::string> remarks = expand_columns(&asked, &*list);
    list->unknown.insert(list->unknown.end(), remarks.begin(), remarks.end());
  }
  print(console, *store, options, asked, looked_at, *list);
  return finish(console, list->problems, list->worst);
}

}  // namespace tracker::internal
