// SPDX-License-Identifier: MIT
#include "query/texts.h"

#include <fmt/format.h>

#include <algorithm>

namespace tracker::internal {
namespace {

void add_text(const Event& event, const WriterIdentity& writer, const std::string& only, TextsByMetric* out) {
  if (event.type != EventType::kText) return;
  const auto payload = decode_cbor(event.payload);
  if (!payload.ok()) return;  // the frame was sound: a writer of another kind put it there, and it says nothing to us
  const std::string metric = payload->text_or("key", "");
  if (metric.empty() || (!only.empty() && metric != only)) return;
  (*out)[metric].push_back(
      {event.step, event.has_step, event.time_us, writer.attempt, writer.rank, payload->text_or("text", "")});
}

}  // namespace

Status read_texts(const WriterSnapshot& writer, WriterReader* reader, const std::string& only, TextsByMetric* out,
                  std::vector<std::string>* damage) {
  const bool any = std::any_of(writer.attributes.begin(), writer.attributes.end(), [&only](const Attribute& attribute) {
    return attribute.type == EventType::kText && (only.empty() || attribute.key == only);
  });
  if (!any) return Status();  // most runs hold no text: their frames need no reading
  return reader->frames(
      0,
      [&](uint64_t seq, std::string_view bytes) {
        if (seq > writer.last_seq) return false;
        const auto frame = FrameView::parse(bytes, false);
        if (!frame.ok()) {
          if (damage != nullptr)
            damage->push_back(fmt::format("{}: frame {}: {}", reader->path(), seq, frame.status().message()));
          return true;
        }
        for (const Event& event : frame->events()) add_text(event, writer.identity, only, out);
        return true;
      },
      damage);
}

}  // namespace tracker::internal
