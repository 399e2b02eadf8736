// SPDX-License-Identifier: MIT
// What a run says of its surroundings, and which of its series are the system's. Pure functions. Threads: any.
#pragma once

#include <vector>

#include "model/system_series.h"
#include "query/view/run_view.h"

namespace tracker::internal {

// A map by part ("host", "git", ...; docs/formats/records.md). Of several writers the first rank of the newest attempt
// counts that said any, there the one that started last. Empty where nothing was recorded.
Value environment_of(const std::vector<WriterSnapshot>& writers);
// The same of one writer.
Value environment_of(const WriterSnapshot& writer);

// Points that the writer has stored and dropped, but for samples of the system: what its program logged.
struct OwnPoints {
  uint64_t stored = 0, dropped = 0;
};
OwnPoints own_points(const WriterSnapshot& writer);

// metrics() without the system's series, or those alone.
std::vector<MetricInfo> metrics_of_kind(const RunView& run, bool system);

}  // namespace tracker::internal
