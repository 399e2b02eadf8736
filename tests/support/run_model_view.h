// SPDX-License-Identifier: MIT
// A model of a run (run_model.h) held against what readers of the store find: all rows, the resolved view, windows of
// it, charts, texts, config, summary, attempts, counts and accounts, and what a tail has given. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

#include "model/number.h"
#include "query/chart/chart_query.h"
#include "query/rows/selection.h"
#include "query/tail/tail.h"
#include "query/view/attempts.h"
#include "query/view/merge.h"
#include "query/view/run_view.h"
#include "support/chart_difference.h"
#include "support/run_model.h"

namespace tracker::internal {

using ModelRows = std::map<std::string, std::vector<ModelRow>>;    // by metric
using ModelTexts = std::map<std::string, std::vector<ModelText>>;  // by metric

inline ModelRow row_at(const History& history, size_t row) {
  return {history.steps[row], history.row_type(row), history.row_bits(row)};
}

// What is read of a run, by writer. Texts carry no writer, so they are keyed by attempt and rank.
struct ReadOfRun {
  std::map<Id128, ModelRows> rows;
  std::map<std::pair<int64_t, int64_t>, ModelTexts> texts;

  static ReadOfRun of(RunView* view) {
    ReadOfRun out;
    for (const MetricInfo& metric : view->stored_metrics()) {
      auto history = view->history(metric.name, true);
      EXPECT_TRUE(history.ok()) << history.status().to_string();
      for (size_t row = 0; history.ok() && row < history->size(); ++row) {
        EXPECT_TRUE(history->row_has_step(row));
        out.rows[history->row_source(row).writer][metric.name].push_back(row_at(*history, row));
      }
    }
    auto texts = view->texts_by_metric(true);
    EXPECT_TRUE(texts.ok()) << texts.status().to_string();
    if (!texts.ok()) return out;
    for (const auto& [metric, found] : *texts)
      for (const TextRow& text : found) out.texts[{text.attempt, text.rank}][metric].push_back({text.step, text.text});
    return out;
  }
};

// Rows of the metrics of one thread; those of the others left out.
template <typename T>
std::map<std::string, T> of_thread(const std::map<std::string, T>& all, size_t thread) {
  std::map<std::string, T> out;
  for (const auto& [name, value] : all)
    if (name.starts_with("t" + std::to_string(thread) + "/")) out[name] = value;
  return out;
}

inline std::string describe(const ModelRows& rows) {
  std::string out;
  for (const auto& [metric, found] : rows) out += metric + ": " + std::to_string(found.size()) + " rows; ";
  return out;
}

// A chart over steps by the rule of docs/reading.md: each row while they are few, else cells of the largest power of
// two that is at most a pixel.
inline ChartResult chart_of_model(const std::vector<ModelRow>& rows, int64_t lo, int64_t hi, uint32_t pixels) {
  ChartResult out;
  std::vector<ModelRow> inside;
  for (const ModelRow& row : rows)
    if (row.step >= lo && row.step <= hi) inside.push_back(row);
  out.rows = inside.size();
  unsigned shift = 0;
  for (const uint64_t range = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo);
       shift < 63 && (range >> (shift + 1)) >= pixels;)
    ++shift;
  Chart<int64_t> chart;
  chart.points = inside.size() < uint64_t{2} * pixels;
  for (const ModelRow& row : inside) {
    const double v = to_double(row.type, row.bits);
    const bool same = !chart.points && !chart.cells.empty() && chart.cells.back().x0 >> shift == row.step >> shift;
    if (!same) {
      ChartCell<int64_t> cell;
      cell.x0 = row.step;
      cell.first = v;
      cell.min = cell.max = std::numeric_limits<double>::quiet_NaN();
      chart.cells.push_back(cell);
    }
    ChartCell<int64_t>& cell = chart.cells.back();
    cell.x1 = row.step;
    cell.last = v;
    cell.nan += std::isnan(v);
    cell.pos_inf += std::isinf(v) && v > 0;
    cell.neg_inf += std::isinf(v) && v < 0;
    if (!std::isfinite(v)) continue;
    const auto below = [](double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
    if (cell.count == 0 || below(v, cell.min)) cell.min = v;
    if (cell.count == 0 || below(cell.max, v)) cell.max = v;
    cell.sum += v;
    ++cell.count;
  }
  out.chart = std::move(chart);
  return out;
}

class RunModel {
 public:
  std::vector<ModelWriter> writers;  // in the order in which a view has them

