// SPDX-License-Identifier: MIT
#include "exchange/export_tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/fs.h"
#include "base/ids.h"
#include "exchange/event_file.h"
#include "exchange/export_internal.h"
#include "exchange/tensorboard_events.h"

namespace tracker::internal {
namespace {

Status write_run(RunView* run, const ExportPlan& plan, const ExportOptions& options, ExportOutput* out) {
  append_event_header(event_seconds(run->created_us()), &out->buffer());
  append_config_event(run->config(), event_seconds(run->created_us()), &out->buffer());
  std::vector<std::string> numbers;
  for (const std::string& name : plan.names)
    if (plan.number_metrics.contains(name)) numbers.push_back(name);
  const auto write_numbers = [&](const std::string& name, const History& history) {
    for (size_t i = 0; i < history.size(); ++i) {
      append_number_event(name, history.row_type(i), history.row_bits(i),
                          history.row_has_step(i) ? history.steps[i] : 0, event_seconds(history.times_us[i]),
                          &out->buffer(), options.float64);
      TRACKER_RETURN_IF_ERROR(out->row_done());
    }
    out->metric_done(plan.points.at(name));
    return Status();
  };
  TRACKER_RETURN_IF_ERROR(visit_histories(run, numbers, options.all, options.group_points_max, write_numbers));
  for (const std::string& name : plan.names) {
    const auto texts = plan.texts.find(name);
    if (texts == plan.texts.end()) continue;
    for (const TextRow& row : texts->second) {
      append_text_event(name, row.text, row.has_step ? row.step : 0, event_seconds(row.time_us), &out->buffer());
      TRACKER_RETURN_IF_ERROR(out->row_done());
    }
  }
  return out->flush();
}

}  // namespace

Result<ExportResult> export_tensorboard(RunView* run, const ExportOptions& options, const std::string& folder,
                                        std::string* file) {
  if (options.wide) return Status(Code::kInvalid, "the wide form is for CSV only");
  auto plan = plan_export(run, options);
  if (!plan.ok()) return plan.status();
  TRACKER_RETURN_IF_ERROR(make_dirs(folder));
  *file = join_path(folder, fmt::format("events.out.tfevents.{:010}.tracker.{}", run->created_us() / 1'000'000,
                                        run->identity().uid.hex()));
  // A name that readers of event files do not match.
  const std::string temporary = join_path(folder, fmt::format("tracker-export.tmp-{:016x}", random_u64()));
  auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!fd.ok()) return fd.status();
  const ExportSink sink = [&fd](std::string_view piece) { return write_all(fd->get(), piece); };
  ExportOutput out(sink, *plan, options.progress);
  Status status = write_run(run, *plan, options, &out);
  if (status.ok() && ::rename(temporary.c_str(), file->c_str()) != 0)
    status = Status::from_errno(errno, "cannot rename the export to", *file);
  if (!status.ok()) remove_file(temporary);
  if (!status.ok()) return status;
  return ExportResult{out.rows(), out.bytes(), std::move(plan->names)};
}

}  // namespace tracker::internal
