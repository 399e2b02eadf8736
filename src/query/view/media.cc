// SPDX-License-Identifier: MIT
#include "query/view/media.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "model/media.h"
#include "query/rows/event_visitor.h"
#include "query/view/attempts.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kMediaAccountKey = "media_account";

bool holds(const WriterSnapshot& writer, const std::string& name) {
  return std::any_of(writer.attributes.begin(), writer.attributes.end(), [&](const Attribute& attribute) {
    return attribute.type == EventType::kMedia && (name.empty() || attribute.key == name);
  });
}

Status read_writer(RunView* run, size_t index, const std::string& name, std::vector<MediaRow>* out,
                   std::vector<LogDamage>* damage) {
  const WriterSnapshot& writer = run->writers()[index];
  if (!holds(writer, name)) return {};
  const auto take = [&](const Event& event) {
    if (event.type != EventType::kMedia) return;
    const auto payload = decode_cbor(event.payload);
    if (!payload.ok()) return;
    const Value* value = payload->find("value");
    MediaRow row;
    row.name = payload->text_or("key", "");
    if (value == nullptr || !value->is_map() || row.name.empty() || (!name.empty() && row.name != name)) return;
    row.step = event.step;
    row.has_step = event.has_step;
    row.time_us = payload->int_or("time_us", event.time_us);
    row.attempt = writer.identity.attempt;
    row.rank = writer.identity.rank;
    row.writer = index;
    row.call = static_cast<uint64_t>(payload->int_or("call", 0));
    row.kind = value->text_or("kind", "");
    row.value = *value;
    row.file = media_file_name(value->text_or("digest", ""), value->text_or("ext", ""));
    out->push_back(std::move(row));
  };
  LogPosition at;
  EventVisitor visitor(0, writer.last_seq, take);
  return run->reader(index)->read(&at, writer.end_of_log(), &visitor, damage);
}

// Which values of a step are seen: those of the greatest place.
auto place_of(const MediaRow& row) { return std::tuple(row.attempt, -row.rank, row.writer, row.call); }

// By name and step; of each step the values of one call, in the order of the list that they were.
void resolve(const RunView& run, std::vector<MediaRow>* rows) {
  const Shadow shadow(run.writers());
  std::erase_if(*rows, [&](const MediaRow& row) {
    return row.has_step && shadow.any() && row.step > shadow.shown_up_to(row.attempt);
  });
  std::map<std::pair<std::string, int64_t>, decltype(place_of(rows->front()))> best;
  for (const MediaRow& row : *rows) {
    const auto [at, is_new] = best.try_emplace({row.name, row.step}, place_of(row));
    if (!is_new && at->second < place_of(row)) at->second = place_of(row);
  }
  std::erase_if(*rows, [&](const MediaRow& row) { return best.at({row.name, row.step}) != place_of(row); });
  std::stable_sort(rows->begin(), rows->end(), [](const MediaRow& a, const MediaRow& b) {
    return std::tuple(std::string_view(a.name), a.step, a.value.int_or("index", 0)) <
           std::tuple(std::string_view(b.name), b.step, b.value.int_or("index", 0));
  });
}

void add_file(const Value& value, std::vector<MediaFileName>* out) {
  const std::string path = media_file_name(value.text_or("digest", ""), value.text_or("ext", ""));
  if (!path.empty()) out->push_back({path, static_cast<uint64_t>(std::max<int64_t>(0, value.int_or("bytes", 0)))});
}

void add_files(const Value& value, std::vector<MediaFileName>* out) {
  add_file(value, out);
  const Value* masks = value.find("masks");
  if (masks != nullptr && masks->as_map() != nullptr)
    for (const auto& [name, mask] : *masks->as_map()) add_file(mask, out);
}

}  // namespace

Result<std::vector<MediaRow>> read_media(RunView* run, const std::string& name, bool all) {
  std::vector<MediaRow> out;
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < run->writers().size() && status.ok(); ++i) status = read_writer(run, i, name, &out, &damage);
  run->note_damage(std::move(damage));
  if (!status.ok()) return status;
  if (!all) resolve(*run, &out);
  return out;
}

std::vector<std::string> media_names(const RunView& run) {
  std::set<std::string> names;
  for (const WriterSnapshot& writer : run.writers())
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == EventType::kMedia) names.insert(attribute.key);
  return {names.begin(), names.end()};
}

MediaAccount media_account(const RunView& run) {
  MediaAccount out;
  std::map<std::string, uint64_t> reasons;
  const bool is_running = run.state() == RunState::kRunning;
  for (const WriterSnapshot& writer : run.writers()) {
    uint64_t stored = 0, logged = 0, dropped = 0;
    for (const Attribute& attribute : writer.attributes) {
      if (attribute.type == EventType::kMedia) stored += static_cast<uint64_t>(*attribute.value.as_int());
      if (attribute.type != EventType::kAttribute || attribute.key != kMediaAccountKey) continue;
      const auto number = [](const Value* value) {
        return value != nullptr && value->as_int() != nullptr
                   ? static_cast<uint64_t>(std::max<int64_t>(0, *value->as_int()))
                   : 0;
      };
      logged = number(attribute.value.find("logged"));
      dropped = number(attribute.value.find("dropped"));
      const Value* why = attribute.value.find("reasons");
      if (why == nullptr || why->as_map() == nullptr) continue;
      for (const auto& [reason, n] : *why->as_map()) reasons[reason] += number(&n);
    }
    logged = std::max(logged, stored + dropped);
    out.logged += logged;
    out.stored += stored;
    out.dropped += dropped;
    const bool is_over = !is_running || writer.known_end() != nullptr || writer.recovered;
    (is_over ? out.lost : out.pending) += logged - stored - dropped;
  }
  out.by_reason.assign(reasons.begin(), reasons.end());
  return out;
}

Result<std::vector<MediaSummary>> summarize_media(RunView* run) {
  const auto rows = read_media(run, "", false);
  if (!rows.ok()) return rows.status();
  std::vector<MediaSummary> out;
  for (const MediaRow& row : *rows) {
    if (out.empty() || out.back().name != row.name) {
      out.emplace_back();
      out.back().name = row.name;
    }
    MediaSummary& summary = out.back();
    const auto at = std::lower_bound(summary.kinds.begin(), summary.kinds.end(), row.kind);
    if (at == summary.kinds.end() || *at != row.kind) summary.kinds.insert(at, row.kind);
    ++summary.entries;
    for (const MediaFileName& file : files_of_medium(row.value)) summary.bytes += file.bytes;
    if (row.has_step) summary.last_step = summary.has_step ? std::max(summary.last_step, row.step) : row.step;
    summary.has_step |= row.has_step;
  }
  return out;
}

std::vector<MediaFileName> files_of_medium(const Value& value) {
  std::vector<MediaFileName> out;
  add_files(value, &out);
  const Value* pictures = value.find("pictures");  // in the cells of a table
  if (pictures != nullptr && pictures->as_list() != nullptr)
    for (const Value& picture : *pictures->as_list()) add_files(picture, &out);
  return out;
}

}  // namespace tracker::internal
