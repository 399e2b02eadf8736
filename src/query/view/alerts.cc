// SPDX-License-Identifier: MIT
#include "query/view/alerts.h"

#include <algorithm>

#include "model/value.h"
#include "query/rows/event_visitor.h"

namespace tracker::internal {
namespace {

bool has_alerts(const WriterSnapshot& writer) {
  return std::any_of(writer.attributes.begin(), writer.attributes.end(),
                     [](const Attribute& attribute) { return attribute.type == EventType::kAlert; });
}

// A level of a newer version counts as info.
Alert alert_of(const Event& event, const Value& payload, const WriterIdentity& who) {
  Alert out;
  out.source = {who.attempt, who.rank, who.writer};
  out.level = alert_level(payload.text_or("level", "")).value_or(AlertLevel::kInfo);
  out.time_us = event.time_us;
  if (event.has_step) out.step = event.step;
  out.title = payload.text_or("title", "");
  out.text = payload.text_or("text", "");
  out.cut_bytes = static_cast<uint64_t>(std::max<int64_t>(payload.int_or("cut", 0), 0));
  return out;
}

bool is_earlier(const Alert& a, const Alert& b) { return a.time_us < b.time_us; }

// Never more than twice as many as are wanted are held.
void keep_last(std::vector<Alert>* alerts, uint64_t last) {
  std::stable_sort(alerts->begin(), alerts->end(), is_earlier);
  if (alerts->size() > last) alerts->erase(alerts->begin(), alerts->end() - static_cast<ptrdiff_t>(last));
}

}  // namespace

Result<Alerts> read_alerts(RunView* run, uint64_t last) {
  Alerts out;
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < run->writers().size() && status.ok(); ++i) {
    const WriterSnapshot& writer = run->writers()[i];
    if (!has_alerts(writer)) continue;
    uint64_t dropped = 0;
    LogPosition at;
    EventVisitor visitor(0, writer.last_seq, [&](const Event& event) {
      if (event.type != EventType::kAlert) return;
      const auto payload = decode_cbor(event.payload);
      if (!payload.ok()) return;
      if (const int64_t said = payload->int_or("dropped", 0); said > 0) {
        dropped = std::max(dropped, static_cast<uint64_t>(said));
        return;
      }
      ++out.total;
      out.alerts.push_back(alert_of(event, *payload, writer.identity));
      if (out.alerts.size() > 2 * last) keep_last(&out.alerts, last);
    });
    status = run->reader(i)->read(&at, writer.end_of_log(), &visitor, &damage);
    out.dropped += dropped;
  }
  run->note_damage(std::move(damage));
  if (!status.ok()) return status;
  keep_last(&out.alerts, last);
  return out;
}

}  // namespace tracker::internal
