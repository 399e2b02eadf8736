// SPDX-License-Identifier: MIT
#include "exchange/tensorboard_events.h"

#include "exchange/event_file.h"
#include "exchange/wire.h"

namespace tracker::internal {
namespace {

constexpr const char* kFileVersion = "brain.Event:2";

// One leaf of config as an entry of hparams: types that TensorBoard does not have are shown as JSON.
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

}  // namespace

void append_event_header(double wall_time, std::string* out) {
  std::string event;
  wire_fixed64(1, bits_of(wall_time), &event);
  wire_bytes(3, kFileVersion, &event);
  append_event_record(event, out);
}

void append_number_event(const std::string& name, ValueType type, uint64_t bits, int64_t step, double wall_time,
                         std::string* out, bool exact) {
  if (exact && type != ValueType::kFloat32) append_exact_event(name, type, bits, step, wall_time, out);
  else
    append_scalar_event(name, ValueType::kFloat32,
                        type == ValueType::kFloat32 ? bits : bits_of(nearest_float(type, bits)), step, wall_time, out);
}

void append_config_event(const Value& config, double wall_time, std::string* out) {
  std::string info, data, plugin, metadata, value, summary, event;
  if (const Value::Map* map = config.as_map(); map != nullptr && map->empty()) return;
  append_hparams("", config, &info);
  if (info.empty()) return;
  wire_bytes(3, info, &data);
  wire_bytes(1, "hparams", &plugin);
  wire_bytes(2, data, &plugin);
  wire_bytes(1, plugin, &metadata);
  wire_bytes(1, "_hparams_/session_start_info", &value);
  wire_bytes(9, metadata, &value);
  wire_bytes(1, value, &summary);
  wire_fixed64(1, bits_of(wall_time), &event);
  wire_bytes(5, summary, &event);
  append_event_record(event, out);
}

void append_start_event(int64_t step, double wall_time, std::string* out) {
  std::string session, event;
  wire_varint(1, kSessionStart, &session);
  wire_fixed64(1, bits_of(wall_time), &event);
  wire_varint(2, static_cast<uint64_t>(step), &event);
  wire_bytes(7, session, &event);
  append_event_record(event, out);
}

}  // namespace tracker::internal
