// SPDX-License-Identifier: MIT
#include "query/view/merge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "model/value_tree.h"
#include "query/view/attempts.h"
#include "query/view/environment.h"

namespace tracker::internal {
namespace {

// All attributes of one kind in the order they take effect: by time, then by writer id, then as their writer set them.
std::vector<const Attribute*> in_effect_order(const std::vector<WriterSnapshot>& writers, EventType type) {
  struct Setting {
    const Attribute* attribute;
    const Id128* writer;
  };
  std::vector<Setting> entries;
  for (const WriterSnapshot& writer : writers)
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == type) entries.push_back({&attribute, &writer.identity.writer});
  std::stable_sort(entries.begin(), entries.end(), [](const Setting& a, const Setting& b) {
    if (a.attribute->time_us != b.attribute->time_us) return a.attribute->time_us < b.attribute->time_us;
    return *a.writer < *b.writer;
  });
  std::vector<const Attribute*> out;
  for (const Setting& entry : entries) out.push_back(entry.attribute);
  return out;
}

// A map of very many keys that are no paths, in the order in which they were first set; one that was erased is a new
// key when it is set again.
class KeyedValues {
 public:
  bool has(const std::string& key) const { return places_.contains(key); }
  void set(const std::string& key, Value value) {
    const auto [place, is_new] = places_.emplace(key, entries_.size());
    if (is_new) entries_.emplace_back(std::in_place, key, std::move(value));
    else entries_[place->second]->second = std::move(value);
  }
  void erase(const std::string& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    entries_[place->second].reset();
    places_.erase(place);
  }
  Value::Map take() {
    Value::Map out;
    out.reserve(places_.size());
    for (auto& entry : entries_)
      if (entry) out.push_back(std::move(*entry));
    return out;
  }

 private:
  std::vector<std::optional<std::pair<std::string, Value>>> entries_;
  std::unordered_map<std::string, size_t> places_;
};

// The order of what is last: the attempt, there the lower rank, there the time.
std::tuple<int64_t, int64_t, int64_t> last_key(const ShownStats& shown) {
  return {shown.last_attempt, -shown.last_rank, shown.last_time_us};
}

void add_range(const SeriesStats& series, ShownStats* shown) {
  shown->points += series.points;
  shown->nan += series.nan;
  if (series.finite == 0) return;
  shown->min = shown->finite > 0 ? std::min(shown->min, series.min) : series.min;
  shown->max = shown->finite > 0 ? std::max(shown->max, series.max) : series.max;
  shown->sum += series.sum;
  shown->finite += series.finite;
}

// Whether a row that is the first of its attempt so far is the first of all.
bool comes_first(const ShownStats& shown, int64_t attempt, int64_t time_us) {
  return shown.points == 0 ||
         std::make_pair(attempt, time_us) < std::make_pair(shown.first_attempt, shown.first_time_us);
}

void take_first(MetricInfo* metric, int64_t attempt, int64_t time_us, ValueType type, uint64_t bits) {
  metric->shown.first_attempt = attempt;
  metric->shown.first_time_us = time_us;
  metric->first_type = type;
  metric->first_bits = bits;
}

// The part of a series that no resume shadows. Where it is cut in the middle its statistics are of no use.
void add_shown(MetricInfo* metric, const SeriesStats& series, const WriterIdentity& writer, int64_t shown_up_to,
               ShownStats* newest_cut) {
  ShownStats here;
  here.last_attempt = writer.attempt;
  here.last_rank = writer.rank;
  here.last_time_us = series.time_last_us;
  if (series.has_steps && series.step_max > shown_up_to) {
    metric->shown.range_known = false;
    if (newest_cut->last_attempt == 0 || last_key(here) > last_key(*newest_cut)) *newest_cut = here;
    return;
  }
  // What was logged as several types has a series each, and a microsecond may hold rows of two: only the rows show
  // which was first or last.
  const ShownStats& known = metric->shown;
  if (known.points > 0 &&
      (last_key(here) == last_key(known) || std::make_pair(writer.attempt, series.time_first_us) ==
                                                std::make_pair(known.first_attempt, known.first_time_us)))
    metric->shown.range_known = false;
  if (comes_first(metric->shown, writer.attempt, series.time_first_us))
    take_first(metric, writer.attempt, series.time_first_us, series.def.type, series.first_bits);
  const bool is_last = metric->shown.points == 0 || last_key(here) >= last_key(metric->shown);
  add_range(series, &metric->shown);
  if (!is_last) return;
  metric->shown.last_attempt = here.last_attempt;
  metric->shown.last_rank = here.last_rank;
  metric->shown.last_time_us = here.last_time_us;
  metric->last_type = series.def.type;
  metric->last_bits = series.last_bits;
  metric->last_step = series.last_step;
}

// Adds what one writer knows of a series to the metric it belongs to.
void add_series(MetricInfo* metric, const SeriesStats& series) {
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
  metric->time_first_us = first ? series.time_first_us : std::min(metric->time_first_us, series.time_first_us);
  metric->time_last_us = first ? series.time_last_us : std::max(metric->time_last_us, series.time_last_us);
  metric->points += series.points;
  metric->finite += series.finite;
  metric->nan += series.nan;
  metric->pos_inf += series.pos_inf;
  metric->neg_inf += series.neg_inf;
}

// What users said of names and patterns, the last word of each, in the order said.
class MergedDefinitions {
 public:
  explicit MergedDefinitions(const std::vector<WriterSnapshot>& writers) {
    for (const Attribute* attribute : in_effect_order(writers, EventType::kMetric)) {
      const auto definition = MetricDefinition::from_value(attribute->value);
      if (is_pattern(attribute->key)) patterns_.emplace_back(attribute->key, definition);
      else by_name_[attribute->key] = definition;
    }
  }
  MetricDefinition of(const std::string& name) const {
    if (const auto own = by_name_.find(name); own != by_name_.end()) return own->second;
    const auto last = std::find_if(patterns_.rbegin(), patterns_.rend(),
                                   [&name](const auto& pattern) { return matches(pattern.first, name); });
    return last == patterns_.rend() ? MetricDefinition() : last->second;
  }