  std::optional<int64_t> shown_up_to(int64_t attempt) const {
    std::optional<int64_t> out;
    for (const ModelWriter& writer : writers)
      if (writer.attempt > attempt && writer.resume_step) out = std::min(out.value_or(INT64_MAX), *writer.resume_step);
    return out;
  }
  // "1 + the largest step" of a new attempt starts here.
  int64_t step_base() const {
    int64_t out = INT64_MIN;
    for (const ModelWriter& writer : writers) {
      const int64_t shown = shown_up_to(writer.attempt).value_or(INT64_MAX);
      for (const ModelOutcome& thread : writer.threads) {
        for (const auto& [metric, rows] : thread.rows)
          for (const ModelRow& row : rows) out = std::max(out, std::min(row.step, shown));
        for (const auto& [metric, texts] : thread.texts)
          for (const ModelText& text : texts) out = std::max(out, std::min(text.step, shown));
      }
    }
    return out;
  }

  // Everything that a reader can ask for. `seed` draws the windows of charts.
  void expect_same(RunView* view, uint64_t seed) const {
    const ReadOfRun read = ReadOfRun::of(view);
    expect_rows(read);
    expect_resolved(view, seed);
    expect_shown(*view);
    expect_settings(*view);
    expect_counts(view);
    expect_attempts(*view);
    EXPECT_TRUE(view->problems().empty()) << view->problems().front();
  }

  // Whatever the order of their keys.
  static bool same_maps(const Value& a, const Value& b) {
    if (!a.is_map() || !b.is_map()) return a == b;
    if (a.as_map()->size() != b.as_map()->size()) return false;
    return std::all_of(a.as_map()->begin(), a.as_map()->end(), [&b](const auto& entry) {
      const Value* other = b.find(entry.first);
      return other != nullptr && same_maps(entry.second, *other);
    });
  }

  // All rows of a metric, by writer.
  std::vector<std::pair<const ModelWriter*, ModelRow>> rows_of(const std::string& metric) const {
    std::vector<std::pair<const ModelWriter*, ModelRow>> out;
    for (const ModelWriter& writer : writers)
      for (const ModelOutcome& thread : writer.threads)
        if (const auto found = thread.rows.find(metric); found != thread.rows.end())
          for (const ModelRow& row : found->second) out.emplace_back(&writer, row);
    return out;
  }

  // Values that went because a later key leads through them: "n", then "n/x". `last` comes after the run's writers.
  uint64_t settings_lost(const ModelWriter* last = nullptr) const {
    uint64_t lost = 0;
    Value config = Value::map();
    std::vector<const ModelWriter*> all;
    for (const ModelWriter& writer : writers) all.push_back(&writer);
    if (last != nullptr) all.push_back(last);
    for (const ModelWriter* writer : all)
      for (const ModelOutcome& thread : writer->threads)
        for (const ModelSetting& setting : thread.config) {
          for (size_t slash = setting.key.find('/'); slash != std::string::npos;
               slash = setting.key.find('/', slash + 1)) {
            const Value* above = config.find_path(setting.key.substr(0, slash));
            if (above == nullptr || above->is_map() || above->is_null()) continue;
            ++lost;
            break;
          }
          config.set_path(setting.key, setting.value);
        }
    return lost;
  }

