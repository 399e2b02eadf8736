// SPDX-License-Identifier: MIT
// tracker ls: the runs of a store that match a filter, in an order, page by page.
#include <fmt/format.h>

#include <algorithm>

#include "artifact/lineage.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/run_json.h"
#include "cli/show_sections.h"
#include "cli/style.h"
#include "cli/table.h"
#include "cli/text.h"
#include "query/runs_query.h"

namespace tracker::internal {
namespace {

// The first two values of the summary, the ones called "loss" before the others.
std::string summary_text(const RunRow& run) {
  constexpr size_t kShown = 2, kNameWidth = 40, kValueWidth = 16;
  Value::Map entries = *run.record.summary.as_map();
  const auto is_loss = [](const std::string& name) { return name == "loss" || name.ends_with("/loss"); };
  std::stable_partition(entries.begin(), entries.end(), [&is_loss](const auto& entry) { return is_loss(entry.first); });
  std::string out;
  for (size_t i = 0; i < entries.size() && i < kShown; ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : "  ", cut_to(visible(entries[i].first), kNameWidth),
                       cut_to(value_text(entries[i].second), kValueWidth));
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

std::string table_text(const Console& console, const RunsList& list) {
  const auto any = [&list](auto test) { return std::any_of(list.rows.begin(), list.rows.end(), test); };
  const bool names = any([](const RunRow& run) { return run.record.name != run.record.identity.id; });
  const bool lost = any([](const RunRow& run) { return lost_of_any_kind(run.record) > 0; });
  std::vector<TableColumn> columns{{"RUN", false, 16}};
  if (names) columns.push_back({"NAME", false, 8});
  columns.insert(columns.end(), {{"STATE"}, {"CREATED"}, {"DURATION"}, {"POINTS", true}});
  if (lost) columns.push_back({"LOST", true});
  columns.push_back({"SUMMARY", false, 7});
  Table table(columns);
  for (const RunRow& run : list.rows) {
    const CatalogRecord& record = run.record;
    const int64_t created_us = record.identity.created_us;
    std::vector<Table::Cell> row{run_text(run.run_folder())};
    if (names) row.emplace_back(record.name == record.identity.id ? std::string() : record.name);
    row.emplace_back(run_state_name(record.state), state_sgr(record.state));
    row.emplace_back(ago_text(created_us, console.now_us));
    row.emplace_back(duration_text((record.ended_us != 0 ? record.ended_us : console.now_us) - created_us));
    row.emplace_back(count_text(record.points));
    if (lost) row.emplace_back(lost_text(record), "31");
    row.emplace_back(summary_text(run));
    table.add(std::move(row));
  }
  return table.render(console);
}

std::string field_text(const FilterField& field, const std::optional<Value>& value) {
  if (!value) return "";
  const FieldKind kind = field.kind();
  if (kind == FieldKind::kTime) return time_text(*value->as_int());
  if (kind == FieldKind::kDuration) return duration_text(*value->as_int());
  return value_text(*value);
}

// The columns that were asked for, behind the run.
std::string columns_text(const Console& console, const RunsList& list, const std::vector<FilterField>& fields) {
  std::vector<TableColumn> columns{{"RUN", false, 16}};
  for (const FilterField& field : fields) {
    const FieldKind kind = field.kind();
    columns.push_back({field.text(), kind == FieldKind::kNumber || kind == FieldKind::kMetric, 8});
  }
  Table table(columns);
  for (const RunRow& run : list.rows) {
    std::vector<Table::Cell> row{run_text(run.run_folder())};
    for (size_t i = 0; i < fields.size(); ++i) row.emplace_back(field_text(fields[i], run.columns[i]));
    table.add(std::move(row));
  }
  return table.render(console);
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

// The fields as they were asked for: a key of the document is what a script has written.
std::vector<std::string> asked_fields(const std::string& text, const std::vector<FilterField>& fields) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (c == ',' && !quoted) out.emplace_back();
    else out.back().push_back(c);
  }
  for (std::string& field : out) {
    field.erase(0, field.find_first_not_of(" \t\n\r"));
    field.erase(field.find_last_not_of(" \t\n\r") + 1);
  }
  if (out.size() != fields.size()) {  // a quote within quotes
    out.clear();
    for (const FilterField& field : fields) out.push_back(field.text());
  }
  return out;
}

std::string json_document(const Store& store, const RunsList& list, uint64_t left_out,
                          const std::vector<std::string>& fields, const std::vector<std::string>& problems) {
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
                            {"notes", text_list(list.notes)},
                            {"waiting", waiting_json(list)},
                            {"problems", text_list(problems)}},
                 2);
}

