// SPDX-License-Identifier: MIT
#include "storage/log/event_state.h"

#include <algorithm>

namespace tracker::internal {

std::optional<WriterEnd> end_from_value(const Value& value, int64_t time_us) {
  WriterEnd end;
  end.time_us = time_us;
  end.exit_code = value.int_or("exit_code", 0);
  end.reason = value.text_or("reason", "");
  if (const Value* cost = value.find("cost"); cost != nullptr) end.cost = *cost;
  const std::string state = value.text_or("state", "");
  for (const RunState known :
       {RunState::kFinished, RunState::kFailed, RunState::kInterrupted, RunState::kPreempted, RunState::kCrashed}) {
    if (state != run_state_name(known)) continue;
    end.state = known;
    return end;
  }
  return std::nullopt;
}

void EventState::apply(const std::vector<Event>& events, const std::vector<Loss>& losses) {
  for (const Event& event : events) apply(event);
  for (const Loss& loss : losses) losses_[{loss.series, loss.reason}] += loss.count;
}

void EventState::apply(const Event& event) {
  if (!is_event_type(static_cast<uint8_t>(event.type))) return;
  auto payload = decode_cbor(event.payload);
  if (!payload.ok()) return;
  const std::string key = payload->text_or("key", "");
  const Value* value = payload->find("value");
  switch (event.type) {
    case EventType::kConfig:
      if (value == nullptr) return;
      if (key.empty()) merge("", *value, event.time_us);
      else set(key, *value, event.time_us);
      return;
    case EventType::kSummary:  // flat, as metrics: "a" and "a/b" are two names, "b" is not inside "a"
    case EventType::kAttribute:
    case EventType::kArtifact:
    case EventType::kEnvironment:
    case EventType::kMetric:
      if (value != nullptr && !key.empty()) touch(event.type, key, event.time_us).value = *value;
      return;
    case EventType::kMedia:
    case EventType::kText:
      if (event.has_step) step_max_ = std::max(step_max_.value_or(event.step), event.step);
      touch(event.type, key, event.time_us);
      return;
    case EventType::kAlert: touch(event.type, std::string(alert_key(*payload)), event.time_us); return;
    case EventType::kConsole: touch(event.type, "", event.time_us); return;
    case EventType::kNote:
      if (payload->text_or("kind", "") == "recovered") recovered_ = std::move(*payload);
      else if (payload->text_or("kind", "") == "went_on") recovered_.reset();  // the writer was alive after all
      return;
    case EventType::kEnd: end_ = end_from_value(*payload, event.time_us); return;
  }
}

EventState::Entry& EventState::touch(EventType kind, const std::string& key, int64_t time_us) {
  Entry& entry = entries_[{kind, key}];
  if (entry.count == 0) entry.order = next_order_++;
  entry.time_us = time_us;
  ++entry.count;
  return entry;
}

void EventState::set(const std::string& key, const Value& value, int64_t time_us) {
  // '0' follows '/': all keys that begin with key + "/".
  constexpr EventType kKind = EventType::kConfig;
  entries_.erase(entries_.upper_bound({kKind, key + "/"}), entries_.lower_bound({kKind, key + "0"}));
  touch(kKind, key, time_us).value = value;
}

void EventState::merge(const std::string& prefix, const Value& value, int64_t time_us) {
  const Value::Map* map = value.as_map();
  if (map == nullptr || (map->empty() && !prefix.empty())) {
    if (!prefix.empty()) set(prefix, value, time_us);
    return;
  }
  for (const auto& [name, item] : *map) merge(prefix.empty() ? name : prefix + "/" + name, item, time_us);
}

std::vector<Attribute> EventState::attributes() const {
  std::vector<std::pair<uint64_t, Attribute>> ordered;
  for (const auto& [name, entry] : entries_) {
    Value value = is_counted(name.first) ? Value(entry.count) : entry.value;
    ordered.push_back({entry.order, {name.first, name.second, std::move(value), entry.time_us}});
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Attribute> out;
  for (auto& [order, attribute] : ordered) out.push_back(std::move(attribute));
  return out;
}

std::vector<Loss> EventState::losses() const {
  std::vector<Loss> out;
  for (const auto& [name, count] : losses_) out.push_back({name.first, name.second, count});
  return out;
}

}  // namespace tracker::internal