 private:
  void expect_rows(const ReadOfRun& read) const {
    size_t with_rows = 0;
    for (const ModelWriter& writer : writers) {
      ModelRows mine;
      ModelTexts texts;
      for (const ModelOutcome& thread : writer.threads) {
        mine.insert(thread.rows.begin(), thread.rows.end());
        texts.insert(thread.texts.begin(), thread.texts.end());
      }
      const auto found = read.rows.find(writer.writer);
      const ModelRows& theirs = found == read.rows.end() ? ModelRows() : found->second;
      with_rows += !mine.empty();
      EXPECT_TRUE(mine == theirs) << "attempt " << writer.attempt << " rank " << writer.rank << ": expected "
                                  << describe(mine) << "found " << describe(theirs);
      const auto place = read.texts.find({writer.attempt, writer.rank});
      for (const auto& [name, expected] : texts)
        EXPECT_TRUE(place != read.texts.end() && place->second.contains(name) && place->second.at(name) == expected)
            << name << " of attempt " << writer.attempt << " rank " << writer.rank;
    }
    EXPECT_EQ(read.rows.size(), with_rows) << "rows that were not logged";
  }

  // By the rule of docs/formats/database.md.
  std::vector<ModelRow> resolved(const std::string& metric) const {
    std::map<int64_t, std::pair<std::tuple<int64_t, int64_t>, ModelRow>> by_step;
    for (const auto& [writer, row] : rows_of(metric)) {
      if (row.step > shown_up_to(writer->attempt).value_or(INT64_MAX)) continue;
      const std::tuple<int64_t, int64_t> place(writer->attempt, -writer->rank);
      const auto [at, is_new] = by_step.try_emplace(row.step, place, row);
      if (!is_new && place >= at->second.first) at->second = {place, row};
    }
    std::vector<ModelRow> out;
    for (const auto& [step, entry] : by_step) out.push_back(entry.second);
    return out;
  }

  void expect_resolved(RunView* view, uint64_t seed) const {
    std::mt19937_64 random(seed);
    for (const MetricInfo& metric : view->stored_metrics()) {
      const std::vector<ModelRow> expected = resolved(metric.name);
      auto history = view->history(metric.name);
      ASSERT_TRUE(history.ok()) << history.status().to_string();
      expect_history(*history, expected, metric.name + ", resolved");
      if (!expected.empty()) expect_window(view, metric.name, expected, random());
    }
  }

  static void expect_history(const History& history, std::span<const ModelRow> expected, const std::string& what) {
    ASSERT_EQ(history.size(), expected.size()) << what;
    for (size_t row = 0; row < expected.size(); ++row)
      ASSERT_TRUE(row_at(history, row) == expected[row]) << what << ", row " << row;
  }

  // Rows and charts between two steps, and a chart over time, which knows rows by their times only.
  static void expect_window(RunView* view, const std::string& metric, const std::vector<ModelRow>& rows,
                            uint64_t seed) {
    std::mt19937_64 random(seed);
    size_t begin = random() % 4 == 0 ? 0 : random() % rows.size(), end = rows.size() - 1;
    if (random() % 2 == 0) end = random() % rows.size();
    if (begin > end) std::swap(begin, end);
    const std::string what = metric + ", seed " + std::to_string(seed);
    Selection selection;
    selection.metrics = {metric};
    selection.steps = {rows[begin].step, rows[end].step};
    auto read = view->read(selection);
    ASSERT_TRUE(read.ok()) << what << ": " << read.status().to_string();
    expect_history((*read)[0], std::span(rows).subspan(begin, end - begin + 1), what);
    ChartQuery query;
    query.metric = metric;
    query.pixels = 1 + static_cast<uint32_t>(random() % (random() % 2 == 0 ? 20 : 600));
    query.lo_int = rows[begin].step;
    query.hi_int = rows[end].step;
    auto chart = query_chart(view, query);
    ASSERT_TRUE(chart.ok()) << what << ": " << chart.status().to_string();
    EXPECT_EQ(chart_difference(*chart, chart_of_model(rows, *query.lo_int, *query.hi_int, query.pixels)), "") << what;
    if (random() % 3 != 0) return;
    query.axis = ChartAxis::kTime;
    query.lo_int = query.hi_int = std::nullopt;
    chart = query_chart(view, query);
    query.decode_all = true;
    const auto plain = query_chart(view, query);
    ASSERT_TRUE(chart.ok() && plain.ok()) << what << ", over time";
    EXPECT_EQ(chart->rows, rows.size()) << what << ", over time";
    EXPECT_EQ(chart_difference(*chart, *plain), "") << what << ", over time";
  }

