// SPDX-License-Identifier: MIT
// Which rows a reader asks for. Rows are chosen first and the resolved view is made of the chosen ones: the rows of an
// attempt are all readable though a later one repeated their steps, and a range of times shows the run as it was
// then. Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

// Both ends belong to it.
struct Int64Range {
  int64_t min = INT64_MIN, max = INT64_MAX;
  bool contains(int64_t v) const { return v >= min && v <= max; }
  bool operator==(const Int64Range&) const = default;
};

struct Selection {
  std::vector<std::string> metrics;  // the result is in this order; one named twice comes twice
  std::optional<Int64Range> steps;   // leaves out rows without a step
  std::optional<Int64Range> times_us;
  std::optional<std::vector<int64_t>> attempts, ranks;  // none: those of all writers
  bool all = false;  // every row in the order logged instead of the last one of each step
  bool has_row_ranges() const { return steps.has_value() || times_us.has_value(); }
};

// kInvalid: a range whose ends are crossed, an empty list. kNotFound: an attempt or a rank that no writer of the run
// has; the message names those there are.
Status check_selection(const Selection& selection, const std::vector<WriterSnapshot>& writers);

// Whether the rows of this writer are asked for.
bool selects(const Selection& selection, const WriterIdentity& writer);

}  // namespace tracker::internal
