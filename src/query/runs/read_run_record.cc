// SPDX-License-Identifier: MIT
// A run as the catalog keeps it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/clock.h"
#include "model/project_here.h"
#include "query/runs/run_record.h"
#include "query/view/environment.h"
#include "query/view/merge.h"
#include "query/view/run_state.h"

namespace tracker::internal {
namespace {

// A disk that has taken nothing for so long is stuck or full.
constexpr std::chrono::microseconds kWaitingNews = std::chrono::seconds(5);

Value metric_row(const MetricInfo& metric) {
  const ShownStats& shown = metric.shown;  // what a resume shadows is none of them
  const bool any = shown.finite > 0;
  const auto count = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
  return Value::List{shown.points > 0 ? value_of_bits(metric.last_type, metric.last_bits) : Value(),
                     shown.points > 0 ? value_of_bits(metric.first_type, metric.first_bits) : Value(),
                     any ? Value(shown.min) : Value(),
                     any ? Value(shown.max) : Value(),
                     any ? Value(shown.sum / static_cast<double>(shown.finite)) : Value(),
                     count(shown.points),
                     count(shown.nan)};
}

Value metric_rows(const std::vector<MetricInfo>& metrics) {
  Value::Map out;
  for (const MetricInfo& metric : metrics)
    if (metric.points > 0) out.emplace_back(metric.name, metric_row(metric));
  return out;
}

// A document beyond the bound is left out, and the run says so.
void bound_documents(CatalogRecord* record) {
  const std::pair<const char*, Value*> documents[] = {
      {"config", &record->config}, {"summary", &record->summary}, {"metrics", &record->metrics}};
  for (const auto& [name, document] : documents) {
    const size_t bytes = encode_cbor(*document).size();
    if (bytes <= kCatalogDocumentBytesMax) continue;
    *document = Value::map();
    record->problems.push_back(fmt::format("{}/{}: {} of {} bytes is not listed or filtered; at most {}",
                                           record->identity.project, record->identity.id, name, bytes,
                                           kCatalogDocumentBytesMax));
    if (record->problem_code == Code::kOk) record->problem_code = Code::kLimit;
  }
}

// The versions that the run's writers said it made and used, as texts under "outputs" and "inputs".
void take_artifacts(const RunView& view, CatalogRecord* record) {
  std::set<std::string> known;
  uint64_t left_out = 0;
  std::map<std::string, Value::List> lists;
  for (const WriterSnapshot& writer : view.writers())
    for (const Attribute& attribute : writer.attributes) {
      if (attribute.type != EventType::kArtifact) continue;
      const Value& version = attribute.value;
      const std::string use = version.text_or("use", ""), name = version.text_or("name", "");
      const int64_t number = version.int_or("number", -1);
      if ((use != "input" && use != "output") || name.empty() || number < 0) continue;
      // The number is that of the store where it was said, which may be a copy of this one.
      const std::string digest = version.text_or("digest", "");
      const std::string artifact =
          fmt::format("{}/{}", project_here(writer.identity, version.text_or("project", "")), name);
      std::string text = fmt::format("{}:v{}", artifact, number);
      if (!known.insert(use + (digest.empty() ? text : artifact + "@" + digest)).second) continue;
      if (!digest.empty()) text += "@" + digest;
      Value::List& list = lists[use + "s"];
      if (list.size() >= kCatalogArtifactsMax) ++left_out;
      else list.emplace_back(std::move(text));
    }
  for (auto& [use, list] : lists) record->attributes.set(use, Value(std::move(list)));
  if (left_out == 0) return;
  record->problems.push_back(
      fmt::format("{}/{}: {} of its inputs and outputs are not listed or filtered; at most {} each",
                  record->identity.project, record->identity.id, left_out, kCatalogArtifactsMax));
  if (record->problem_code == Code::kOk) record->problem_code = Code::kLimit;
}

// A tag given as one text is a list of one.
Value as_tags(Value tags) { return tags.as_text() != nullptr ? Value(Value::List{std::move(tags)}) : std::move(tags); }

}  // namespace

Result<CatalogRecord> read_run_record(const RunFolder& folder) {
  auto run = RunView::open(folder);
  if (!run.ok()) return run.status();
  const RunView& view = **run;
  CatalogRecord out;
  out.identity = view.identity();
  out.name = view.name();
  out.state = view.state();
  out.detail = view.state_detail();
  out.ended_us = view.ended_us();
  out.last_seen_us = view.last_seen_us();
  const LossAccount account = view.losses();
  out.points = account.stored;
  out.dropped = account.dropped;
  uint64_t alerts = 0;
  for (const WriterSnapshot& writer : view.writers()) alerts += writer.alerts();
  for (const auto& [key, count] : {std::pair{kUnreadRings, account.unread_rings},
                                   {kTextsDropped, account.texts.dropped},
                                   {kEntriesDropped, account.entries.dropped},
                                   {kAlertCount, alerts}})
    if (count > 0) out.attributes.set(key, static_cast<int64_t>(count));
  if (const WriterSnapshot* leader = leading_writer(view.writers())) out.host = leader->identity.host;
  for (const char* key : {"tags", "notes", "group", "job_type", "archived"}) {
    Value value = view.attribute(key);
    if (value.is_null()) continue;
    if (std::string_view(key) == "tags") value = as_tags(std::move(value));
    out.attributes.set(key, std::move(value));
  }
  out.config = view.config();
  out.summary = view.summary();
  out.metrics = metric_rows(metrics_of_kind(view, false));
  const auto& writers = view.writers();
  out.at_rest = !writers.empty() && std::all_of(writers.begin(), writers.end(), [](const WriterSnapshot& writer) {
    return writer.end || writer.recovered;
  });
  out.live = out.state == RunState::kRunning ||
             std::find(view.liveness().begin(), view.liveness().end(), Liveness::kLive) != view.liveness().end();
  // What is on its way for a moment is no news.
  const bool silent = out.last_seen_us < realtime_us() - kWaitingNews.count();
  for (const WaitingPoints& each : account.waiting)
    if (each.waits() && (!each.live || silent)) out.waiting.push_back(each);
  out.live = out.live || account.pending + account.texts.pending > 0;
  out.problems = view.problems();
  out.problem_code = view.problem_code();
  take_artifacts(view, &out);
  bound_documents(&out);
  return out;
}

}  // namespace tracker::internal
