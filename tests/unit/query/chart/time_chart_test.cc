// SPDX-License-Identifier: MIT
// Goal: a chart over time from levels over times is the chart of all rows, at any zoom, and reads no rows that it need
// not; where levels cannot say it, nothing is made up. Method: runs of some segments with levels, held against the
// chart that decodes every row; segments or levels are damaged to see what was read. The seed is printed:
// TRACKER_TEST_SEED=…. Runs of any kind: span_chart_test.cc.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "query/chart/step_chart.h"
#include "query/chart/time_spans.h"
#include "storage/database/compaction.h"
#include "storage/sqlite/sqlite.h"
#include "support/chart_difference.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/log_writer.h"
#include "support/random_frame.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

constexpr int64_t kSegmentRows = 36'000;
constexpr int kZooms = 60 / kSlowDown;  // each decodes every row as well

class TimeChartTest : public ReadTest {
 protected:
  WriterIdentity identity(int64_t attempt = 1) {
    WriterIdentity out = dead_writer(run_, builder_.store());
    out.started_us += attempt;
    out.attempt = attempt;
    return out;
  }

  static float value_at(int64_t step) {
    if (step % 997 == 3) return std::numeric_limits<float>::quiet_NaN();
    return std::sin(static_cast<float>(step) / 1000);
  }

  // Five segments of 36,000 rows and 20,000 rows in frames. A row a millisecond, some at the same time, pauses.
  std::string log_long() {
    set_compaction_gather_for_testing(60'000'000'000);
    BulkWriter writer(run_, identity(), {{"loss", ValueType::kFloat32}});
    for (int64_t step = 0; step < 200'000; ++step) {
      if (step % 10'000 == 77) writer.pass(3'000'000);
      if (step % 7 == 0) writer.pass(-1000);  // as the row before
      writer.row(step, {bits_of(value_at(step))});
      if (writer.rows() == 300) writer.commit();
      if (step % kSegmentRows == kSegmentRows - 1) writer.compact();
    }
    writer.commit();
    return writer.path();
  }

  static void sql(const std::string& path, const std::string& statement) {
    auto db = Sqlite::open(path, SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok() && db->exec(statement.c_str()).ok()) << statement;
  }
  static int64_t number(const std::string& path, const char* statement) {
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    return db->query_int(statement).value_or(-1);
  }

  enum class Way : uint8_t { kAny, kLevels, kRows };
  static std::string held_against_all_rows(RunView* view, ChartQuery query, Way way) {
    query.metric = "loss";
    query.axis = ChartAxis::kTime;
    Selection selection;
    selection.metrics = {query.metric};
    const auto direct = chart_by_levels(view, query, selection);
    if (!direct.ok()) return direct.status().to_string();
    if (way == Way::kLevels && !*direct) return "all rows were decoded";
    if (way == Way::kRows && *direct) return "it was taken from levels";
    const auto got = query_chart(view, query);
    query.decode_all = true;
    const auto wanted = query_chart(view, query);
    if (!got.ok() || !wanted.ok()) return got.status().to_string() + wanted.status().to_string();
    return chart_difference(*got, *wanted);
  }

  // Times of the whole run, and charts of random parts of it.
  void expect_any_zoom(Way way) {
    std::mt19937_64 random = seeded_random();
    auto view = open();
    const auto whole = query_chart(view.get(), {.metric = "loss", .axis = ChartAxis::kTime, .pixels = 2});
    ASSERT_TRUE(whole.ok());
    const auto& cells = std::get<Chart<int64_t>>(whole->chart).cells;
    const int64_t first = cells.front().x0, span = cells.back().x1 - first;
    for (int zoom = 0; zoom < kZooms; ++zoom) {
      ChartQuery query;
      query.pixels = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 3000 : 60));
      const int64_t width = (span >> (random() % 12)) + 2;
      const int64_t lo = first - 100 + static_cast<int64_t>(random() % static_cast<uint64_t>(span));
      if (random() % 4 != 0) query.lo_int = lo;
      if (random() % 4 != 0) query.hi_int = lo + width;
      if (random() % 4 == 0)
        query.smoothing = {random() % 2 == 0 ? Smoother::kMean : Smoother::kEma,
                           static_cast<double>(1 + random() % 5'000'000)};
      const Way as = query.smoothing.kind == Smoother::kNone ? way : Way::kAny;
      ASSERT_EQ(held_against_all_rows(view.get(), query, as), "")
          << "zoom " << zoom << ": " << query.lo_int.value_or(-1) << " to " << query.hi_int.value_or(-1) << ", "
          << query.pixels << " pixels";
    }
  }
};

