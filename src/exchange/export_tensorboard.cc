// SPDX-License-Identifier: MIT
#include "exchange/export_tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdio>

#include "base/fs.h"
#include "base/ids.h"
#include "exchange/event_file.h"
#include "exchange/export_internal.h"
#include "exchange/wire.h"

namespace tracker::internal {
namespace {

constexpr const char* kFileVersion = "brain.Event:2";

double seconds_of(int64_t time_us) { return static_cast<double>(time_us) / 1e6; }

void append_number(const std::string& name, ValueType type, uint64_t bits, int64_t step, double time,
                   std::string* out) {
  if (type == ValueType::kFloat64 || type == ValueType::kFloat32) {
    append_scalar_event(name, type, bits, step, time, out);
  } else if (type != ValueType::kInt64) {
    append_scalar_event(name, ValueType::kFloat32, bits_of(static_cast<float>(to_double(type, bits))), step, time, out);
  } else {
    const auto whole = std::bit_cast<int64_t>(bits);
    const auto number = static_cast<double>(whole);
    const bool exact = number < 0x1p63 && static_cast<int64_t>(number) == whole;
    append_scalar_event(name, exact ? ValueType::kFloat64 : type, exact ? bits_of(number) : bits, step, time, out);
  }
}

// One of config's leaves as an entry of hparams: what TensorBoard has no type for is shown as JSON.
void append_hparams(const std::string& path, const Value& value, std::string* out) {
  if (const auto* map = value.as_map(); map != nullptr && !map->empty()) {
    for (const auto& [key, below] : *map) append_hparams(path.empty() ? key : path + "/" + key, below, out);
    return;
  }
  std::string proto, entry;
  if (const bool* truth = value.as_bool()) wire_varint(4, *truth ? 1 : 0, &proto);
  else if (const int64_t* whole = value.as_int()) wire_fixed64(2, bits_of(static_cast<double>(*whole)), &proto);
  else if (const double* number = value.as_double()) wire_fixed64(2, bits_of(*number), &proto);
  else wire_bytes(3, value.as_text() != nullptr ? *value.as_text() : to_json(value), &proto);
  wire_bytes(1, path, &entry);
  wire_bytes(2, proto, &entry);
  wire_bytes(1, entry, out);
}

std::string config_event(const RunView& run) {
  const Value config = run.config();
  std::string info, data, plugin, metadata, value, summary, event, out;
  append_hparams("", config, &info);
  if (info.empty()) return out;
  wire_bytes(3, info, &data);
  wire_bytes(1, "hparams", &plugin);
  wire_bytes(2, data, &plugin);
  wire_bytes(1, plugin, &metadata);
  wire_bytes(1, "_hparams_/session_start_info", &value);
  wire_bytes(9, metadata, &value);
  wire_bytes(1, value, &summary);
  wire_fixed64(1, bits_of(seconds_of(run.created_us())), &event);
  wire_bytes(5, summary, &event);
  append_event_record(event, &out);
  return out;
}

Status write_run(RunView* run, const ExportPlan& plan, const ExportOptions& options, ExportOutput* out) {
  std::string first;
  wire_fixed64(1, bits_of(seconds_of(run->created_us())), &first);
  wire_bytes(3, kFileVersion, &first);
  append_event_record(first, &out->buffer());
  out->buffer() += config_event(*run);
  std::vector<std::string> numbers;
  for (const std::string& name : plan.names)
    if (plan.number_metrics.contains(name)) numbers.push_back(name);
  const auto write_numbers = [out](const std::string& name, const History& history) {
    for (size_t i = 0; i < history.size(); ++i) {
      append_number(name, history.row_type(i), history.row_bits(i), history.row_has_step(i) ? history.steps[i] : 0,
                    seconds_of(history.times_us[i]), &out->buffer());
      TRACKER_RETURN_IF_ERROR(out->row_done());
    }
    return Status();
  };
  TRACKER_RETURN_IF_ERROR(visit_histories(run, numbers, options.all, options.group_points_max, write_numbers));
  for (const std::string& name : plan.names) {
    const auto texts = plan.texts.find(name);
    if (texts == plan.texts.end()) continue;
    for (const TextRow& row : texts->second) {
      append_text_event(name, row.text, row.has_step ? row.step : 0, seconds_of(row.time_us), &out->buffer());
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
  // A name that readers of event files do not take for one.
  const std::string temporary = join_path(folder, fmt::format("tracker-export.tmp-{:016x}", random_u64()));
  auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (!fd.ok()) return fd.status();
  const ExportSink sink = [&fd](std::string_view piece) { return write_all(fd->get(), piece); };
  ExportOutput out(sink);
  Status status = write_run(run, *plan, options, &out);
  if (status.ok() && ::rename(temporary.c_str(), file->c_str()) != 0)
    status = Status::from_errno(errno, "cannot rename the export to", *file);
  if (!status.ok()) remove_file(temporary);
  if (!status.ok()) return status;
  return ExportResult{out.rows(), out.bytes(), std::move(plan->names)};
}

}  // namespace tracker::internal
