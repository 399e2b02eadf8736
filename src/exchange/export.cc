// SPDX-License-Identifier: MIT
#include "exchange/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "exchange/export_internal.h"
#include "exchange/row_text.h"
#include "model/did_you_mean.h"
#include "query/view/attempts.h"
#include "query/view/merge.h"
#include "query/view/visit.h"

namespace tracker::internal {
namespace {

Status check_options(const ExportOptions& options) {
  if (!options.wide) return Status();
  if (options.format != ExportFormat::kCsv) return Status(Code::kInvalid, "the wide form is for CSV only");
  if (options.all) return Status(Code::kInvalid, "the wide form has one row a step: it cannot show all rows");
  return Status();
}

using Types = std::map<std::string, ValueType>;  // by metric: the first type that it was logged with

Types types_of(const RunView& run) {
  Types out;
  for (const MetricInfo& metric : run.stored_metrics())
    if (!metric.types.empty()) out[metric.name] = metric.types.front();
  return out;
}

// The first line of an export of a whole run.
std::string run_line(const RunView& run, const Types& types) {
  const RunIdentity& who = run.identity();
  Value attributes = Value::map(), type_names = Value::map(), definitions = Value::map();
  for (const std::string_view key : {std::string_view("name"), std::string_view("notes"), std::string_view("tags"),
                                     std::string_view("group"), std::string_view("job_type"), kDuplicatePolicyKey})
    if (Value value = run.attribute(std::string(key)); !value.is_null()) attributes.set(key, std::move(value));
  for (const auto& [name, type] : types) type_names.set(name, value_type_name(type));
  for (const WriterSnapshot& writer : run.writers())
    for (const Attribute& said : writer.attributes)
      if (said.type == EventType::kMetric) definitions.set(said.key, said.value);
  return to_json(Value::Map{{"run", Value::Map{{"project", who.project},
                                               {"id", who.id},
                                               {"uid", who.uid.hex()},
                                               {"state", run_state_name(run.state())},
                                               {"created_us", run.created_us()},
                                               {"ended_us", run.ended_us()},
                                               {"attributes", std::move(attributes)},
                                               {"config", run.config()},
                                               {"summary", merge_summary(run.writers(), {})},
                                               {"metrics", std::move(definitions)},
                                               {"types", std::move(type_names)}}}}) +
         "\n";
}

Status write_numbers(const std::string& name, const History& history, ExportFormat format,
                     std::optional<ValueType> declared, ExportOutput* out) {
  const std::string name_text = format == ExportFormat::kCsv ? csv_field(name) : json_text(name);
  for (size_t i = 0; i < history.size(); ++i) {
    const RowSource& source = history.row_source(i);
    const std::string value = format == ExportFormat::kCsv ? number_text(history.row_type(i), history.row_bits(i))
                                                           : json_number(history.row_type(i), history.row_bits(i));
    const std::string more =
        format == ExportFormat::kCsv ? "" : json_more(history.row_type(i), history.row_bits(i), declared);
    append_row(format,
               {name_text, history.row_has_step(i), history.steps[i], history.times_us[i], source.rank, source.attempt,
                value, more},
               &out->buffer());
    TRACKER_RETURN_IF_ERROR(out->row_done());
  }
  return Status();
}

Status write_texts(const std::string& name, const std::vector<TextRow>& rows, ExportFormat format, ExportOutput* out) {
  const std::string name_text = format == ExportFormat::kCsv ? csv_field(name) : json_text(name);
  for (const TextRow& row : rows) {
    const std::string value = format == ExportFormat::kCsv ? csv_text(row.text) : json_text(row.text);
    append_row(format,
               {name_text, row.has_step, row.step, row.time_us, row.rank, row.attempt, value, json_text_more(row.text)},
               &out->buffer());
    TRACKER_RETURN_IF_ERROR(out->row_done());
  }
  return Status();
}

Status export_long(RunView* run, const ExportPlan& plan, const ExportOptions& options, ExportOutput* out) {
  if (options.format == ExportFormat::kCsv) out->buffer().append(kCsvLongHeader);
  const bool has_run = options.format == ExportFormat::kJsonl && options.run_line;
  const Types types = has_run ? types_of(*run) : Types();
  if (has_run) out->buffer().append(run_line(*run, types));
  std::vector<std::string> numbers;
  for (const std::string& name : plan.names)
    if (plan.number_metrics.contains(name)) numbers.push_back(name);
  TRACKER_RETURN_IF_ERROR(visit_histories(
      run, numbers, options.all, options.group_points_max, [&](const std::string& name, const History& history) {
        const auto type = types.find(name);
        const Status status = write_numbers(name, history, options.format,
                                            type == types.end() ? std::nullopt : std::optional(type->second), out);
        out->metric_done(plan.points.at(name));
        return status;
      }));
  for (const std::string& name : plan.names) {
    const auto texts = plan.texts.find(name);
    if (texts != plan.texts.end()) TRACKER_RETURN_IF_ERROR(write_texts(name, texts->second, options.format, out));
  }
  return Status();
}

}  // namespace

ExportOutput::ExportOutput(const ExportSink& sink, const ExportPlan& plan, const ExportProgress& progress)
    : sink_(sink), progress_(progress) {
  for (const std::string& name : plan.names) {
    if (const auto points = plan.points.find(name); points != plan.points.end()) total_ += points->second;
    if (const auto texts = plan.texts.find(name); texts != plan.texts.end()) total_ += texts->second.size();
  }
}

Status ExportOutput::flush() {
  bytes_ += buffer_.size();
  const Status status = buffer_.empty() ? Status() : sink_(buffer_);
  buffer_.clear();
  if (progress_) progress_(std::min(done_, total_), total_);
  return status;
}

Result<ExportPlan> plan_export(RunView* run, const ExportOptions& options) {
  ExportPlan plan;
  auto texts = run->texts_by_metric(options.all);
  if (!texts.ok()) return texts.status();
  plan.texts = std::move(*texts);
  std::set<std::string> known;
  for (const MetricInfo& metric : run->metrics()) {
    known.insert(metric.name);
    plan.number_metrics.insert(metric.name);
    plan.points[metric.name] = metric.points;
  }
  for (const auto& [name, rows] : plan.texts) known.insert(name);
  if (options.metrics.empty()) {
    plan.names.assign(known.begin(), known.end());
    return plan;
  }
  for (const std::string& name : options.metrics) {
    if (!known.contains(name))
      return Status(Code::kNotFound,
                    fmt::format("run {}/{} has no metric \"{}\"{}", run->identity().project, run->identity().id, name,
                                did_you_mean(name, {known.begin(), known.end()})));
    if (std::find(plan.names.begin(), plan.names.end(), name) == plan.names.end()) plan.names.push_back(name);
  }
  return plan;
}

Result<ExportResult> export_run(RunView* run, const ExportOptions& options, const ExportSink& sink) {
  TRACKER_RETURN_IF_ERROR(check_options(options));
  auto plan = plan_export(run, options);
  if (!plan.ok()) return plan.status();
  ExportOutput out(sink, *plan, options.progress);
  TRACKER_RETURN_IF_ERROR(options.wide ? export_wide(run, *plan, &out) : export_long(run, *plan, options, &out));
  TRACKER_RETURN_IF_ERROR(out.flush());
  return ExportResult{out.rows(), out.bytes(), std::move(plan->names)};
}

}  // namespace tracker::internal
