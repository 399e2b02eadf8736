// SPDX-License-Identifier: MIT
// A model of a run (run_model.h) held against what readers of the store find: all rows, the resolved view, texts,
// config, summary, attempts, counts and accounts, and what a tail has given. Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "model/number.h"
#include "query/attempts.h"
#include "query/run_view.h"
#include "query/tail.h"
#include "support/run_model.h"

namespace tracker::internal {

using ModelRows = std::map<std::string, std::vector<ModelRow>>;    // by metric
using ModelTexts = std::map<std::string, std::vector<ModelText>>;  // by metric

inline ModelRow row_at(const History& history, size_t row) {
  return {history.steps[row], history.row_type(row), history.row_bits(row)};
}

// What is read of a run, by writer. Texts carry no writer, so they stand by attempt and rank.
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

  // Everything that a reader can ask for.
  void expect_same(RunView* view) const {
    const ReadOfRun read = ReadOfRun::of(view);
    expect_rows(read);
    expect_resolved(view);
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
    EXPECT_EQ(read.rows.size(), with_rows) << "rows that nobody logged";
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

  void expect_resolved(RunView* view) const {
    for (const MetricInfo& metric : view->stored_metrics()) {
      const std::vector<ModelRow> expected = resolved(metric.name);
      auto history = view->history(metric.name);
      ASSERT_TRUE(history.ok()) << history.status().to_string();
      ASSERT_EQ(history->size(), expected.size()) << metric.name << ", resolved";
      for (size_t row = 0; row < expected.size(); ++row)
        ASSERT_TRUE(row_at(*history, row) == expected[row]) << metric.name << ", resolved, row " << row;
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
    uint64_t points = 0, dropped = 0, rejected = 0;
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

// A reader that goes on from its cursor whatever happens to the run meanwhile: it has each row exactly once.
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
