// SPDX-License-Identifier: MIT
#include "cli/output/tail_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/output/text.h"
#include "model/number.h"
#include "query/view/merge.h"

namespace tracker::internal {
namespace {

const char* setting_name(EventType type) {
  switch (type) {
    case EventType::kConfig: return "config";
    case EventType::kSummary: return "summary";
    case EventType::kAttribute: return "attribute";
    case EventType::kAlert: return "alert";
    default: return "text";
  }
}

void add_row(const TailedMetric& metric, size_t row, TailLine* line) {
  const ValueType type = metric.rows.row_type(row);
  const uint64_t bits = metric.rows.row_bits(row);
  line->text.emplace_back(metric.name, number_text(type, bits));
  line->values.set(metric.name, value_of_bits(type, bits));
}

// Rows of one call share time, step and writer. A metric that is logged twice in a microsecond opens a further line.
std::vector<TailLine> number_lines(const TailBatch& batch) {
  using Call = std::tuple<int64_t, Id128, bool, int64_t, size_t>;
  std::map<Call, size_t> places;
  std::vector<TailLine> out;
  for (const TailedMetric& metric : batch.metrics) {
    std::map<Call, size_t> seen;
    for (size_t row = 0; row < metric.rows.size(); ++row) {
      const RowSource& source = metric.rows.row_source(row);
      Call call{metric.rows.times_us[row], source.writer, metric.rows.row_has_step(row), metric.rows.steps[row], 0};
      std::get<4>(call) = seen[call]++;
      const auto [at, is_new] = places.emplace(call, out.size());
      if (is_new) {
        TailLine& line = out.emplace_back();
        line.time_us = metric.rows.times_us[row];
        line.has_step = metric.rows.row_has_step(row);
        line.step = metric.rows.steps[row];
        line.source = source;
      }
      add_row(metric, row, &out[at->second]);
    }
  }
  return out;
}

}  // namespace

bool comes_before(const TailLine& a, const TailLine& b) {
  const auto key = [](const TailLine& line) {
    return std::tuple(line.time_us, line.source.writer, line.has_step ? line.step : INT64_MAX);
  };
  return key(a) < key(b);
}

std::vector<TailLine> tail_lines(const TailBatch& batch, const std::vector<TailedEvent>& events) {
  std::vector<TailLine> out = number_lines(batch);
  for (const TailedEvent& event : events) {
    TailLine& line = out.emplace_back();
    line.time_us = event.time_us;
    line.has_step = event.has_step;
    line.step = event.step;
    line.source = event.source;
    line.type = event.type;
    if (event.type == EventType::kAlert) {
      const std::string text = event.value.text_or("text", "");
      line.text.emplace_back(event.value.text_or("level", ""),
                             event.value.text_or("title", "") + (text.empty() ? "" : ": ") + text);
    } else {
      line.text.emplace_back(event.key, to_display(event.value, SIZE_MAX));
    }
    line.values.set(event.key, event.value);
  }
  std::stable_sort(out.begin(), out.end(), comes_before);
  return out;
}

std::string tail_text(const Console& console, const TailLine& line, bool ranks) {
  std::string out = time_text(line.time_us);
  if (ranks) out += fmt::format("  rank {}", line.source.rank);
  if (line.has_step) out += fmt::format("  step {}", line.step);
  if (line.type != EventType::kEnd) out += fmt::format("  {}", setting_name(line.type));
  constexpr size_t kNameWidthMin = 16;
  const auto width = static_cast<size_t>(std::max(0, console.width));
  const size_t name_width = width > 0 ? std::max(kNameWidthMin, width / 4) : SIZE_MAX;  // values are to be seen, too
  for (const auto& [name, value] : line.text)
    out += fmt::format("  {}{}{}", cut_middle(visible(name), name_width), name.empty() ? "" : " ", visible(value));
  return (width > 0 ? cut_to(out, width) : out) + "\n";
}

std::string tail_json(const TailLine& line) {
  Value out = Value::Map{{"time_us", line.time_us},
                         {"step", line.has_step ? Value(line.step) : Value()},
                         {"attempt", line.source.attempt},
                         {"rank", line.source.rank}};
  if (line.type == EventType::kEnd) {
    out.set("metrics", line.values);
  } else {
    const auto& [key, value] = line.values.as_map()->front();
    out.set(setting_name(line.type), key.empty() ? value : line.values);
  }
  return to_json(out) + "\n";
}

}  // namespace tracker::internal
