// SPDX-License-Identifier: MIT
#include "query/waiting_since.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/system_series.h"

namespace tracker::internal {
namespace {

uint64_t less(uint64_t a, uint64_t b) { return a - std::min(a, b); }

using Counts = std::map<std::pair<uint32_t, LossReason>, uint64_t>;

Counts counts_of(const std::vector<Loss>& losses) {
  Counts out;
  for (const Loss& loss : losses) out[{loss.series, loss.reason}] += loss.count;
  return out;
}

void add_losses(std::map<LossReason, uint64_t>* into, const std::map<LossReason, uint64_t>& more) {
  for (const auto& [reason, count] : more) (*into)[reason] += count;
}

}  // namespace

WaitingPoints stored_since(const WriterSnapshot& before, const WriterSnapshot& now) {
  WaitingPoints out;
  std::map<uint32_t, uint64_t> stored;
  std::map<uint32_t, std::string> names;
  std::map<std::string, WaitingMetric> metrics;
  for (const SeriesStats& series : before.series) stored[series.def.id] = series.points;
  for (const SeriesStats& series : now.series) {
    names[series.def.id] = series.def.name;
    if (is_system_series(series.def.name)) continue;
    const auto was = stored.find(series.def.id);
    const uint64_t points = less(series.points, was == stored.end() ? 0 : was->second);
    if (points == 0) continue;
    out.points += points;
    metrics[series.def.name].points += points;
  }
  out.texts = less(now.texts(), before.texts());
  const Counts counted = counts_of(before.losses);
  for (const auto& [loss, count] : counts_of(now.losses)) {
    const auto& [id, reason] = loss;
    const auto was = counted.find(loss);
    const uint64_t more = less(count, was == counted.end() ? 0 : was->second);
    if (more == 0) continue;
    if (id == kTextLosses) out.texts_dropped[reason] += more;
    else if (id == kEntryLosses) out.entries_dropped[reason] += more;
    else {
      const auto name = names.find(id);
      out.dropped[reason] += more;
      if (reason != LossReason::kRejected) metrics[name == names.end() ? "" : name->second].dropped[reason] += more;
    }
  }
  for (auto& [name, metric] : metrics) {
    metric.name = name;
    out.metrics.push_back(std::move(metric));
  }
  return out;
}

void add_waiting(const WaitingPoints& more, WaitingPoints* into) {
  into->points += more.points;
  into->texts += more.texts;
  add_losses(&into->dropped, more.dropped);
  add_losses(&into->texts_dropped, more.texts_dropped);
  add_losses(&into->entries_dropped, more.entries_dropped);
  // One name may then stand twice: whoever reads them adds up by name.
  into->metrics.insert(into->metrics.end(), more.metrics.begin(), more.metrics.end());
}

}  // namespace tracker::internal
