// SPDX-License-Identifier: MIT
// Goal: a chart from levels is the chart of all rows: cell by cell, at any zoom, whatever was logged (P10); and it does
// not read what it need not. Method: random runs (attempts that overlap and rewind, ranks, repeated steps, two shapes,
// NaN and infinities, gaps, frames at the end) whose charts are held against those that decode every row, bit by bit
// but for sums, whose additions are grouped otherwise. The seed is printed: TRACKER_TEST_SEED=….
#include "query/chart/step_chart.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "storage/database/compaction.h"
#include "storage/database/log_index.h"
#include "storage/sqlite/sqlite.h"
#include "storage/writer/writer_reader.h"
#include "support/chart_difference.h"
#include "support/child.h"
#include "support/log_writer.h"
#include "support/random_frame.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class StepChartTest : public ReadTest {
 protected:
  WriterIdentity identity() { return dead_writer(run_, builder_.store()); }

  // The chart by levels, or what is wrong with it.
  std::string held_against_all_rows(RunView* view, ChartQuery query, bool must_be_by_levels) {
    Selection selection;
    selection.metrics = {query.metric};
    selection.attempts = query.attempts;
    selection.ranks = query.ranks;
    if (must_be_by_levels) {
      auto direct = chart_by_levels(view, query, selection);
      if (!direct.ok()) return direct.status().to_string();
      if (!*direct) return "all rows were decoded";
    }
    auto got = query_chart(view, query);
    query.decode_all = true;
    auto wanted = query_chart(view, query);
    if (!got.ok() || !wanted.ok()) return got.status().to_string() + wanted.status().to_string();
    return chart_difference(*got, *wanted);
  }
};

// One attempt of a rank, random in all that a chart must cope with.
class RandomWriter {
 public:
  RandomWriter(BulkWriter* writer, uint64_t seed) : writer_(writer), random_(seed) {
    stride_ = 1 + static_cast<int64_t>(below(3) == 0 ? below(1000) : 0);
    regular_ = below(3) != 0;
    falls_ = below(3) == 0;
    odd_values_ = below(2) == 0;
    two_shapes_ = below(3) == 0;
  }