std::string nothing_text(const Store& store, const LsOptions& options, uint64_t matched) {
  if (matched > 0)
    return fmt::format("{}, none behind the first {}\n", counted(matched, "run"), count_text(options.offset));
  const std::string project = options.project.empty() ? "" : " of project " + options.project;
  const char* match = options.where.empty() ? "" : " that match";
  return visible(fmt::format("No runs{}{} in {}", project, match, store.path())) + "\n";
}

void print(Console& console, const Store& store, const LsOptions& options, const std::vector<FilterField>& fields,
           const RunsList& list) {
  const uint64_t first = std::min(options.offset, list.matched);
  const uint64_t left_out = list.matched - first - list.rows.size();
  if (options.json) {
    std::vector<std::string> problems = list.problems;
    for (const UnfinishedRecovery& each : console.unfinished)
      if (options.project.empty() || each.run.project == options.project) problems.push_back(each.text);
    problems.insert(problems.end(), console.recovery_problems.begin(), console.recovery_problems.end());
    const auto asked = fields.empty() ? std::vector<std::string>() : asked_fields(options.columns, fields);
    console.print(visible_json(json_document(store, list, left_out, asked, problems)) + "\n");
    return;
  }
  if (!list.rows.empty())
    console.print(fields.empty() ? table_text(console, list) : columns_text(console, list, fields));
  else if (list.problems.empty()) console.print(nothing_text(store, options, list.matched));
  if (left_out > 0) console.print(fmt::format("{} more; --limit 0 shows all\n", count_text(left_out)));
  for (const std::string& note : list.notes) console.note(note);
  for (const auto& [run, waiting] : list.waiting) console.note(run + ": " + waiting_text(waiting));
}

}  // namespace

int run_ls(Console& console, const GlobalOptions& global, const LsOptions& options) {
  FilterError error;
  RunsQuery query;
  query.project = options.project;
  query.where = options.where;
  query.sort = options.sort;
  query.limit = options.limit;
  query.offset = options.offset;
  query.now_us = console.now_us;
  // Mistakes are said before the store is looked at.
  if (const auto filter = Filter::parse(options.where, console.now_us, &error); !filter.ok())
    return fail_at(console, filter.status(), options.where, error);
  if (!options.sort.empty())
    if (const auto sort = parse_sort(options.sort, &error); !sort.ok())
      return fail_at(console, sort.status(), options.sort, error);
  if (!options.columns.empty()) {
    auto columns = parse_columns(options.columns, &error);
    if (!columns.ok()) return fail_at(console, columns.status(), options.columns, error);
    query.columns = std::move(*columns);
  }
  if (options.json || query.columns.empty()) query.documents = CatalogDocuments::kSummary;
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  VersionNumbers numbers(*store);
  query.version_name = [&numbers](const std::string& name) { return numbers.name_of(name); };
  ProgressBar bar(console, "reading runs");
  query.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  const auto list = query_runs(*store, query);
  bar.clear();
  if (!list.ok()) return fail(console, list.status());
  print(console, *store, options, query.columns, *list);
  return finish(console, list->problems, list->worst);
}

}  // namespace tracker::internal
