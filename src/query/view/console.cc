// SPDX-License-Identifier: MIT
#include "query/view/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "model/value.h"
#include "query/rows/event_visitor.h"

namespace tracker::internal {
namespace {

bool flag(const Value& payload, std::string_view key) {
  const Value* value = payload.find(key);
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

constexpr uint64_t kFramesFirst = 256;  // from the end, read for the last few lines; then twice as many

bool has_console(const WriterSnapshot& writer) {
  return std::any_of(writer.attributes.begin(), writer.attributes.end(),
                     [](const Attribute& attribute) { return attribute.type == EventType::kConsole; });
}

// The lines of one stream of one writer, those that come last.
class StreamLines {
 public:
  StreamLines(const RowSource& source, int stream, const ConsoleQuery& query)
      : source_(source), stream_(stream), query_(query) {}

  void take(const Value& payload, int64_t time_us) {
    const std::string text = payload.text_or("text", "");
    ConsoleLine line;
    line.source = source_;
    line.stream = stream_;
    line.number = static_cast<uint64_t>(payload.int_or("line", 0));
    line.time_us = time_us;
    line.updates = static_cast<uint64_t>(payload.int_or("updates", 0));
    line.cut_bytes = static_cast<uint64_t>(payload.int_or("cut", 0));
    line.no_room = flag(payload, "no_room");
    line.open = flag(payload, "open");
    line.joined = flag(payload, "joined");
    for (size_t at = 0;; ++line.number) {
      const size_t end = std::min(text.find('\n', at), text.size());
      line.text = text.substr(at, end - at);
      put(line);
      if (end == text.size()) break;
      at = end + 1;
    }
  }

  uint64_t total() const { return dropped_ + lines_.size(); }
  std::deque<ConsoleLine>& lines() { return lines_; }
  // Those that can still change are kept whatever they hold; at the end they count only if they are wanted.
  void drop_unwanted() {
    std::erase_if(lines_, [this](const ConsoleLine& line) { return !wanted(line); });
    while (lines_.size() > query_.last) drop_first();
  }

 private:
  bool wanted(const ConsoleLine& line) const {
    return query_.contains.empty() || line.text.find(query_.contains) != std::string::npos;
  }

  void drop_first() {
    if (wanted(lines_.front())) ++dropped_;
    lines_.pop_front();
  }

  void put(const ConsoleLine& line) {
    const auto at = std::lower_bound(lines_.begin(), lines_.end(), line.number,
                                     [](const ConsoleLine& each, uint64_t number) { return each.number < number; });
    if (at != lines_.end() && at->number == line.number) {
      const int64_t first_us = at->time_us;
      *at = line;
      at->time_us = first_us;
      return;
    }
    if (at == lines_.begin() && dropped_any_) return;  // older than what is kept
    lines_.insert(at, line);
    if (!query_.contains.empty() && lines_.size() > kRowsThatChange) {
      const auto final_line = lines_.end() - kRowsThatChange - 1;
      if (!wanted(*final_line)) lines_.erase(final_line);
    }
    if (lines_.size() <= std::max(query_.last, kRowsThatChange)) return;
    drop_first();
    dropped_any_ = true;
  }

  static constexpr size_t kRowsThatChange = 64;  // more than a writer goes back
  const RowSource source_;
  const int stream_;
  const ConsoleQuery& query_;
  std::deque<ConsoleLine> lines_;
  uint64_t dropped_ = 0;
  bool dropped_any_ = false;
};

// The lines of one writer, from its frame `after` on.
class WriterLines {
 public:
  WriterLines(const WriterSnapshot& writer, const ConsoleQuery& query)
      : writer_(writer),
        query_(query),
        source_{writer.identity.attempt, writer.identity.rank, writer.identity.writer},
        streams_{{source_, 1, query}, {source_, 2, query}} {}

  Status read(WriterReader* reader, uint64_t after, std::vector<LogDamage>* damage) {
    LogPosition at{after, 0};
    EventVisitor visitor(after, writer_.last_seq, [this](const Event& event) { take(event); });
    TRACKER_RETURN_IF_ERROR(reader->read(&at, writer_.end_of_log(), &visitor, damage));
    for (StreamLines& stream : streams_) stream.drop_unwanted();
    return {};
  }

  uint64_t total() const { return streams_[0].total() + streams_[1].total(); }
  void move_to(std::vector<ConsoleLine>* out) {
    for (StreamLines& stream : streams_)
      std::move(stream.lines().begin(), stream.lines().end(), std::back_inserter(*out));
  }

 private:
  void take(const Event& event) {
    if (event.type != EventType::kConsole) return;
    const auto payload = decode_cbor(event.payload);
    if (!payload.ok()) return;
    const int64_t stream = payload->int_or("stream", 0);
    if (stream < 1 || stream > 2 || (query_.stream != 0 && query_.stream != stream)) return;
    streams_[stream - 1].take(*payload, event.time_us);
  }

  const WriterSnapshot& writer_;
  const ConsoleQuery& query_;
  const RowSource source_;
  StreamLines streams_[2];
};

}  // namespace

Result<ConsoleOutput> read_console(RunView* run, const ConsoleQuery& query) {
  ConsoleOutput out;
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < run->writers().size() && status.ok(); ++i) {
    const WriterSnapshot& writer = run->writers()[i];
    if ((query.rank && *query.rank != writer.identity.rank) || !has_console(writer)) continue;
    for (uint64_t frames = kFramesFirst;; frames *= 2) {
      const bool all = query.count || frames >= writer.last_seq;
      WriterLines lines(writer, query);
      std::vector<LogDamage> found;
      status = lines.read(run->reader(i), all ? 0 : writer.last_seq - frames, &found);
      if (status.ok() && !all && lines.total() < query.last) continue;
      damage.insert(damage.end(), found.begin(), found.end());
      out.total += lines.total();
      lines.move_to(&out.lines);
      break;
    }
  }
  run->note_damage(std::move(damage));
  if (!status.ok()) return status;
  std::stable_sort(out.lines.begin(), out.lines.end(),
                   [](const ConsoleLine& a, const ConsoleLine& b) { return a.time_us < b.time_us; });
  if (out.lines.size() > query.last)
    out.lines.erase(out.lines.begin(), out.lines.end() - static_cast<ptrdiff_t>(query.last));
  return out;
}

std::string console_text(const ConsoleLine& line) {
  if (line.cut_bytes > 0)
    return fmt::format(
        "[{} bytes are missing here: {}]", line.cut_bytes,
        line.no_room ? "they found no room on their way to the store" : "more was written than is recorded a minute");
  return line.text;
}

}  // namespace tracker::internal
