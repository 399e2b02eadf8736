// SPDX-License-Identifier: MIT
// What clients send: frames and files.
#include "server/service_impl.h"

namespace tracker::internal {

Value limits_json() {
  return Value::Map{{"batch_bytes", count_value(kBatchBytesMax)},
                    {"batch_units", count_value(kBatchUnitsMax)},
                    {"part_bytes", count_value(kPartBytesMax)},
                    {"digests", count_value(kDigestsMax)}};
}

Response Service::Impl::writers(const Call& call) {
  const auto acked = ingest->acked(call.uid);
  if (!acked.ok()) return error_response(acked.status());
  Value writers = Value::map();
  for (const auto& [writer, seq] : *acked) writers.set(writer.hex(), Value::Map{{"acked_seq", count_value(seq)}});
  Value out = Value::Map{{"writers", writers}};
  const auto run = runs.find(call.uid);
  const bool is_seen = run && (!call.grant.project || run->identity.project == *call.grant.project);
  out.set("project", is_seen ? Value(run->identity.project) : Value());
  return json_response(out);
}

Response Service::Impl::frames(const Call& call) {
  const std::string project = call.project();
  if (project.empty()) return error_response(400, "invalid", "project= is missing");
  const auto answer = ingest->post(call.uid, project, call.request->body);
  if (!answer.ok()) return error_response(answer.status());
  Value::List rejected;
  for (const RejectedUnit& unit : answer->rejected)
    rejected.push_back(
        Value::Map{{"first", count_value(unit.first)}, {"last", count_value(unit.last)}, {"code", unit.code}});
  return json_response(Value::Map{{"acked_seq", count_value(answer->acked_seq)},
                                  {"rejected", rejected},
                                  {"retry_after_ms", 0},
                                  {"limits", limits_json()}});
}

}  // namespace tracker::internal