  // Of the rows that no resume shadows: counts, the range and the last value, which the summary has too.
  void expect_shown(const RunView& view) const {
    const Value summary = view.summary();
    for (const MetricInfo& metric : view.metrics()) {
      uint64_t points = 0, finite = 0, nan = 0;
      double min = std::numeric_limits<double>::infinity(), max = -min;
      std::optional<std::tuple<int64_t, int64_t>> place;
      ModelRow last;
      for (const auto& [writer, row] : rows_of(metric.name)) {
        if (row.step > shown_up_to(writer->attempt).value_or(INT64_MAX)) continue;
        const double value = to_double(row.type, row.bits);
        ++points;
        nan += std::isnan(value);
        if (std::isfinite(value)) ++finite, min = std::min(min, value), max = std::max(max, value);
        const std::tuple<int64_t, int64_t> here(writer->attempt, -writer->rank);
        if (!place || here >= *place) place = here, last = row;
      }
      EXPECT_EQ(metric.shown.points, points) << metric.name;
      EXPECT_EQ(metric.shown.finite, finite) << metric.name;
      EXPECT_EQ(metric.shown.nan, nan) << metric.name;
      EXPECT_TRUE(finite == 0 || (metric.shown.min == min && metric.shown.max == max))
          << metric.name << ": " << metric.shown.min << ".." << metric.shown.max << ", not " << min << ".." << max;
      const Value* stored = summary.find(metric.name);
      EXPECT_EQ(stored != nullptr, points > 0) << metric.name;
      if (points == 0 || stored == nullptr) continue;
      EXPECT_TRUE(metric.last_type == last.type && metric.last_bits == last.bits)
          << metric.name << ": its last value is " << metric.last_bits << ", not " << last.bits;
      EXPECT_EQ(to_json(*stored), to_json(value_of_bits(last.type, last.bits))) << metric.name;
    }
  }

  void expect_settings(const RunView& view) const {
    Value config = Value::map();
    std::map<std::string, Value> summary;
    for (const ModelWriter& writer : writers)
      for (const ModelOutcome& thread : writer.threads) {
        for (const ModelSetting& setting : thread.config) config.set_path(setting.key, setting.value);
        for (const ModelSetting& setting : thread.summary) summary[setting.key] = setting.value;
      }
    EXPECT_TRUE(same_maps(view.config(), config)) << to_json(view.config()) << " is not " << to_json(config);
    const Value found = view.summary();
    for (const auto& [key, value] : summary) {
      ASSERT_NE(found.find(key), nullptr) << key;
      EXPECT_TRUE(*found.find(key) == value) << key << ": " << to_json(*found.find(key)) << ", not " << to_json(value);
    }
  }

