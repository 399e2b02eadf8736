// SPDX-License-Identifier: MIT
#include "query/view/texts.h"

#include <algorithm>
#include <utility>

#include "query/rows/event_visitor.h"

namespace tracker::internal {

Status read_texts(const WriterSnapshot& writer, WriterReader* reader, const std::string& only, TextsByMetric* out,
                  std::vector<LogDamage>* damage) {
  const bool any = std::any_of(writer.attributes.begin(), writer.attributes.end(), [&only](const Attribute& attribute) {
    return attribute.type == EventType::kText && (only.empty() || attribute.key == only);
  });
  if (!any) return Status();  // most runs hold no text: their log needs no reading
  const auto take = [&](const Event& event) {
    if (event.type != EventType::kText) return;
    const auto payload = decode_cbor(event.payload);
    if (!payload.ok()) return;  // the frame was sound: a writer of another kind put it there, and it says nothing
    const std::string metric = payload->text_or("key", "");
    if (metric.empty() || (!only.empty() && metric != only)) return;
    (*out)[metric].push_back({event.step, event.has_step, event.time_us, writer.identity.attempt, writer.identity.rank,
                              payload->text_or("text", ""), writer.identity.writer});
  };
  LogPosition at;
  EventVisitor visitor(0, writer.last_seq, take);
  return reader->read(&at, writer.end_of_log(), &visitor, damage);
}

}  // namespace tracker::internal
