// SPDX-License-Identifier: MIT
#include "query/texts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tracker::internal {
namespace {

// The texts of a log by frames and segments. A segment that was made while the log was read takes the place of what was
// read of its frames.
class TextVisitor : public LogVisitor {
 public:
  TextVisitor(const WriterIdentity& writer, const std::string& only) : writer_(writer), only_(only) {}

  Result<bool> frame(const FrameView& frame) override {
    add(frame.seq(), frame.events());
    return true;
  }
  Result<bool> segment(SegmentView* segment, PointRange*) override {
    SegmentLog log;
    TRACKER_RETURN_IF_ERROR(segment->log(&log));
    std::erase_if(texts_, [segment](const Text& text) { return text.first_seq >= segment->first_seq(); });
    add(segment->first_seq(), log.events);
    return true;
  }

  // Of each metric at most as many as the snapshot counts: a segment may hold later ones.
  void move_to(const WriterSnapshot& writer, TextsByMetric* out) {
    std::map<std::string_view, int64_t> left;
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == EventType::kText && attribute.value.as_int())
        left[attribute.key] = *attribute.value.as_int();
    for (Text& text : texts_) {
      if (left[text.metric]-- <= 0) continue;
      (*out)[text.metric].push_back(std::move(text.row));
    }
  }

 private:
  struct Text {
    uint64_t first_seq = 0;  // of the frame or segment
    std::string metric;
    TextRow row;
  };

  void add(uint64_t first_seq, const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.type != EventType::kText) continue;
      const auto payload = decode_cbor(event.payload);
      if (!payload.ok()) continue;  // the frame was sound: a writer of another kind put it there, and it says nothing
      std::string metric = payload->text_or("key", "");
      if (metric.empty() || (!only_.empty() && metric != only_)) continue;
      texts_.push_back(
          {first_seq,
           std::move(metric),
           {event.step, event.has_step, event.time_us, writer_.attempt, writer_.rank, payload->text_or("text", "")}});
    }
  }

  const WriterIdentity& writer_;
  const std::string& only_;
  std::vector<Text> texts_;
};

}  // namespace

Status read_texts(const WriterSnapshot& writer, WriterReader* reader, const std::string& only, TextsByMetric* out,
                  std::vector<std::string>* damage) {
  const bool any = std::any_of(writer.attributes.begin(), writer.attributes.end(), [&only](const Attribute& attribute) {
    return attribute.type == EventType::kText && (only.empty() || attribute.key == only);
  });
  if (!any) return Status();  // most runs hold no text: their log needs no reading
  TextVisitor visitor(writer.identity, only);
  LogPosition at;
  const Status status = reader->read(&at, writer.end_of_log(), &visitor, damage);
  visitor.move_to(writer, out);
  return status;
}

}  // namespace tracker::internal
