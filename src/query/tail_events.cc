// SPDX-License-Identifier: MIT
#include "query/tail_events.h"

#include <algorithm>

namespace tracker::internal {
namespace {

uint64_t seq_of(const TailCursor& cursor, const Id128& writer) {
  const auto at = cursor.writers.find(writer);
  return at == cursor.writers.end() ? 0 : at->second.seq;
}

bool is_wanted(const TailEventQuery& query, const TailedEvent& event) {
  switch (event.type) {
    case EventType::kText:
      return query.texts && (query.metrics.empty() ||
                             std::find(query.metrics.begin(), query.metrics.end(), event.key) != query.metrics.end());
    case EventType::kConfig:
    case EventType::kSummary:
    case EventType::kAttribute: return query.settings;
    default: return false;
  }
}

void take(const FrameView& frame, const TailEventQuery& query, const RowSource& source, std::vector<TailedEvent>* out) {
  for (const Event& event : frame.events()) {
    auto payload = decode_cbor(event.payload);
    if (!payload.ok()) continue;
    TailedEvent tailed;
    tailed.type = event.type;
    tailed.key = payload->text_or("key", "");
    if (!is_wanted(query, tailed)) continue;
    const Value* value = payload->find(event.type == EventType::kText ? "text" : "value");
    if (value == nullptr) continue;
    tailed.value = *value;
    tailed.has_step = event.has_step;
    tailed.step = event.step;
    tailed.time_us = event.time_us;
    tailed.source = source;
    out->push_back(std::move(tailed));
  }
}

}  // namespace

Result<std::vector<TailedEvent>> read_tail_events(RunView* run, const TailEventQuery& query, const TailCursor& from,
                                                  const TailCursor& to) {
  std::vector<TailedEvent> out;
  if (!query.texts && !query.settings) return out;
  std::vector<std::string> damage;
  Status status;
  for (size_t i = 0; i < run->writers().size() && status.ok(); ++i) {
    const WriterIdentity& who = run->writers()[i].identity;
    const uint64_t first = seq_of(from, who.writer), last = seq_of(to, who.writer);
    if (last <= first) continue;
    const auto visit = [&](uint64_t seq, std::string_view bytes) {
      if (seq > last) return false;
      auto frame = FrameView::parse(bytes, false);
      if (frame.ok()) take(*frame, query, {who.attempt, who.rank, who.writer}, &out);
      return seq < last;
    };
    status = run->reader(i)->frames(first, visit, &damage);
  }
  run->note_damage(std::move(damage));
  if (!status.ok()) return status;
  return out;
}

}  // namespace tracker::internal
