// SPDX-License-Identifier: MIT
// Projects and runs: lists, one run, what has changed.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "artifact/lineage.h"
#include "base/clock.h"
#include "query/runs/runs_query.h"
#include "query/view/attempts.h"
#include "query/view/environment.h"
#include "query/view/merge.h"
#include "query/view/rank_status.h"
#include "query/view/run_state.h"
#include "server/service_impl.h"

namespace tracker::internal {
namespace {

Value time_or_null(int64_t us) { return us != 0 ? Value(us) : Value(); }

Value seconds_value(int64_t us) { return Value(static_cast<double>(us) / 1e6); }

Value or_null(const Value& map, std::string_view key) {
  const Value* found = map.find(key);
  return found != nullptr ? *found : Value();
}

// A run as in the catalog. Fields that need the run's own files are null.
Value wire_row(const RunRow& row, int64_t now_us) {
  const CatalogRecord& record = row.record;
  const int64_t end_us = record.ended_us != 0 ? record.ended_us : now_us;
  Value out = Value::Map{{"uid", record.identity.uid.hex()},
                         {"id", record.identity.id},
                         {"project", record.identity.project},
                         {"name", record.name},
                         {"state", run_state_name(record.state)},
                         {"created_us", record.identity.created_us},
                         {"started_us", Value()},
                         {"ended_us", time_or_null(record.ended_us)},
                         {"duration_s", seconds_value(end_us - record.identity.created_us)}};
  for (const char* key : {"tags", "group", "job_type", "notes"}) out.set(key, or_null(record.attributes, key));
  out.set("host", record.host);
  for (const char* key : {"attempts", "ranks"}) out.set(key, Value());
  out.set("points", count_value(record.points));
  out.set("dropped", count_value(record.dropped));
  out.set("step", Value());
  out.set("last_us", record.last_seen_us);
  out.set("exit_code", Value());
  out.set("reason", record.detail);
  return out;
}

// Sets what `columns=` asked for, by its key below "config", "summary" or "metrics".
void set_columns(const std::vector<FilterField>& fields, const RunRow& row, Value* out) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const char* where = fields[i].id == FilterFieldId::kConfig    ? "config"
                        : fields[i].id == FilterFieldId::kSummary ? "summary"
                        : fields[i].id == FilterFieldId::kMetrics ? "metrics"
                                                                  : nullptr;
    if (where == nullptr || !row.columns[i]) continue;
    Value map = or_null(*out, where).is_map() ? *out->find(where) : Value::map();
    const std::string stat =
        fields[i].stat == MetricStat::kLast ? "" : std::string(".") + metric_stat_name(fields[i].stat);
    map.set(fields[i].key + stat, *row.columns[i]);
    out->set(where, std::move(map));
  }
}

Value wire_version(const LineageEdge& edge) {
  return Value::Map{{"project", edge.project},      {"name", edge.name},     {"type", edge.type},
                    {"digest", edge.content.hex()}, {"use_as", edge.use_as}, {"time_us", edge.time_us}};
}

Value wire_writer(const WriterSnapshot& writer, Liveness liveness) {
  const WriterIdentity& identity = writer.identity;
  const WriterEnd* end = writer.known_end();
  const OwnPoints own = own_points(writer);  // without samples of the system
  return Value::Map{{"writer", identity.writer.hex()},
                    {"attempt", identity.attempt},
                    {"rank", identity.rank},
                    {"world_size", identity.world_size},
                    {"host", identity.host},
                    {"pid", identity.pid},
                    {"version", identity.version},
                    {"started_us", identity.started_us},
                    {"heartbeat_us", writer.heartbeat_us},
                    {"state", writer_state_text(writer, liveness, realtime_us())},
                    {"ended_us", end != nullptr ? Value(end->time_us) : Value()},
                    {"points", count_value(own.stored)},
                    {"dropped", count_value(own.dropped)}};
}

Value wire_reasons(const std::vector<std::pair<std::string, uint64_t>>& by_reason) {
  Value out = Value::map();
  for (const auto& [reason, n] : by_reason) out.set(reason, count_value(n));
  return out;
}

Value wire_losses(const LossAccount& account, uint64_t quarantined) {
  return Value::Map{{"logged", count_value(account.logged)},
                    {"stored", count_value(account.stored)},
                    {"dropped", count_value(account.dropped)},
                    {"pending", count_value(account.pending)},
                    {"dropped_by_reason", wire_reasons(account.by_reason)},
                    {"texts_dropped", count_value(account.texts.dropped)},
                    {"entries_dropped", count_value(account.entries.dropped)},
                    {"rejected_values", count_value(account.rejected_values)},
                    {"recovered", count_value(account.recovered)},
                    {"unread_rings", count_value(account.unread_rings)},
                    {"missing_journals", count_value(account.missing_journals)},
                    {"quarantined", count_value(quarantined)}};
}

Value largest_step(const RunView& run) {
  std::optional<int64_t> out;
  for (const RankStatus& rank : run.ranks())
    if (rank.last_step && (!out || *rank.last_step > *out)) out = rank.last_step;
  return out ? Value(*out) : Value();
}

