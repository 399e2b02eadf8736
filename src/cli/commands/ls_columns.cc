// SPDX-License-Identifier: MIT
#include "cli/commands/ls_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/output/text.h"
#include "model/metric_definition.h"

namespace tracker::internal {
namespace {

using Id = FilterFieldId;

// At the commas that are not in quotes, without the blanks around.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (c == ',' && !quoted) out.emplace_back();
    else out.back().push_back(c);
  }
  for (std::string& part : out) {
    part.erase(0, part.find_first_not_of(" \t\n\r"));
    part.erase(part.find_last_not_of(" \t\n\r") + 1);
  }
  return out;
}

// A key with "*" or "?" is put in quotes for the parser, without its statistic; all else as it is.
std::string for_parser(const std::string& part, bool* is_a_pattern) {
  const size_t dot = part.find('.');
  *is_a_pattern = dot != std::string::npos && is_pattern(part) && part.find('"') == std::string::npos;
  if (!*is_a_pattern) return part;
  size_t end = part.size();
  if (part.starts_with("metrics."))
    for (size_t stat = 0; stat < kMetricStats; ++stat)
      if (const std::string suffix = fmt::format(".{}", metric_stat_name(static_cast<MetricStat>(stat)));
          part.ends_with(suffix) && part.size() - suffix.size() > dot)
        end = part.size() - suffix.size();
  return fmt::format("{}\"{}\"{}", part.substr(0, dot + 1), part.substr(dot + 1, end - dot - 1), part.substr(end));
}

bool fits(const std::string& pattern, const std::string& key) {
  if (matches(pattern, key)) return true;
  std::string path = pattern;
  std::replace(path.begin(), path.end(), '.', '/');
  return path != pattern && matches(path, key);
}

const Value& document_of(const CatalogRecord& record, Id id) {
  return id == Id::kConfig ? record.config : id == Id::kSummary ? record.summary : record.metrics;
}

void add_keys(const Value& map, const FilterField& pattern, const std::string& prefix, std::set<std::string>* out) {
  for (const auto& [key, value] : *map.as_map()) {
    if (pattern.id == Id::kConfig && value.is_map()) add_keys(value, pattern, prefix + key + "/", out);
    else if (fits(pattern.key, prefix + key)) out->insert(prefix + key);
  }
}

std::optional<Value> value_at(const CatalogRecord& record, const FilterField& field) {
  const Value* value = find_field_key(document_of(record, field.id), field);
  if (value == nullptr) return std::nullopt;
  if (field.id != Id::kMetrics) return *value;
  const Value::List* stats = value->as_list();
  const auto at = static_cast<size_t>(field.stat);
  if (stats == nullptr || at >= stats->size() || (*stats)[at].is_null()) return std::nullopt;
  return (*stats)[at];
}

}  // namespace

Result<AskedColumns> parse_asked_columns(const std::string& text, FilterError* error) {
  AskedColumns out;
  std::string parsed;
  for (std::string& part : parts_of(text)) {
    bool is_a_pattern = false;
    parsed += (out.titles.empty() ? "" : ",") + for_parser(part, &is_a_pattern);
    out.patterns.push_back(is_a_pattern);
    out.titles.push_back(std::move(part));
  }
  const bool any = std::find(out.patterns.begin(), out.patterns.end(), true) != out.patterns.end();
  auto fields = parse_columns(any ? parsed : text, error);
  if (!fields.ok()) return fields.status();
  out.fields = std::move(*fields);
  if (out.titles.size() != out.fields.size()) {  // a quote within quotes
    out.titles.clear();
    for (const FilterField& field : out.fields) out.titles.push_back(field.text());
    out.patterns.assign(out.fields.size(), false);
  }
  return out;
}

std::vector<std::string> expand_columns(AskedColumns* columns, RunsList* list) {
  std::vector<std::string> remarks;
  AskedColumns out;
  std::vector<std::vector<std::optional<Value>>> values(list->rows.size());
  const auto add = [&](const FilterField& field, std::string title, const auto& value_of) {
    out.fields.push_back(field);
    out.titles.push_back(std::move(title));
    for (size_t row = 0; row < list->rows.size(); ++row) values[row].push_back(value_of(list->rows[row]));
  };
  for (size_t i = 0; i < columns->fields.size(); ++i) {
    const FilterField& asked = columns->fields[i];
    if (!columns->patterns[i]) {
      add(asked, columns->titles[i], [i](const RunRow& row) { return row.columns[i]; });
      continue;
    }
    std::set<std::string> keys;
    for (const RunRow& row : list->rows) add_keys(document_of(row.record, asked.id), asked, "", &keys);
    if (keys.empty() && !list->rows.empty()) remarks.push_back("no run has " + columns->titles[i]);
    if (keys.size() > kKeyColumnsMax)
      remarks.push_back(fmt::format("{} fits {} keys; the first {} are shown", columns->titles[i],
                                    count_text(keys.size()), kKeyColumnsMax));
    size_t shown = 0;
    for (const std::string& key : keys) {
      if (++shown > kKeyColumnsMax) break;
      const FilterField field{asked.id, key, true, asked.stat};
      const FilterField written{asked.id, key, false, asked.stat};
      add(field, written.text(), [&field](const RunRow& row) { return value_at(row.record, field); });
    }
  }
  for (size_t row = 0; row < list->rows.size(); ++row) list->rows[row].columns = std::move(values[row]);
  out.patterns.assign(out.fields.size(), false);
  *columns = std::move(out);
  return remarks;
}

std::vector<FilterField> fields_looked_at(const Filter& filter, const std::vector<SortField>& sort) {
  constexpr Id kShown[] = {Id::kProject, Id::kId,       Id::kUid,    Id::kName, Id::kState,
                           Id::kCreated, Id::kDuration, Id::kPoints, Id::kLost, Id::kArchived};
  std::vector<FilterField> out;
  const auto add = [&](const FilterField& field) {
    if (std::find(std::begin(kShown), std::end(kShown), field.id) == std::end(kShown) &&
        std::find(out.begin(), out.end(), field) == out.end() && out.size() < kKeyColumnsMax)
      out.push_back(field);
  };
  std::vector<const FilterNode*> nodes;
  if (filter.root() != nullptr) nodes.push_back(filter.root());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->kind == FilterNode::Kind::kTest) add(nodes[i]->field);
    for (const FilterNode& child : nodes[i]->children) nodes.push_back(&child);
  }
  for (const SortField& each : sort) add(each.field);
  return out;
}

}  // namespace tracker::internal