TEST_F(TimeChartTest, AnyZoomIsTakenFromLevels) {
  const std::string path = log_long();
  ASSERT_EQ(number(path, "SELECT count(DISTINCT first_seq) FROM levels WHERE level IN (2,3)"), 5);
  expect_any_zoom(Way::kLevels);
}

// All but header and directory of every segment is gone: what still comes was not read from there.
TEST_F(TimeChartTest, AChartOfTheWholeReadsNoRows) {
  const std::string path = log_long();
  const ChartQuery query{.metric = "loss", .axis = ChartAxis::kTime, .pixels = 60};
  ChartQuery all = query;
  all.decode_all = true;
  const auto wanted = query_chart(open().get(), all);
  sql(path, "UPDATE segments SET data = substr(data,1,length(data)-30000) || zeroblob(30000)");
  auto view = open();
  const auto got = query_chart(view.get(), query);
  ASSERT_TRUE(got.ok() && wanted.ok());
  EXPECT_EQ(chart_difference(*got, *wanted), "");
  EXPECT_TRUE(view->problems().empty());
}

TEST_F(TimeChartTest, AWindowReadsOnlyTheSegmentsItsEdgesAreIn) {
  const std::string path = log_long();
  ChartQuery query{.metric = "loss", .axis = ChartAxis::kTime, .pixels = 30};
  const auto cells = query_chart(open().get(), {.metric = "loss", .axis = ChartAxis::kTime, .pixels = 1000});
  ASSERT_TRUE(cells.ok());
  const auto& of = std::get<Chart<int64_t>>(cells->chart).cells;
  const auto time_of_row = [&](uint64_t row) {
    uint64_t rows = 0;
    for (const auto& cell : of)
      if ((rows += cell.rows()) > row) return cell.x0;
    return of.back().x1;
  };
  query.lo_int = time_of_row(54'000);
  query.hi_int = time_of_row(126'000);
  ChartQuery all = query;
  all.decode_all = true;
  const auto wanted = query_chart(open().get(), all);
  // Its first row is in the second one, its last in the fourth.
  sql(path,
      "UPDATE segments SET data = zeroblob(length(data)) WHERE (SELECT count(*) FROM segments AS before WHERE "
      "before.first_seq<segments.first_seq) NOT IN (1, 3)");
  auto view = open();
  const auto got = query_chart(view.get(), query);
  ASSERT_TRUE(got.ok() && wanted.ok());
  EXPECT_EQ(chart_difference(*got, *wanted), "");
  EXPECT_TRUE(view->problems().empty());
}

// What a version wrote that knew no levels over times.
TEST_F(TimeChartTest, WithoutLevelsOverTimesTheChartIsTheSame) {
  const std::string path = log_long();
  sql(path, "DELETE FROM levels WHERE level=2");
  expect_any_zoom(Way::kLevels);
  sql(path, "DELETE FROM levels WHERE level=3");
  expect_any_zoom(Way::kAny);
  sql(path, "DROP TABLE levels");
  expect_any_zoom(Way::kAny);
}

TEST_F(TimeChartTest, ManyRowsWithoutLevelsAreReadASegmentAtATime) {
  set_compaction_gather_for_testing(60'000'000'000);  // of a slow machine many rows stay frames
  BulkWriter writer(run_, identity(), {{"loss", ValueType::kBool}});
  const int64_t rows = static_cast<int64_t>(kUnleveledRowsMax) + 60'000;
  for (int64_t step = 0; step < rows; ++step) {
    writer.row(step, {static_cast<uint64_t>(step / 100 % 2)});
    if (writer.rows() == 8000) writer.compact();
  }
  writer.finish();
  const ChartQuery query{.metric = "loss", .axis = ChartAxis::kTime, .pixels = 30};
  EXPECT_EQ(held_against_all_rows(open().get(), query, Way::kLevels), "");
  sql(writer.path(), "DELETE FROM levels WHERE level IN (2,3)");
  EXPECT_EQ(held_against_all_rows(open().get(), query, Way::kRows), "");
}

TEST_F(TimeChartTest, ALevelOverStepsInTheirPlaceIsNotBelieved) {
  const std::string path = log_long();
  sql(path,
      "UPDATE levels SET data = (SELECT data FROM levels AS other WHERE other.series=levels.series AND other.level="
      "levels.level-2 AND other.first_seq=levels.first_seq) WHERE level IN (2,3)");
  expect_any_zoom(Way::kRows);
}

TEST_F(TimeChartTest, ADamagedLevelIsNotBelieved) {
  const std::string path = log_long();
  sql(path, "UPDATE levels SET data = substr(data,1,20) || x'ff' || substr(data,22) WHERE level=3");
  expect_any_zoom(Way::kRows);
  EXPECT_TRUE(open()->problems().empty()) << "rows are whole";
}

// The levels of one segment beside the rows of another one, sound by themselves.
TEST_F(TimeChartTest, LevelsOfAnotherSegmentAreNotBelieved) {
  const std::string path = log_long();
  sql(path,
      "UPDATE levels SET data = (SELECT data FROM levels AS other WHERE other.series=levels.series AND other.level="
      "levels.level ORDER BY first_seq LIMIT 1) WHERE level=2");
  auto view = open();
  EXPECT_EQ(held_against_all_rows(view.get(), {.metric = "loss", .pixels = 1000}, Way::kAny), "");
}

TEST_F(TimeChartTest, RowsOfTwoShapesAreOneSeries) {
  set_compaction_gather_for_testing(60'000'000'000);
  BulkWriter writer(run_, identity(), {{"loss", ValueType::kFloat32}, {"val", ValueType::kFloat64}});
  for (int64_t step = 0; step < 60'000; ++step) {
    if (step % 50 == 49) writer.row(step, {bits_of(value_at(step)), bits_of(0.5)});
    else writer.row(step, {bits_of(value_at(step))});
    if (writer.rows() == 300) writer.commit();
    if (step % 20'000 == 19'999) writer.compact();
  }
  writer.finish();
  ASSERT_GT(number(writer.path(), "SELECT count(*) FROM levels WHERE level=3"), 0);
  expect_any_zoom(Way::kLevels);
}

TEST_F(TimeChartTest, WhatAnAttemptHidesIsNotInTheChart) {
  set_compaction_gather_for_testing(60'000'000'000);
  const auto log = [&](const WriterIdentity& who, int64_t from, int64_t later_us) {
    BulkWriter writer(run_, who, {{"loss", ValueType::kFloat32}});
    writer.pass(later_us);
    for (int64_t step = from; step < from + 40'000; ++step) {
      writer.row(step, {bits_of(value_at(step))});
      if (writer.rows() == 300) writer.commit();
      if ((step - from) % 20'000 == 19'999) writer.compact();
    }
    writer.finish();
  };
  log(identity(1), 0, 0);
  WriterIdentity second = identity(2);
  second.resume_step = 25'123;
  log(second, 25'123, 3'600'000'000);
  expect_any_zoom(Way::kLevels);
}

TEST_F(TimeChartTest, ATimeThatFallsAlongTheStepsNeedsTheRows) {
  set_compaction_gather_for_testing(60'000'000'000);
  BulkWriter writer(run_, identity(), {{"loss", ValueType::kFloat32}});
  for (int64_t step = 0; step < 40'000; ++step) {
    if (step == 10'000) writer.pass(-4'000'000);
    writer.row(step, {bits_of(value_at(step))});
    if (writer.rows() == 300) writer.commit();
    if (step % 20'000 == 19'999) writer.compact();
  }
  writer.finish();
  expect_any_zoom(Way::kAny);
  auto view = open();
  EXPECT_EQ(held_against_all_rows(view.get(), {.metric = "loss", .pixels = 100}, Way::kRows), "");
}

}  // namespace
}  // namespace tracker::internal
