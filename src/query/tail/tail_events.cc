// SPDX-License-Identifier: MIT
#include "query/tail/tail_events.h"

#include <algorithm>

#include "query/rows/event_visitor.h"

namespace tracker::internal {
namespace {

LogPosition position_in(const TailCursor& cursor, const Id128& writer) {
  const auto at = cursor.writers.find(writer);
  return at == cursor.writers.end() ? LogPosition() : at->second;
}

bool is_wanted(const TailEventQuery& query, const TailedEvent& event) {
  switch (event.type) {
    case EventType::kText:
      return query.texts && (query.metrics.empty() ||
                             std::find(query.metrics.begin(), query.metrics.end(), event.key) != query.metrics.end());
    case EventType::kConfig:
    case EventType::kSummary:
    case EventType::kAttribute: return query.settings;
    case EventType::kAlert: return query.alerts;
    default: return false;
  }
}

void take(const Event& event, const TailEventQuery& query, const RowSource& source, std::vector<TailedEvent>* out) {
  auto payload = decode_cbor(event.payload);
  if (!payload.ok()) return;
  TailedEvent tailed;
  tailed.type = event.type;
  tailed.key = payload->text_or("key", "");
  if (!is_wanted(query, tailed)) return;
  const bool alert = event.type == EventType::kAlert;
  const Value* value = payload->find(alert ? "title" : event.type == EventType::kText ? "text" : "value");
  if (value == nullptr) return;
  tailed.value = alert ? *payload : *value;
  tailed.has_step = event.has_step;
  tailed.step = event.step;
  tailed.time_us = event.time_us;
  tailed.source = source;
  out->push_back(std::move(tailed));
}

}  // namespace

Result<std::vector<TailedEvent>> read_tail_events(RunView* run, const TailEventQuery& query, const TailCursor& from,
                                                  const TailCursor& to) {
  std::vector<TailedEvent> out;
  const auto any_alert = [](const WriterSnapshot& writer) {
    return std::any_of(writer.attributes.begin(), writer.attributes.end(),
                       [](const Attribute& attribute) { return attribute.type == EventType::kAlert; });
  };
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < run->writers().size() && status.ok(); ++i) {
    if (!query.texts && !query.settings && !(query.alerts && any_alert(run->writers()[i]))) continue;
    const WriterIdentity& who = run->writers()[i].identity;
    LogPosition at = position_in(from, who.writer);
    const LogPosition end = position_in(to, who.writer);
    const RowSource source{who.attempt, who.rank, who.writer};
    EventVisitor visitor(at.seq, end.seq, [&](const Event& event) { take(event, query, source, &out); });
    status = run->reader(i)->read(&at, end, &visitor, &damage);
  }
  run->note_damage(std::move(damage));
  if (!status.ok()) return status;
  return out;
}

}  // namespace tracker::internal