  void expect_counts(RunView* view) const {
    uint64_t points = 0, dropped = 0, rejected = settings_lost();
    std::map<std::string, uint64_t> dropped_by, stored_by;
    for (const ModelWriter& writer : writers)
      for (const ModelOutcome& thread : writer.threads) {
        points += thread.points();
        rejected += thread.rejected;
        for (const auto& [metric, rows] : thread.rows) stored_by[metric] += rows.size();
        for (const auto& [metric, count] : thread.dropped) dropped_by[metric] += count, dropped += count;
      }
    const LossAccount account = view->losses();
    EXPECT_EQ(view->points(), points);
    EXPECT_EQ(account.stored, points);
    EXPECT_EQ(account.dropped, dropped);
    EXPECT_EQ(account.pending, 0u);
    EXPECT_EQ(account.logged, points + dropped);
    EXPECT_EQ(account.rejected_values, rejected);
    for (const MetricAccount& metric : view->losses_by_metric()) {
      if (metric.metric.empty()) continue;
      EXPECT_EQ(metric.stored, stored_by[metric.metric]) << metric.metric;
      EXPECT_EQ(metric.dropped, dropped_by[metric.metric]) << metric.metric;
    }
    for (const MetricInfo& metric : view->metrics()) expect_statistics(metric);
  }

  void expect_statistics(const MetricInfo& metric) const {
    uint64_t points = 0, nan = 0, infinite = 0;
    int64_t step_min = INT64_MAX, step_max = INT64_MIN;
    for (const auto& [writer, row] : rows_of(metric.name)) {
      const double value = to_double(row.type, row.bits);
      nan += std::isnan(value);
      infinite += std::isinf(value);
      step_min = std::min(step_min, row.step);
      step_max = std::max(step_max, row.step);
      ++points;
    }
    EXPECT_EQ(metric.points, points) << metric.name;
    EXPECT_EQ(metric.nan, nan) << metric.name;
    EXPECT_EQ(metric.pos_inf + metric.neg_inf, infinite) << metric.name;
    EXPECT_EQ(metric.finite, points - nan - infinite) << metric.name;
    if (points == 0) return;
    EXPECT_EQ(metric.step_min, step_min) << metric.name;
    EXPECT_EQ(metric.step_max, step_max) << metric.name;
  }

  void expect_attempts(const RunView& view) const {
    std::map<int64_t, uint64_t> points;
    std::map<int64_t, std::optional<int64_t>> resumed;
    for (const ModelWriter& writer : writers) {
      auto& resume_step = resumed[writer.attempt];  // one that attached later has none
      if (!resume_step) resume_step = writer.resume_step;
      for (const ModelOutcome& thread : writer.threads) points[writer.attempt] += thread.points();
    }
    const std::vector<AttemptInfo> found = view.attempts();
    ASSERT_EQ(found.size(), resumed.size());
    for (const AttemptInfo& info : found) {
      EXPECT_EQ(info.points, points[info.attempt]) << "attempt " << info.attempt;
      EXPECT_EQ(info.resume_step, resumed[info.attempt]) << "attempt " << info.attempt;
      EXPECT_EQ(info.shown_up_to, shown_up_to(info.attempt)) << "attempt " << info.attempt;
    }
  }
};

// A reader that continues from its cursor whatever happens to the run meanwhile: it gets each row exactly once.
class ModelTail {
 public:
  // What is new; `view` was refreshed.
  void read(RunView* view) {
    auto cursor = token_.empty() ? Result<TailCursor>(tail_begin(*view, {})) : TailCursor::parse(token_);
    ASSERT_TRUE(cursor.ok()) << cursor.status().to_string();
    for (bool more = true; more;) {
      auto batch = read_tail(view, {{}, 500}, &*cursor);
      ASSERT_TRUE(batch.ok()) << batch.status().to_string();
      for (const TailedMetric& metric : batch->metrics)
        for (size_t row = 0; row < metric.rows.size(); ++row)
          rows_[metric.rows.row_source(row).writer][metric.name].push_back(row_at(metric.rows, row));
      more = batch->more;
    }
    token_ = cursor->token();
  }
  void expect_same(RunView* view) {
    read(view);
    EXPECT_TRUE(rows_ == ReadOfRun::of(view).rows) << "a tail repeats or lacks rows";
  }

 private:
  std::string token_;
  std::map<Id128, ModelRows> rows_;
};

}  // namespace tracker::internal