Value wire_run(const RunView& run, uint64_t quarantined) {
  const WriterSnapshot* leader = leading_writer(run.writers());
  const WriterEnd* end = leader != nullptr ? leader->known_end() : nullptr;
  const LossAccount account = run.losses();
  const int64_t end_us = run.ended_us() != 0 ? run.ended_us() : realtime_us();
  Value out = Value::Map{{"uid", run.identity().uid.hex()},
                         {"id", run.identity().id},
                         {"project", run.identity().project},
                         {"name", run.name()},
                         {"state", run_state_name(run.state())},
                         {"created_us", run.created_us()},
                         {"started_us", leader != nullptr ? Value(leader->identity.started_us) : Value()},
                         {"ended_us", time_or_null(run.ended_us())},
                         {"duration_s", seconds_value(end_us - run.created_us())}};
  for (const char* key : {"tags", "group", "job_type", "notes"}) out.set(key, run.attribute(key));
  out.set("host", leader != nullptr ? leader->identity.host : "");
  out.set("attempts", count_value(run.attempts().size()));
  out.set("ranks", count_value(run.ranks().size()));
  out.set("points", count_value(account.stored));
  out.set("dropped", count_value(account.dropped));
  out.set("step", largest_step(run));
  out.set("last_us", run.last_seen_us());
  out.set("exit_code", end != nullptr ? Value(end->exit_code) : Value());
  out.set("reason", run.state_detail());
  out.set("config", run.config());
  out.set("summary", run.summary());
  Value attributes = Value::map();
  for (const WriterSnapshot& writer : run.writers())
    for (const Attribute& each : writer.attributes)
      if (each.type == EventType::kAttribute) attributes.set(each.key, run.attribute(each.key));
  out.set("attributes", std::move(attributes));
  Value::List writers, inputs, outputs, problems;
  for (size_t i = 0; i < run.writers().size(); ++i) writers.push_back(wire_writer(run.writers()[i], run.liveness()[i]));
  for (const LineageEdge& edge : edges_of_run({run.identity(), run.dir()}))
    (edge.use == ArtifactUse::kInput ? inputs : outputs).push_back(wire_version(edge));
  for (const std::string& problem : run.problems()) problems.emplace_back(problem);
  out.set("writers", std::move(writers));
  out.set("inputs", std::move(inputs));
  out.set("outputs", std::move(outputs));
  out.set("losses", wire_losses(account, quarantined));
  out.set("problems", std::move(problems));
  return out;
}

}  // namespace

Response Service::Impl::projects(const Call& call) {
  RunsQuery query;
  query.project = call.project();
  const auto list = query_runs(store, query);
  if (!list.ok()) return error_response(list.status());
  struct Project {
    uint64_t runs = 0, running = 0;
    int64_t last_us = 0;
  };
  std::map<std::string, Project> projects;
  for (const RunRow& row : list->rows) {
    Project& project = projects[row.record.identity.project];
    ++project.runs;
    project.running += row.record.state == RunState::kRunning ? 1u : 0u;
    project.last_us = std::max(project.last_us, row.record.last_seen_us);
  }
  Value::List out;
  for (const auto& [name, project] : projects)
    out.push_back(Value::Map{{"project", name},
                             {"runs", count_value(project.runs)},
                             {"running", count_value(project.running)},
                             {"last_us", project.last_us}});
  return json_response(Value::Map{{"projects", out}});
}

Response Service::Impl::list_runs(const Call& call) {
  const auto page = page_of(call);
  if (!page.ok()) return error_response(page.status());
  RunsQuery query;
  query.project = call.project();
  query.where = call.text("where");
  query.sort = call.text("sort");
  query.offset = page->offset;
  query.limit = page->limit;
  FilterError where;
  if (const std::string columns = call.text("columns"); !columns.empty()) {
    auto parsed = parse_columns(columns, &where);
    if (!parsed.ok()) return error_response(parsed.status());
    query.columns = std::move(*parsed);
  }
  VersionNumbers numbers(store);
  query.version_name = [&numbers](const std::string& name) { return numbers.name_of(name); };
  const auto list = query_runs(store, query, &where);
  if (!list.ok()) return error_response(list.status());
  const int64_t now_us = realtime_us();
  Value::List out;
  for (const RunRow& row : list->rows) {
    if (page->limit == 0) break;
    runs.note(row.run_folder());
    Value one = wire_row(row, now_us);
    set_columns(query.columns, row, &one);
    out.push_back(std::move(one));
  }
  return json_response(Value::Map{{"total", count_value(list->matched)}, {"runs", std::move(out)}});
}

Response Service::Impl::run(const Call& call) {
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  return json_response(wire_run(**view, ingest != nullptr ? ingest->quarantined(call.uid) : 0));
}

Response Service::Impl::changed(const Call& call) {
  const auto found = changes.since(call.text("cursor"), call.project(), &runs);
  if (!found.ok()) return error_response(found.status());
  Value::List uids;
  for (const Id128& uid : found->runs) uids.emplace_back(uid.hex());
  Value out = Value::Map{{"cursor", found->cursor}, {"runs", std::move(uids)}, {"projects", found->projects}};
  if (found->has_more) out.set("more", true);
  return json_response(out);
}

}  // namespace tracker::internal
