// SPDX-License-Identifier: MIT
#include "cli/output/run_json.h"

#include "query/view/attempts.h"
#include "query/view/environment.h"
#include "query/view/merge.h"
#include "query/view/rank_status.h"

namespace tracker::internal {
namespace {

Value count(uint64_t n) { return static_cast<int64_t>(n); }

Value metric_json(const MetricInfo& metric) {
  Value::List types;
  for (const ValueType type : metric.types) types.emplace_back(value_type_name(type));
  Value out = Value::Map{
      {"name", metric.name}, {"types", types}, {"points", count(metric.points)}, {"dropped", count(metric.dropped)}};
  out.set("logged", count(metric.points + metric.dropped));
  if (const Value definition = metric.definition.to_value(); !definition.as_map()->empty())
    out.set("definition", definition);
  if (metric.points == 0) return out;
  if (metric.has_steps) {
    out.set("step_min", metric.step_min);
    out.set("step_max", metric.step_max);
    if (metric.shown.points > 0) out.set("last_step", metric.last_step);
  }
  out.set("time_first_us", metric.time_first_us);
  out.set("time_last_us", metric.time_last_us);
  if (metric.shown.points > 0) out.set("last", value_of_bits(metric.last_type, metric.last_bits));
  if (metric.shown.finite > 0) {
    out.set("min", metric.shown.min);
    out.set("max", metric.shown.max);
  }
  out.set("finite", count(metric.finite));
  out.set("nan", count(metric.nan));
  out.set("pos_inf", count(metric.pos_inf));
  out.set("neg_inf", count(metric.neg_inf));
  return out;
}

const char* liveness_name(Liveness liveness) {
  switch (liveness) {
    case Liveness::kLive: return "live";
    case Liveness::kDead: return "ended";
    case Liveness::kUnknown: return "unknown";
  }
  return "unknown";
}

Value writer_json(const WriterSnapshot& writer, Liveness liveness) {
  const WriterIdentity& identity = writer.identity;
  Value out = Value::Map{{"writer", identity.writer.hex()},
                         {"attempt", identity.attempt},
                         {"rank", identity.rank},
                         {"world_size", identity.world_size},
                         {"host", identity.host},
                         {"pid", identity.pid},
                         {"version", identity.version},
                         {"journal", identity.journal},
                         {"file", writer.frames_file ? "frames" : "sqlite"},
                         {"files", writer.parts},
                         {"written_as", identity.files},
                         {"file_system", identity.file_system},
                         {"started_us", identity.started_us},
                         {"heartbeat_us", writer.heartbeat_us},
                         {"process", liveness_name(liveness)},
                         {"points", count(writer.points)},
                         {"dropped", count(writer.dropped)},
                         {"frames", count(writer.frames)},
                         {"frame_bytes", count(writer.frame_bytes)}};
  if (const WriterEnd* end = writer.known_end())
    out.set(writer.end ? "end" : "unstored_end", Value::Map{{"state", run_state_name(end->state)},
                                                            {"exit_code", end->exit_code},
                                                            {"reason", end->reason},
                                                            {"time_us", end->time_us}});
  if (!writer.cost.is_null()) out.set("cost", writer.cost);
  if (writer.recovered) out.set("recovered", *writer.recovered);
  return out;
}

Value attempt_json(const AttemptInfo& info) {
  const auto step = [](const std::optional<int64_t>& s) { return s ? Value(*s) : Value(); };
  return Value::Map{{"attempt", info.attempt},
                    {"continues", info.continues},
                    {"resume_step", step(info.resume_step)},
                    {"shown_up_to", step(info.shown_up_to)},
                    {"started_us", info.started_us},
                    {"writers", count(info.writers)},
                    {"points", count(info.points)},
                    {"state", info.state},
                    {"last_seen_us", info.last_seen_us}};
}

Value rank_json(const RankStatus& rank) {
  return Value::Map{{"rank", rank.rank},
                    {"attempt", rank.attempt},
                    {"world_size", rank.world_size},
                    {"state", rank.state},
                    {"last_step", rank.last_step ? Value(*rank.last_step) : Value()},
                    {"last_logged_us", rank.last_logged_us != 0 ? Value(rank.last_logged_us) : Value()},
                    {"last_seen_us", rank.last_seen_us},
                    {"points", count(rank.points)},
                    {"dropped", count(rank.dropped)},
                    {"observed", rank.observed},
                    {"host", rank.host},
                    {"pid", rank.pid}};
}

Value reasons_json(const std::vector<std::pair<std::string, uint64_t>>& by_reason) {
  Value out = Value::map();
  for (const auto& [reason, n] : by_reason) out.set(reason, count(n));
  return out;
}

Value losses_json(const LossAccount& account) {
  const LossAccount::Texts& texts = account.texts;
  Value::List waiting;
  for (const WaitingPoints& each : account.waiting) waiting.push_back(waiting_json(each));
  return Value::Map{{"logged", count(account.logged)},
                    {"stored", count(account.stored)},
                    {"dropped", count(account.dropped)},
                    {"pending", count(account.pending)},
                    {"pending_approximate", account.pending_approximate},
                    {"waiting", waiting},
                    {"unseen_user", account.unseen ? Value(int64_t{*account.unseen}) : Value(nullptr)},
                    {"dropped_by_reason", reasons_json(account.by_reason)},
                    {"texts", Value::Map{{"logged", count(texts.logged)},
                                         {"stored", count(texts.stored)},
                                         {"dropped", count(texts.dropped)},
                                         {"pending", count(texts.pending)},
                                         {"dropped_by_reason", reasons_json(texts.by_reason)}}},
                    {"entries", Value::Map{{"dropped", count(account.entries.dropped)},
                                           {"dropped_by_reason", reasons_json(account.entries.by_reason)}}},
                    {"recovered", count(account.recovered)},
                    {"unread_rings", count(account.unread_rings)},
                    {"missing_journals", count(account.missing_journals)},
                    {"rejected_values", count(account.rejected_values)}};
}

Value metric_losses_json(const RunView& run) {
  Value::List out;
  for (const MetricAccount& account : run.losses_by_metric()) {
    if (account.dropped == 0) continue;
    out.push_back(Value::Map{{"metric", account.metric.empty() ? Value() : Value(account.metric)},
                             {"logged", count(account.logged())},
                             {"stored", count(account.stored)},
                             {"dropped", count(account.dropped)},
                             {"pending", count(account.pending)},
                             {"dropped_by_reason", reasons_json(account.by_reason)}});
  }
  return out;
}

}  // namespace

Value text_list(const std::vector<std::string>& lines) {
  Value::List out;
  for (const std::string& line : lines) out.emplace_back(line);
  return out;
}

Value waiting_json(const WaitingPoints& waiting) {
  return Value::Map{{"writer", waiting.writer.writer.hex()},
                    {"host", waiting.writer.host},
                    {"pid", waiting.writer.pid},
                    {"live", waiting.live},
                    {"points", count(waiting.points)},
                    {"texts", count(waiting.texts)},
                    {"unread_rings", count(waiting.unread_rings)}};
}

int64_t duration_us(const RunView& run, int64_t now_us) {
  return (run.ended_us() != 0 ? run.ended_us() : now_us) - run.created_us();
}

Value cost_json(const RunView& run) {
  int64_t call_ns = 0, cpu_ns = 0, memory = 0, written = 0;
  bool any = false;
  for (const WriterSnapshot& writer : run.writers()) {
    if (writer.cost.as_map() == nullptr) continue;
    const auto part = [&writer](const char* key) { return std::max<int64_t>(0, writer.cost.int_or(key, 0)); };
    any = true;
    call_ns += part("call_ns");
    cpu_ns += part("thread_cpu_ns");
    memory = std::max(memory, part("memory_bytes_max"));
    written += part("bytes_written");
  }
  if (!any) return {};
  return Value::Map{
      {"call_ns", call_ns}, {"thread_cpu_ns", cpu_ns}, {"memory_bytes_max", memory}, {"bytes_written", written}};
}

Value run_head_json(const RunView& run) {
  const LossAccount account = run.losses();
  return Value::Map{{"project", run.identity().project},
                    {"id", run.identity().id},
                    {"uid", run.identity().uid.hex()},
                    {"name", run.name()},
                    {"state", run_state_name(run.state())},
                    {"state_detail", run.state_detail()},
                    {"created_us", run.created_us()},
                    {"ended_us", run.ended_us() != 0 ? Value(run.ended_us()) : Value()},
                    {"last_seen_us", run.last_seen_us()},
                    {"points", count(account.stored)},
                    {"dropped", count(account.dropped)},
                    {"texts_dropped", count(account.texts.dropped)},
                    {"entries_dropped", count(account.entries.dropped)},
                    {"unread_rings", count(account.unread_rings)},
                    {"summary", run.summary()},
                    {"dir", run.dir()}};
}

Value run_head_json(const RunRow& run) {
  const CatalogRecord& record = run.record;
  return Value::Map{{"project", record.identity.project},
                    {"id", record.identity.id},
                    {"uid", record.identity.uid.hex()},
                    {"name", record.name},
                    {"state", run_state_name(record.state)},
                    {"state_detail", record.detail},
                    {"created_us", record.identity.created_us},
                    {"ended_us", record.ended_us != 0 ? Value(record.ended_us) : Value()},
                    {"last_seen_us", record.last_seen_us},
                    {"points", count(record.points)},
                    {"dropped", count(record.dropped)},
                    {"texts_dropped", count(record.texts_dropped())},
                    {"entries_dropped", count(record.entries_dropped())},
                    {"unread_rings", count(record.unread_rings())},
                    {"alerts", count(record.count_of(kAlertCount))},
                    {"summary", record.summary},
                    {"dir", run.path}};
}

Value alerts_json(const Alerts& alerts) {
  Value::List list;
  for (const Alert& alert : alerts.alerts) {
    Value entry = Value::Map{{"level", alert_level_name(alert.level)},
                             {"title", alert.title},
                             {"text", alert.text},
                             {"time_us", alert.time_us},
                             {"step", alert.step ? Value(*alert.step) : Value()},
                             {"attempt", alert.source.attempt},
                             {"rank", alert.source.rank}};
    if (alert.cut_bytes > 0) entry.set("cut_bytes", count(alert.cut_bytes));
    list.push_back(std::move(entry));
  }
  return list;
}

Value stop_json(const std::optional<StopRequest>& request) {
  if (!request) return {};
  return Value::Map{{"attempt", request->attempt},
                    {"requested_us", request->requested_us},
                    {"by", request->by},
                    {"reason", request->reason}};
}

Value run_json(const RunView& run, const std::map<std::string, std::vector<TextRow>>& texts, const Alerts& alerts) {
  Value out = run_head_json(run);
  for (const char* key : {"notes", "tags", "group", "job_type"}) out.set(key, run.attribute(key));
  out.set("config", run.config());
  out.set("environment", environment_of(run.writers()));
  Value::List metrics, system, text_metrics, writers;
  for (const MetricInfo& metric : run.metrics())
    (is_system_series(metric.name) ? system : metrics).push_back(metric_json(metric));
  out.set("metrics", metrics);
  out.set("system", system);
  for (const auto& [name, rows] : texts) {  // a resume may have taken all of them back
    Value last = rows.empty() ? Value() : Value(rows.back().text);
    text_metrics.push_back(Value::Map{{"name", name}, {"rows", count(rows.size())}, {"last", std::move(last)}});
  }
  out.set("texts", text_metrics);
  out.set("alerts", alerts_json(alerts));
  out.set("alerts_total", count(alerts.total));
  out.set("alerts_dropped", count(alerts.dropped));
  const auto stop = read_stop_request(run.dir());
  out.set("stop_request", stop_json(stop.ok() ? *stop : std::nullopt));
  Value losses = losses_json(run.losses());
  losses.set("by_metric", metric_losses_json(run));
  out.set("losses", losses);
  out.set("cost", cost_json(run));
  for (size_t i = 0; i < run.writers().size(); ++i) writers.push_back(writer_json(run.writers()[i], run.liveness()[i]));
  out.set("writers", writers);
  Value::List attempts, ranks;
  for (const AttemptInfo& info : run.attempts()) attempts.push_back(attempt_json(info));
  for (const RankStatus& rank : run.ranks()) ranks.push_back(rank_json(rank));
  out.set("attempts", attempts);
  out.set("ranks", ranks);
  return out;
}

}  // namespace tracker::internal