 private:
  std::map<std::string, MetricDefinition> by_name_;
  std::vector<std::pair<std::string, MetricDefinition>> patterns_;
};

// A float64 of the statistics as a value of the metric's own kind: ints stay ints where the double is exact.
Value value_of_range(const MetricInfo& metric, double v) {
  constexpr double kExactIntegerMax = 9007199254740992.0;
  const bool integers = std::all_of(metric.types.begin(), metric.types.end(), [](ValueType type) {
    return type == ValueType::kInt64 || type == ValueType::kBool;
  });
  if (integers && std::abs(v) <= kExactIntegerMax) return static_cast<int64_t>(v);
  return v;
}

// nullopt: no finite value, so there is none.
std::optional<Value> summary_value(const MetricInfo& metric, SummaryKind kind) {
  const ShownStats& shown = metric.shown;
  const bool low =
      kind == SummaryKind::kMin || (kind == SummaryKind::kBest && metric.definition.goal == Goal::kMinimize);
  if (kind == SummaryKind::kLast)
    return shown.points > 0 ? std::optional<Value>(value_of_bits(metric.last_type, metric.last_bits)) : std::nullopt;
  if (shown.finite == 0) return std::nullopt;
  if (kind == SummaryKind::kMean) return Value(shown.sum / static_cast<double>(shown.finite));
  return value_of_range(metric, low ? shown.min : shown.max);
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
  ValueTree config;
  for (const Attribute* attribute : in_effect_order(writers, EventType::kConfig)) {
    if (!attribute->key.empty()) {
      config.set_path(attribute->key, attribute->value);
      continue;
    }
    if (const Value::Map* map = attribute->value.as_map())  // a whole map given at once, as init(config=…) does
      for (const auto& [key, value] : *map) config.set_path(key, value);
  }
  return config.take();
}

Value merge_summary(const std::vector<WriterSnapshot>& writers, const std::vector<MetricInfo>& metrics) {
  KeyedValues summary;
  Value::Map further;  // "loss.min" of a metric with several kinds; a metric of that name is itself
  for (const MetricInfo& metric : metrics) {
    if (is_system_series(metric.name)) continue;
    const std::vector<SummaryKind>& kinds = metric.definition.summary;
    if (const auto value = summary_value(metric, kinds.empty() ? SummaryKind::kLast : kinds[0]))
      summary.set(metric.name, *value);
    for (size_t i = 0; kinds.size() > 1 && i < kinds.size(); ++i)
      if (const auto value = summary_value(metric, kinds[i]))
        further.emplace_back(metric.name + "." + summary_kind_name(kinds[i]), *value);
  }
  for (auto& [key, value] : further)
    if (!summary.has(key)) summary.set(key, std::move(value));
  // Explicit values are gathered by themselves first: a null takes back the explicit value, not the metric's last one.
  KeyedValues set;
  for (const Attribute* attribute : in_effect_order(writers, EventType::kSummary)) {
    if (attribute->value.is_null()) set.erase(attribute->key);
    else set.set(attribute->key, attribute->value);
  }
  for (auto& [key, value] : set.take()) summary.set(key, std::move(value));
  return summary.take();
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
    ShownStats newest_cut;
  };
  const Shadow shadow(writers);
  const MergedDefinitions definitions(writers);
  std::map<std::string, Merged> by_name;
  for (const WriterSnapshot& writer : writers) {
    const int64_t shown_up_to = shadow.shown_up_to(writer.identity.attempt);
    for (const SeriesStats& series : writer.series) {
      Merged& merged = by_name[series.def.name];
      add_series(&merged.info, series);
      if (series.points > 0) add_shown(&merged.info, series, writer.identity, shown_up_to, &merged.newest_cut);
    }
  }
  std::vector<MetricInfo> out;
  out.reserve(by_name.size());
  for (auto& [name, merged] : by_name) {
    merged.info.name = name;
    merged.info.definition = definitions.of(name);
    ShownStats& shown = merged.info.shown;
    shown.last_known = shown.range_known || (shown.points > 0 && last_key(shown) > last_key(merged.newest_cut));
    out.push_back(std::move(merged.info));
  }
  return out;
}

