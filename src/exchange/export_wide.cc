// SPDX-License-Identifier: MIT
// The wide form: one row for each step, one column for each metric, empty if the metric has nothing at that step. Rows
// without a step follow, each in a row of its own with an empty step, so that nothing is omitted.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/export_internal.h"
#include "exchange/row_text.h"

namespace tracker::internal {
namespace {

// A metric's resolved rows, numbers or texts, and the next row to write.
class Column {
 public:
  Column(std::string name, History history) : name_(std::move(name)), history_(std::move(history)) {}
  Column(std::string name, const std::vector<TextRow>* texts) : name_(std::move(name)), texts_(texts) {}

  const std::string& name() const { return name_; }
  bool at_end() const { return next_ == (texts_ != nullptr ? texts_->size() : history_.size()); }
  // The step of the next row; none at the end and when only rows without a step are left.
  std::optional<int64_t> step() const {
    if (at_end()) return std::nullopt;
    if (texts_ != nullptr) return (*texts_)[next_].has_step ? std::optional((*texts_)[next_].step) : std::nullopt;
    return history_.row_has_step(next_) ? std::optional(history_.steps[next_]) : std::nullopt;
  }
  std::string take() {
    const size_t row = next_++;
    if (texts_ != nullptr) return csv_field((*texts_)[row].text);
    return number_text(history_.row_type(row), history_.row_bits(row));
  }

 private:
  std::string name_;
  History history_;
  const std::vector<TextRow>* texts_ = nullptr;
  size_t next_ = 0;
};

Result<std::vector<Column>> make_columns(RunView* run, const ExportPlan& plan) {
  std::vector<std::string> numbers;
  for (const std::string& name : plan.names)
    if (plan.number_metrics.contains(name)) numbers.push_back(name);
  auto histories = run->histories(numbers, false);
  if (!histories.ok()) return histories.status();
  std::vector<Column> columns;
  size_t read = 0;
  for (const std::string& name : plan.names) {
    if (plan.number_metrics.contains(name)) columns.emplace_back(name, std::move((*histories)[read++]));
    const auto texts = plan.texts.find(name);
    if (texts != plan.texts.end()) columns.emplace_back(name, &texts->second);
  }
  return columns;
}

// Names that readers of tables, our import included, use for the step or the time of a row; a metric with such a name
// is renamed.
constexpr std::string_view kRowColumns[] = {"step", "time", "timestamp", "_timestamp", "Wall time", "wall_time"};

// All different. If the header had `metric` as well as `value`, an import would read the file as the long form.
std::vector<std::string> headers_of(const std::vector<Column>& columns) {
  std::set<std::string> taken(std::begin(kRowColumns), std::end(kRowColumns));
  std::vector<std::string> out;
  const auto is_there = [&](std::string_view name) {
    return std::any_of(columns.begin(), columns.end(), [name](const Column& column) { return column.name() == name; });
  };
  if (is_there("value")) taken.emplace("metric");
  for (const Column& column : columns) {
    std::string name = column.name();
    while (taken.contains(name)) name += " (metric)";
    out.push_back(csv_field(name));
    taken.insert(std::move(name));
  }
  return out;
}

std::optional<int64_t> smallest_step(const std::vector<Column>& columns) {
  std::optional<int64_t> smallest;
  for (const Column& column : columns) {
    const auto step = column.step();
    if (step && (!smallest || *step < *smallest)) smallest = step;
  }
  return smallest;
}

}  // namespace

Status export_wide(RunView* run, const ExportPlan& plan, ExportOutput* out) {
  auto columns = make_columns(run, plan);
  if (!columns.ok()) return columns.status();
  out->buffer().append("step");
  for (const std::string& header : headers_of(*columns)) out->buffer().append("," + header);
  out->buffer().push_back('\n');
  while (const auto step = smallest_step(*columns)) {
    fmt::format_to(std::back_inserter(out->buffer()), "{}", *step);
    uint64_t values = 0;
    for (Column& column : *columns) {
      out->buffer().push_back(',');
      if (column.step() != step) continue;
      out->buffer().append(column.take());
      ++values;
    }
    out->buffer().push_back('\n');
    TRACKER_RETURN_IF_ERROR(out->row_done(values));
  }
  for (size_t i = 0; i < columns->size(); ++i) {
    while (!(*columns)[i].at_end()) {
      out->buffer().append(i + 1, ',').append((*columns)[i].take());
      out->buffer().append(columns->size() - i - 1, ',').push_back('\n');
      TRACKER_RETURN_IF_ERROR(out->row_done());
    }
  }
  return Status();
}

}  // namespace tracker::internal
