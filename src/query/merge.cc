// SPDX-License-Identifier: MIT
#include "query/merge.h"

#include <algorithm>
#include <map>

namespace tracker::internal {
namespace {

// All attributes of one kind in the order they take effect: by time, then by writer id, then as their writer set them.
std::vector<const Attribute*> in_effect_order(const std::vector<WriterSnapshot>& writers, EventType type) {
  struct Entry {
    const Attribute* attribute;
    const Id128* writer;
  };
  std::vector<Entry> entries;
  for (const WriterSnapshot& writer : writers)
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == type) entries.push_back({&attribute, &writer.identity.writer});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.attribute->time_us != b.attribute->time_us) return a.attribute->time_us < b.attribute->time_us;
    return *a.writer < *b.writer;
  });
  std::vector<const Attribute*> out;
  for (const Entry& entry : entries) out.push_back(entry.attribute);
  return out;
}

void erase_key(Value* map, std::string_view key) {
  Value::Map* entries = map->as_map();
  if (entries == nullptr) return;
  std::erase_if(*entries, [key](const auto& entry) { return entry.first == key; });
}

// Which attempts a metric's first and last values are of.
struct ValueAttempts {
  int64_t first = 0, last = 0;
};

// Adds what one writer knows of a series to the metric it belongs to.
void add_series(MetricInfo* metric, const SeriesStats& series, int64_t attempt, ValueAttempts* of) {
  metric->dropped += series.dropped;
  if (std::find(metric->types.begin(), metric->types.end(), series.def.type) == metric->types.end())
    metric->types.push_back(series.def.type);
  if (series.points == 0) return;
  if (series.has_steps) {
    metric->step_min = metric->has_steps ? std::min(metric->step_min, series.step_min) : series.step_min;
    metric->step_max = metric->has_steps ? std::max(metric->step_max, series.step_max) : series.step_max;
    metric->has_steps = true;
  }
  if (series.finite > 0) {
    metric->min = metric->finite > 0 ? std::min(metric->min, series.min) : series.min;
    metric->max = metric->finite > 0 ? std::max(metric->max, series.max) : series.max;
  }
  metric->sum += series.sum;
  const bool first = metric->points == 0;
  if (first || attempt < of->first || (attempt == of->first && series.time_first_us < metric->time_first_us)) {
    of->first = attempt;
    metric->first_type = series.def.type;
    metric->first_bits = series.first_bits;
  }
  if (first || attempt > of->last || (attempt == of->last && series.time_last_us >= metric->time_last_us)) {
    of->last = attempt;
    metric->last_type = series.def.type;
    metric->last_bits = series.last_bits;
    metric->last_step = series.last_step;
  }
  metric->time_first_us = first ? series.time_first_us : std::min(metric->time_first_us, series.time_first_us);
  metric->time_last_us = first ? series.time_last_us : std::max(metric->time_last_us, series.time_last_us);
  metric->points += series.points;
  metric->finite += series.finite;
  metric->nan += series.nan;
  metric->pos_inf += series.pos_inf;
  metric->neg_inf += series.neg_inf;
}

}  // namespace

Value value_of_bits(ValueType type, uint64_t bits) {
  switch (type) {
    case ValueType::kInt64: return std::bit_cast<int64_t>(bits);
    case ValueType::kBool: return bits != 0;
    default: return to_double(type, bits);
  }
}

Value merge_config(const std::vector<WriterSnapshot>& writers) {
  Value config = Value::map();
  for (const Attribute* attribute : in_effect_order(writers, EventType::kConfig)) {
    if (!attribute->key.empty()) {
      config.set_path(attribute->key, attribute->value);
      continue;
    }
    if (const Value::Map* map = attribute->value.as_map())  // a whole map given at once, as init(config=…) does
      for (const auto& [key, value] : *map) config.set_path(key, value);
  }
  return config;
}

Value merge_summary(const std::vector<WriterSnapshot>& writers, const std::vector<MetricInfo>& metrics) {
  Value summary = Value::map();
  for (const MetricInfo& metric : metrics)
    if (metric.points > 0)
      summary.as_map()->emplace_back(metric.name, value_of_bits(metric.last_type, metric.last_bits));
  // Explicit values are gathered by themselves first: a null takes back the explicit value, not the metric's last one.
  Value set = Value::map();
  for (const Attribute* attribute : in_effect_order(writers, EventType::kSummary)) {
    if (attribute->value.is_null()) erase_key(&set, attribute->key);
    else set.set(attribute->key, attribute->value);
  }
  for (auto& [key, value] : *set.as_map()) summary.set(key, value);
  return summary;
}

Value merged_attribute(const std::vector<WriterSnapshot>& writers, std::string_view key) {
  Value out;
  for (const Attribute* attribute : in_effect_order(writers, EventType::kAttribute))
    if (attribute->key == key) out = attribute->value;
  return out;
}

std::vector<MetricInfo> merge_metrics(const std::vector<WriterSnapshot>& writers) {
  struct Merged {
    MetricInfo info;
    ValueAttempts attempts;
  };
  std::map<std::string, Merged> by_name;
  for (const WriterSnapshot& writer : writers) {
    for (const SeriesStats& series : writer.series) {
      Merged& merged = by_name[series.def.name];
      add_series(&merged.info, series, writer.identity.attempt, &merged.attempts);
    }
  }
  std::vector<MetricInfo> out;
  out.reserve(by_name.size());
  for (auto& [name, merged] : by_name) {
    merged.info.name = name;
    out.push_back(std::move(merged.info));
  }
  return out;
}

LossAccount merge_losses(const std::vector<WriterSnapshot>& writers) {
  LossAccount account;
  std::map<LossReason, uint64_t> by_reason;
  for (const WriterSnapshot& writer : writers) {
    account.stored += writer.points;
    account.dropped += writer.dropped;
    if (writer.recovered)
      account.recovered += static_cast<uint64_t>(std::max<int64_t>(0, writer.recovered->int_or("points", 0)));
    for (const Loss& loss : writer.losses) {  // a bad value never became a point: it is no dropped one
      if (loss.reason == LossReason::kRejected) account.rejected_values += loss.count;
      else by_reason[loss.reason] += loss.count;
    }
  }
  account.logged = account.stored + account.dropped;
  for (const auto& [reason, count] : by_reason) account.by_reason.emplace_back(loss_reason_text(reason), count);
  return account;
}

}  // namespace tracker::internal