bool needs_rows(const MetricInfo& metric) { return !metric.shown.last_known || !metric.shown.range_known; }

namespace {

using Reasons = std::map<LossReason, uint64_t>;

uint64_t sum_of(const Reasons& reasons) {
  uint64_t out = 0;
  for (const auto& [reason, count] : reasons) out += count;
  return out;
}

void add_to(Reasons* into, const Reasons& more) {
  for (const auto& [reason, count] : more) (*into)[reason] += count;
}

std::vector<std::pair<std::string, uint64_t>> named(const Reasons& reasons) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const auto& [reason, count] : reasons) out.emplace_back(loss_reason_text(reason), count);
  return out;
}

}  // namespace

std::vector<MetricAccount> merge_losses_by_metric(const std::vector<WriterSnapshot>& writers,
                                                  const std::vector<WaitingPoints>& waiting) {
  struct Account {
    uint64_t stored = 0, pending = 0;
    Reasons dropped;
  };
  std::map<std::string, Account> by_name;
  for (const WriterSnapshot& writer : writers) {
    std::map<uint32_t, std::string> names;
    for (const SeriesStats& series : writer.series) {
      names[series.def.id] = series.def.name;
      by_name[series.def.name].stored += series.points;
    }
    for (const Loss& loss : writer.losses) {
      if (loss.reason == LossReason::kRejected || !is_of_points(loss.series)) continue;  // never became a point
      const auto name = names.find(loss.series);
      by_name[name == names.end() ? "" : name->second].dropped[loss.reason] += loss.count;
    }
  }
  for (const WaitingPoints& journal : waiting) {
    for (const WaitingMetric& metric : journal.metrics) {
      by_name[metric.name].pending += metric.points;
      add_to(&by_name[metric.name].dropped, metric.dropped);
    }
  }
  std::vector<MetricAccount> out;
  for (const auto& [name, account] : by_name)
    out.push_back({name, account.stored, sum_of(account.dropped), account.pending, named(account.dropped)});
  return out;
}

LossAccount merge_losses(const std::vector<WriterSnapshot>& writers, const std::vector<WaitingPoints>& waiting) {
  LossAccount account;
  Reasons by_reason, texts_by_reason, entries_by_reason;
  for (const WriterSnapshot& writer : writers) {
    const OwnPoints own = own_points(writer);
    account.stored += own.stored;
    account.dropped += own.dropped;
    account.texts.stored += writer.texts();
    account.texts.dropped += writer.texts_dropped;
    account.entries.dropped += writer.entries_dropped;
    if (writer.recovered) {
      account.recovered += static_cast<uint64_t>(std::max<int64_t>(0, writer.recovered->int_or("points", 0)));
      account.unread_rings += static_cast<uint64_t>(std::max<int64_t>(0, writer.recovered->int_or("unread", 0)));
    }
    for (const Loss& loss : writer.losses) {  // a bad value never became a point: it is no dropped one
      if (loss.reason == LossReason::kRejected) account.rejected_values += loss.count;
      else if (loss.series == kTextLosses) texts_by_reason[loss.reason] += loss.count;
      else if (loss.series == kEntryLosses) entries_by_reason[loss.reason] += loss.count;
      else by_reason[loss.reason] += loss.count;
    }
  }
  for (const WaitingPoints& journal : waiting) {
    Reasons dropped = journal.dropped;
    if (const auto rejected = dropped.extract(LossReason::kRejected)) account.rejected_values += rejected.mapped();
    account.pending += journal.points;
    account.dropped += sum_of(dropped);
    account.texts.pending += journal.texts;
    account.texts.dropped += sum_of(journal.texts_dropped);
    account.entries.dropped += sum_of(journal.entries_dropped);
    account.unread_rings += journal.unread_rings;
    add_to(&by_reason, dropped);
    add_to(&texts_by_reason, journal.texts_dropped);
    add_to(&entries_by_reason, journal.entries_dropped);
    if (journal.waits() || journal.newer) account.waiting.push_back(journal);
  }
  account.logged = account.stored + account.dropped + account.pending;
  account.texts.logged = account.texts.stored + account.texts.dropped + account.texts.pending;
  account.by_reason = named(by_reason);
  account.texts.by_reason = named(texts_by_reason);
  account.entries.by_reason = named(entries_by_reason);
  return account;
}

}  // namespace tracker::internal
