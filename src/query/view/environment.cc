// SPDX-License-Identifier: MIT
#include "query/view/environment.h"

#include <algorithm>
#include <tuple>

namespace tracker::internal {

Value environment_of(const WriterSnapshot& writer) {
  Value out = Value::map();
  for (const Attribute& attribute : writer.attributes)
    if (attribute.type == EventType::kEnvironment) out.set(attribute.key, attribute.value);
  return out;
}

Value environment_of(const std::vector<WriterSnapshot>& writers) {
  Value out = Value::map();
  std::tuple<int64_t, int64_t, int64_t> newest;
  for (const WriterSnapshot& writer : writers) {
    const WriterIdentity& id = writer.identity;
    const auto key = std::make_tuple(id.attempt, -id.rank, id.started_us);
    if (!out.as_map()->empty() && key < newest) continue;
    Value own = environment_of(writer);
    if (own.as_map()->empty()) continue;
    out = std::move(own);
    newest = key;
  }
  return out;
}

OwnPoints own_points(const WriterSnapshot& writer) {
  OwnPoints out{writer.points, writer.dropped};
  for (const SeriesStats& series : writer.series) {
    if (!is_system_series(series.def.name)) continue;
    out.stored -= std::min(out.stored, series.points);
    out.dropped -= std::min(out.dropped, series.dropped);
  }
  return out;
}

std::vector<MetricInfo> metrics_of_kind(const RunView& run, bool system) {
  std::vector<MetricInfo> out = run.metrics();
  std::erase_if(out, [system](const MetricInfo& metric) { return is_system_series(metric.name) != system; });
  return out;
}

}  // namespace tracker::internal