  void log(int64_t from, size_t rows) {
    int64_t step = from;
    for (size_t i = 0; i < rows; ++i) {
      one_row(step);
      step += regular_ ? stride_ : 1 + static_cast<int64_t>(below(static_cast<uint64_t>(2 * stride_)));
      if (falls_ && below(9000) == 0) step -= static_cast<int64_t>(below(5000)) * stride_;
      if (falls_ && below(3000) == 0) one_row(step);  // again
      if (falls_ && below(20'000) == 0) step = from;  // the loop is run again
      if (writer_->rows() > 200 + below(600)) writer_->commit();
      if (below(20'000) == 0) writer_->compact();
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  void one_row(int64_t step) {
    const bool second = two_shapes_ && below(100) == 0;
    if (falls_ && below(5000) == 0) writer_->row(std::nullopt, {value()});
    if (second) writer_->row(step, {value(), bits_of(1.0f)});
    else writer_->row(step, {value()});
  }
  uint64_t value() {
    if (odd_values_ && below(50) == 0) {
      constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0, 5e-324, 1e300};
      return bits_of(kOdd[below(std::size(kOdd))]);
    }
    return bits_of(std::ldexp(static_cast<double>(below(1u << 20)), -18) - 1);
  }

  BulkWriter* writer_;
  std::mt19937_64 random_;
  int64_t stride_;
  bool regular_, falls_, odd_values_, two_shapes_;
};

// Bug: rows that had to be decoded were put after those of the segment that follows them, and of one step the older
// value was drawn.
TEST_F(StepChartTest, OfALoopThatIsRunAgainInOneAttemptTheLastRowOfAStepIsDrawn) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < test_count(6); ++round) {
    set_compaction_gather_for_testing(50'000 << random() % 8);
    const RunFolder run = builder_.run("again", fmt::format("run-{}", round));
    BulkWriter writer(run, dead_writer(run, builder_.store()), {{"loss", ValueType::kFloat64}});
    const auto rows = static_cast<int64_t>(20'000 + random() % 30'000);
    for (const double value : {1.0, 2.0, 3.0}) {
      for (int64_t step = 0; step < rows; ++step) {
        writer.row(step, {bits_of(value)});
        if (writer.rows() > 200 + random() % 600) writer.commit();
        if (random() % 5000 == 0) writer.compact();
      }
    }
    if (random() % 2 == 0) writer.finish();
    else writer.commit();
    auto view = RunView::open(run);
    ASSERT_TRUE(view.ok());
    for (const uint32_t pixels : {1u, 100u, 2000u}) {
      for (const bool over_time : {false, true}) {
        ChartQuery query{.metric = "loss"};
        query.pixels = pixels;
        if (over_time) query.axis = ChartAxis::kTime;
        const auto got = query_chart(view->get(), query);
        ASSERT_TRUE(got.ok());
        for (const auto& cell : std::get<Chart<int64_t>>(got->chart).cells)
          ASSERT_EQ(std::pair(cell.min, cell.max), std::pair(3.0, 3.0)) << "round " << round << ", " << pixels;
      }
    }
  }
}

TEST_F(StepChartTest, AnyChartOfAnyRunIsThatOfAllRows) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < test_count(5); ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    // Long segments and, as on a slow machine, short ones.
    set_compaction_gather_for_testing(random() % 2 == 0 ? 8'000'000 : 50'000 << random() % 6);
    const RunFolder run = builder_.run("random", fmt::format("run-{}", round));
    const int writers = 1 + static_cast<int>(random() % 4);
    std::vector<std::unique_ptr<BulkWriter>> open;  // some never end
    int64_t from = static_cast<int64_t>(random() % 2000) - 1000;
    for (int i = 0; i < writers; ++i) {
      WriterIdentity who = dead_writer(run, builder_.store());
      who.started_us += i;
      const bool rank = random() % 4 == 0;
      who.attempt = rank ? 1 : 1 + i;
      who.rank = rank ? i : 0;
      if (!rank && i > 0 && random() % 2 == 0) who.resume_step = from + static_cast<int64_t>(random() % 40'000);
      open.push_back(std::make_unique<BulkWriter>(
          run, who, std::vector<BulkSeries>{{"loss", ValueType::kFloat64}, {"acc", ValueType::kFloat32}}));
      const size_t rows = 500 + random() % 60'000;
      RandomWriter(open.back().get(), random()).log(who.resume_step.value_or(from), rows);
      if (random() % 2 == 0) from += static_cast<int64_t>(rows);
      if (random() % 2 == 0) open.back()->finish();
      else open.back()->commit();
    }
    auto view = RunView::open(run);
    ASSERT_TRUE(view.ok());
    const MetricInfo& metric = **(*view)->metric("loss");
    const auto span = static_cast<uint64_t>(metric.step_max - metric.step_min) + 200;
    for (int zoom = 0; zoom < 40; ++zoom) {
      ChartQuery query{.metric = "loss"};
      query.pixels = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 3000 : 40));
      const auto step = [&] { return metric.step_min - 100 + static_cast<int64_t>(random() % span); };
      if (random() % 4 != 0) query.lo_int = step();
      if (random() % 4 != 0) query.hi_int = step();
      if (query.lo_int && query.hi_int && *query.lo_int > *query.hi_int) std::swap(query.lo_int, query.hi_int);
      if (random() % 5 == 0)
        query.smoothing = {random() % 2 == 0 ? Smoother::kMean : Smoother::kEma,
                           static_cast<double>(1 + random() % 5000)};
      if (random() % 6 == 0) query.attempts = {{1}};
      const std::string what = held_against_all_rows(view->get(), query, query.smoothing.kind == Smoother::kNone);
      ASSERT_EQ(what, "") << "zoom " << zoom << ": " << query.lo_int.value_or(-1) << " to " << query.hi_int.value_or(-1)
                          << ", " << query.pixels << " pixels";
    }
  }
}

TEST_F(StepChartTest, EveryTypeAndTheEndsOfTheStepsAreAsInAllRows) {
  const std::vector<std::pair<std::string, ValueType>> types = {
      {"f64", ValueType::kFloat64},   {"f32", ValueType::kFloat32}, {"f16", ValueType::kFloat16},
      {"bf16", ValueType::kBFloat16}, {"i64", ValueType::kInt64},   {"bool", ValueType::kBool}};
  std::mt19937_64 random(7);
  for (const auto& [name, type] : types) {
    BulkWriter writer(run_, identity(), {{name, type}});
    writer.row(INT64_MIN + 1, {0});
    for (int64_t i = 0; i < 20'000; ++i) {
      const uint64_t bits = type == ValueType::kBool ? random() % 2 : random() >> (64 - 8 * value_width(type));
      writer.row((i - 10'000) * 3, {bits});
      if (writer.rows() == 200) writer.commit();
    }
    writer.row(INT64_MAX, {1});
    writer.finish();
  }
  auto view = open();
  for (const auto& [name, type] : types) {
    for (const uint32_t pixels : {1u, 7u, 2000u})
      EXPECT_EQ(held_against_all_rows(view.get(), {.metric = name, .pixels = pixels}, true), "") << name;
    EXPECT_EQ(
        held_against_all_rows(view.get(), {.metric = name, .lo_int = -30'000, .hi_int = 29'000, .pixels = 5}, true), "")
        << name;
  }
}

class LongSeriesTest : public StepChartTest {
 protected:
  // Five segments of 36,000 rows, with levels of 512 and 32,768 steps, and 20,000 rows in frames.
  std::string log_long() {
    set_compaction_gather_for_testing(60'000'000'000);
    BulkWriter writer(run_, identity(), {{"loss", ValueType::kFloat32}});
    for (int64_t step = 0; step < 200'000; ++step) {
      writer.row(step, {bits_of(std::sin(static_cast<float>(step) / 1000))});
      if (writer.rows() == 300) writer.commit();
      if (step % 36'000 == 35'999) writer.compact();
    }
    writer.commit();
    return writer.path();
  }
  static void sql(const std::string& path, const char* statement) {
    auto db = Sqlite::open(path, SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok() && db->exec(statement).ok()) << statement;
  }
};

// All but header and directory of every segment is gone: what still comes was not read from there.
TEST_F(LongSeriesTest, AChartOfTheWholeReadsNoRows) {
  const std::string path = log_long();
  auto whole = query_chart(open().get(), {.metric = "loss", .pixels = 100, .decode_all = true});
  ASSERT_TRUE(whole.ok());
  sql(path, "UPDATE segments SET data = substr(data,1,length(data)-30000) || zeroblob(30000)");
  auto view = open();
  auto chart = query_chart(view.get(), {.metric = "loss", .pixels = 100});
  ASSERT_TRUE(chart.ok());
  EXPECT_EQ(chart_difference(*chart, *whole), "");
  EXPECT_TRUE(view->problems().empty());
}

TEST_F(LongSeriesTest, AWindowReadsOnlyTheSegmentsItsEdgesAreIn) {
  const std::string path = log_long();
  const ChartQuery query{.metric = "loss", .lo_int = 70'100, .hi_int = 130'100, .pixels = 50};
  ChartQuery all = query;
  all.decode_all = true;
  auto wanted = query_chart(open().get(), all);
  ASSERT_TRUE(wanted.ok());
  // Its first row is in the second one, its last in the fourth.
  sql(path,
      "UPDATE segments SET data = zeroblob(length(data)) WHERE (SELECT count(*) FROM segments AS before WHERE "
      "before.first_seq<segments.first_seq) NOT IN (1, 3)");
  auto view = open();
  auto chart = query_chart(view.get(), query);
  ASSERT_TRUE(chart.ok());
  EXPECT_EQ(chart_difference(*chart, *wanted), "");
  EXPECT_TRUE(view->problems().empty());
}

TEST_F(LongSeriesTest, WithoutLevelsOrWithLevelsOfOtherSegmentsTheChartIsTheSame) {
  const std::string path = log_long();
  const auto check = [this] {
    auto view = open();
    for (const int64_t width : {200'000, 50'000, 3'000}) {
      const ChartQuery query{.metric = "loss", .lo_int = 1234, .hi_int = 1234 + width, .pixels = 40};
      EXPECT_EQ(held_against_all_rows(view.get(), query, true), "") << width;
    }
  };
  sql(path, "DELETE FROM levels WHERE level=0");
  check();
  sql(path, "UPDATE levels SET last_seq=last_seq+1");
  check();
  sql(path, "DROP TABLE levels");
  check();
  sql(path, "DROP INDEX segments_ends");
  check();
}

// What a chart of an open run found is kept for the next one: segments that are gone by then are searched for again.
TEST_F(LongSeriesTest, ChartsOfAnOpenRunOutliveTheMergingOfItsSegments) {
  set_compaction_gather_for_testing(60'000'000'000);
  BulkWriter writer(run_, identity(), {{"loss", ValueType::kFloat32}});
  int64_t step = 0;
  const auto log_segment = [&] {
    for (const int64_t end = step + 12'000; step < end; ++step) {
      writer.row(step, {bits_of(std::sin(static_cast<float>(step) / 1000))});
      if (step % 100 == 99) writer.commit();
    }
    writer.compact();
  };
  for (int i = 0; i < 5; ++i) log_segment();
  const auto segments = [&writer] {
    auto db = Sqlite::open(writer.path(), SqliteOpen::kRead, 1000);
    return *db->query_int("SELECT count(*) FROM segments");
  };
  const ChartQuery all{.metric = "loss", .pixels = 40};
  const ChartQuery window{.metric = "loss", .lo_int = 7'001, .hi_int = 50'000, .pixels = 40};
  auto view = open();
  EXPECT_EQ(held_against_all_rows(view.get(), all, true), "");
  const int64_t before = segments();
  for (int i = 0; i < 40 && segments() >= before; ++i) log_segment();
  ASSERT_LT(segments(), before);
  EXPECT_EQ(held_against_all_rows(view.get(), all, true), "");
  EXPECT_EQ(held_against_all_rows(view.get(), window, true), "");
  EXPECT_TRUE(view->problems().empty());
}

TEST_F(LongSeriesTest, LevelsThatAreMoreThanIsRememberedAreReadAgain) {
  const std::string path = log_long();
  LogIndexCache memory;
  const auto visited_twice = [&] {
    auto reader = WriterReader::open(path);
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    std::vector<Sqlite> dbs;
    dbs.push_back(std::move(*db));
    memory = LogIndexCache();
    LogIndex look({path}, std::move(dbs), {LogPosition()}, &memory);
    EXPECT_TRUE(look.pieces((*reader)->snapshot()->end_of_log()).ok());
    size_t rows = 0;
    for (int i = 0; i < 2; ++i) rows += (*look.coarse_levels(1, 1, false))->size();
    return rows;
  };
  const size_t all = visited_twice();
  EXPECT_EQ(memory.levels.size(), 1u);
  EXPECT_LE(memory.level_bytes, kLogIndexCacheBytesMax);
  sql(path, fmt::format("UPDATE levels SET data=zeroblob({}) WHERE id=(SELECT min(id) FROM levels WHERE level=1)",
                        kLogIndexCacheBytesMax)
                .c_str());
  EXPECT_EQ(visited_twice(), all);
  EXPECT_TRUE(memory.levels.empty());
}

TEST_F(LongSeriesTest, LevelsOverTimesAreReadWithThoseOverStepsWhereTheyAreAskedFor) {
  const std::string path = log_long();
  sql(path, "DELETE FROM levels WHERE level=3 AND first_seq=(SELECT min(first_seq) FROM levels)");
  auto reader = WriterReader::open(path);
  std::vector<Sqlite> dbs;
  dbs.push_back(std::move(*Sqlite::open(path, SqliteOpen::kRead, 1000)));
  LogIndexCache memory;
  LogIndex look({path}, std::move(dbs), {LogPosition()}, &memory);
  ASSERT_TRUE(look.pieces((*reader)->snapshot()->end_of_log()).ok());
  const auto steps = *look.coarse_levels(1, 1, false), both = *look.coarse_levels(1, 1, true);
  ASSERT_EQ(steps->size(), both->size());
  ASSERT_GT(both->size(), 1u);
  for (size_t i = 0; i < both->size(); ++i) {
    EXPECT_EQ((*steps)[i].steps, (*both)[i].steps);
    EXPECT_EQ((*steps)[i].times, "");
    EXPECT_EQ((*both)[i].times.empty(), i == 0);
  }
  EXPECT_EQ(*look.coarse_levels(1, 1, false), both);
}

// Of a long log they are listed by an index: the pages with their data are not read.
TEST_F(LongSeriesTest, SegmentsAreListedByAnIndexWhereThereAreLevels) {
  auto db = Sqlite::open(log_long(), SqliteOpen::kRead, 1000);
  ASSERT_TRUE(db.ok());
  auto plan = db->prepare("EXPLAIN QUERY PLAN SELECT first_seq, last_seq, points FROM segments");
  ASSERT_TRUE(plan.ok() && *plan->step());
  EXPECT_NE(plan->bytes_at(3).find("COVERING INDEX segments_ends"), std::string_view::npos) << plan->bytes_at(3);
}

TEST_F(LongSeriesTest, ADamagedLevelIsNotBelieved) {
  const std::string path = log_long();
  sql(path, "UPDATE levels SET data = substr(data,1,20) || x'ff' || substr(data,22)");
  auto view = open();
  EXPECT_EQ(held_against_all_rows(view.get(), {.metric = "loss", .pixels = 100}, false), "");
  EXPECT_TRUE(view->problems().empty()) << "rows are whole";
}

TEST_F(LongSeriesTest, DamageOfARowsSegmentIsNamedWhereItIsDecoded) {
  const std::string path = log_long();
  sql(path, "UPDATE segments SET data = substr(data,1,length(data)-3000) || zeroblob(3000)");
  auto view = open();
  EXPECT_TRUE(query_chart(view.get(), {.metric = "loss", .lo_int = 100, .hi_int = 900}).ok());
  EXPECT_FALSE(view->problems().empty());
}

}  // namespace
}  // namespace tracker::internal
