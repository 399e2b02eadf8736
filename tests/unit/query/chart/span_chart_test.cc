// SPDX-License-Identifier: MIT
// Goal: a chart over time or over another metric that is read a segment at a time is that of all rows in memory, bit by
// bit (from levels over times: but for sums), whatever was logged, and is read so wherever it can be. Method: random
// runs (attempts that overlap and resume, ranks, rows without a step, clocks that go back, an x that falls, repeats, is
// NaN or infinite) whose charts are held against those that decode every row. The seed is printed: TRACKER_TEST_SEED=….
#include "query/chart/span_chart.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "query/chart/view_rows.h"
#include "storage/database/compaction.h"
#include "support/chart_difference.h"
#include "support/child.h"
#include "support/log_writer.h"
#include "support/random_frame.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool same(double a, double b) { return bits_of(a) == bits_of(b); }
bool same(int64_t a, int64_t b) { return a == b; }

template <typename X>
std::string difference(const Chart<X>& a, const Chart<X>& b) {
  if (a.points != b.points || a.cells.size() != b.cells.size())
    return fmt::format("{} cells instead of {}", a.cells.size(), b.cells.size());
  for (size_t i = 0; i < a.cells.size(); ++i) {
    const ChartCell<X>&c = a.cells[i], &d = b.cells[i];
    const bool equal = same(c.x0, d.x0) && same(c.x1, d.x1) && same(c.first, d.first) && same(c.last, d.last) &&
                       same(c.min, d.min) && same(c.max, d.max) && same(c.sum, d.sum) && c.count == d.count &&
                       c.nan == d.nan && c.pos_inf == d.pos_inf && c.neg_inf == d.neg_inf;
    if (!equal) return fmt::format("cell {} of {}: {} to {}, not {} to {}", i, a.cells.size(), c.x0, c.x1, d.x0, d.x1);
  }
  return "";
}

std::string difference(const ChartResult& got, const ChartResult& wanted) {
  if (got.rows != wanted.rows) return fmt::format("{} rows instead of {}", got.rows, wanted.rows);
  if (got.left_out != wanted.left_out) return fmt::format("{} left out, not {}", got.left_out, wanted.left_out);
  if (got.chart.index() != wanted.chart.index()) return "another axis";
  const auto* const by_int = std::get_if<Chart<int64_t>>(&got.chart);
  const std::string cells = by_int != nullptr
                                ? difference(*by_int, std::get<Chart<int64_t>>(wanted.chart))
                                : difference(std::get<Chart<double>>(got.chart), std::get<Chart<double>>(wanted.chart));
  if (!cells.empty()) return cells;
  const auto equal = [](double a, double b) { return same(a, b); };
  return std::equal(got.smoothed.begin(), got.smoothed.end(), wanted.smoothed.begin(), wanted.smoothed.end(), equal)
             ? ""
             : "the curve";
}

class SpanChartTest : public ReadTest {
 protected:
  enum class Way : uint8_t { kAny, kSpans, kAllRows };
  static std::string held_against_all_rows(RunView* view, ChartQuery query, Way way = Way::kAny) {
    Selection selection;
    selection.metrics = {query.metric};
    if (query.axis == ChartAxis::kMetric) selection.metrics.push_back(query.x_metric);
    selection.attempts = query.attempts;
    const auto direct = chart_by_spans(view, query, selection);
    if (!direct.ok()) return direct.status().to_string();
    if (way == Way::kSpans && !*direct) return "all rows were decoded";
    if (way == Way::kAllRows && *direct) return "not all rows were decoded";
    auto got = query_chart(view, query);
    query.decode_all = true;
    auto wanted = query_chart(view, query);
    if (!got.ok() || !wanted.ok()) return got.status().to_string() + wanted.status().to_string();
    if (const std::string what = *direct ? difference(**direct, *wanted) : ""; !what.empty()) return what;
    return query.axis == ChartAxis::kTime ? chart_difference(*got, *wanted) : difference(*got, *wanted);
  }

  // Of `rows` rows with a step each; the clock goes back so often.
  void log_with_clock_set_back(int64_t rows, int times) {
    BulkWriter writer(run_, dead_writer(run_, builder_.store()), {{"loss", ValueType::kFloat32}});
    for (int64_t step = 0; step < rows; ++step) {
      writer.row(step, {bits_of(std::sin(static_cast<float>(step) / 1000))});
      if (step % (rows / (times + 1)) == 0 && step > 0) writer.pass(-5'000'500);
      if (writer.rows() == 300) writer.commit();
      if (step % 9'000 == 0) writer.compact();
    }
    writer.finish();
  }
};

// One attempt of a rank, random in all that such charts must cope with.
class RandomWriter {
 public:
  RandomWriter(BulkWriter* writer, uint64_t seed) : writer_(writer), random_(seed) {
    clock_back_ = below(3) == 0;
    stepless_ = below(4) == 0;
    falls_ = below(3) == 0;
    x_kind_ = below(5);
    x_every_ = below(2) == 0 ? 1 : 1 + below(50);
  }

  void log(int64_t from, size_t rows) {
    int64_t step = from;
    for (size_t i = 0; i < rows; ++i) {
      if (below(4) == 0) writer_->pass(static_cast<int64_t>(below(300'000)));
      if (clock_back_ && below(20'000) == 0) writer_->pass(-static_cast<int64_t>(below(2'000'000)));
      if (stepless_ && below(2000) == 0) writer_->row(std::nullopt, {value()});
      if (below(x_every_) == 0) writer_->row(step, {value(), bits_of(x_at(i))});
      else writer_->row(step, {value()});
      step += below(10) == 0 ? static_cast<int64_t>(below(20)) : 1;
      if (falls_ && below(9000) == 0) step -= static_cast<int64_t>(below(5000));
      if (writer_->rows() > 200 + below(600)) writer_->commit();
      if (below(20'000) == 0) writer_->compact();
    }
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  uint64_t value() {
    constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0, 5e-324, 1e300};
    if (below(100) == 0) return bits_of(kOdd[below(std::size(kOdd))]);
    return bits_of(std::ldexp(static_cast<double>(below(1u << 20)), -18) - 1);
  }
  double x_at(size_t row) {
    const auto r = static_cast<double>(row);
    if (x_kind_ == 0) return std::floor(r / 500);
    if (x_kind_ == 1) return r * 0.1 + (below(1000) == 0 ? 3 : 0);
    if (x_kind_ == 2) return std::sin(r / 3000);
    if (x_kind_ == 3) {
      constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0};
      return below(30) == 0 ? kOdd[below(std::size(kOdd))] : r;
    }
    return -r;
  }

  BulkWriter* writer_;
  std::mt19937_64 random_;
  bool clock_back_, stepless_, falls_;
  uint64_t x_kind_, x_every_;
};

TEST_F(SpanChartTest, AnyChartOfAnyRunIsThatOfAllRows) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    set_compaction_gather_for_testing(random() % 2 == 0 ? 8'000'000 : 50'000 << random() % 6);
    const RunFolder run = builder_.run("random", fmt::format("run-{}", round));
    const int writers = 1 + static_cast<int>(random() % 3);
    std::vector<std::unique_ptr<BulkWriter>> open;  // some never end
    int64_t from = static_cast<int64_t>(random() % 2000) - 1000;
    for (int i = 0; i < writers; ++i) {
      WriterIdentity who = dead_writer(run, builder_.store());
      who.started_us += i;
      const bool rank = random() % 4 == 0;
      who.attempt = rank ? 1 : 1 + i;
      who.rank = rank ? i : 0;
      if (!rank && i > 0 && random() % 2 == 0) who.resume_step = from + static_cast<int64_t>(random() % 20'000);
      open.push_back(std::make_unique<BulkWriter>(
          run, who, std::vector<BulkSeries>{{"loss", ValueType::kFloat64}, {"x", ValueType::kFloat64}}));
      open.back()->pass(static_cast<int64_t>(random() % 40'000'000'000));
      const size_t rows = 500 + random() % 30'000;
      RandomWriter(open.back().get(), random()).log(who.resume_step.value_or(from), rows);
      if (random() % 2 == 0) from += static_cast<int64_t>(rows);
      if (random() % 2 == 0) open.back()->finish();
      else open.back()->commit();
    }
    auto view = RunView::open(run);
    ASSERT_TRUE(view.ok());
    for (int zoom = 0; zoom < 24 / kSlowDown; ++zoom) {
      ChartQuery query{.metric = "loss", .axis = zoom % 2 == 0 ? ChartAxis::kTime : ChartAxis::kMetric};
      if (query.axis == ChartAxis::kMetric) query.x_metric = "x";
      query.pixels = 1 + static_cast<uint32_t>(random() % (random() % 3 == 0 ? 3000 : 40));
      const auto time = [&] { return kBuilderStartUs + static_cast<int64_t>(random() % 60'000'000'000); };
      if (random() % 2 == 0) query.lo_int = time();
      if (random() % 2 == 0) query.hi_int = time();
      if (query.lo_int && query.hi_int && *query.lo_int > *query.hi_int) std::swap(query.lo_int, query.hi_int);
      const auto x = [&] { return static_cast<double>(random() % 60'000) / 4 - 5000; };
      if (random() % 2 == 0) query.lo = x();
      if (random() % 2 == 0) query.hi = x();
      if (query.lo && query.hi && *query.lo > *query.hi) std::swap(query.lo, query.hi);
      if (random() % 3 == 0) {
        constexpr Smoother kKinds[] = {Smoother::kMean, Smoother::kEma, Smoother::kTensorBoard};
        query.smoothing.kind = kKinds[random() % std::size(kKinds)];
        query.smoothing.window =
            query.smoothing.kind == Smoother::kTensorBoard ? 0.9 : static_cast<double>(1 + random() % 5'000'000);
      }
      if (random() % 6 == 0) query.attempts = {{1}};
      ASSERT_EQ(held_against_all_rows(view->get(), query), "")
          << "zoom " << zoom << ", " << query.pixels << " pixels, smoother " << int(query.smoothing.kind);
    }
  }
}

TEST_F(SpanChartTest, AClockThatWasSetBackSomeTimesIsMerged) {
  log_with_clock_set_back(50'000, static_cast<int>(kTimeStretchesMax) - 1);
  auto view = open();
  for (const uint32_t pixels : {1u, 100u, 2000u})
    EXPECT_EQ(
        held_against_all_rows(view.get(), {.metric = "loss", .axis = ChartAxis::kTime, .pixels = pixels}, Way::kSpans),
        "");
  EXPECT_EQ(held_against_all_rows(view.get(),
                                  {.metric = "loss",
                                   .axis = ChartAxis::kTime,
                                   .lo_int = kBuilderStartUs + 5'000'000,
                                   .hi_int = kBuilderStartUs + 16'000'000,
                                   .pixels = 50,
                                   .smoothing = {Smoother::kEma, 1e6}},
                                  Way::kSpans),
            "");
}

TEST_F(SpanChartTest, AClockThatWasSetBackMoreOftenNeedsAllRows) {
  log_with_clock_set_back(50'000, static_cast<int>(kTimeStretchesMax));
  EXPECT_EQ(held_against_all_rows(open().get(), {.metric = "loss", .axis = ChartAxis::kTime}, Way::kAllRows), "");
}

TEST_F(SpanChartTest, AnXThatRisesAndOneThatFallsAreReadSegmentBySegment) {
  BulkWriter writer(run_, dead_writer(run_, builder_.store()),
                    {{"loss", ValueType::kFloat32}, {"tokens", ValueType::kInt64}, {"rate", ValueType::kFloat64}});
  for (int64_t step = 0; step < 30'000; ++step) {
    const double rate = 1 / (1 + static_cast<double>(step % 7000));
    writer.row(step, {bits_of(std::sin(static_cast<float>(step))), static_cast<uint64_t>(step / 10), bits_of(rate)});
    if (writer.rows() == 300) writer.commit();
    if (step % 8'000 == 0) writer.compact();
  }
  writer.finish();
  auto view = open();
  for (const char* x : {"tokens", "rate"})
    for (const uint32_t pixels : {1u, 100u, 20'000u}) {
      ChartQuery query{.metric = "loss", .axis = ChartAxis::kMetric, .x_metric = x, .pixels = pixels};
      EXPECT_EQ(held_against_all_rows(view.get(), query, Way::kSpans), "") << x;
      query.lo = 0.0002;
      query.hi = 1500;
      EXPECT_EQ(held_against_all_rows(view.get(), query, Way::kSpans), "") << x;
    }
}

TEST_F(SpanChartTest, IntegersBeyondADoubleKeepTheirOrder) {
  BulkWriter writer(run_, dead_writer(run_, builder_.store()),
                    {{"loss", ValueType::kFloat32}, {"tokens", ValueType::kInt64}});
  for (int64_t step = 0; step < 5'000; ++step)
    writer.row(step, {bits_of(static_cast<float>(step)), static_cast<uint64_t>((int64_t{1} << 60) - step)});
  writer.finish();
  const ChartQuery query{.metric = "loss", .axis = ChartAxis::kMetric, .x_metric = "tokens", .pixels = 3};
  EXPECT_EQ(held_against_all_rows(open().get(), query, Way::kAllRows), "");
}

TEST_F(SpanChartTest, WhatHoldsNothingIsEmptyAndUnknownMetricsAreNamed) {
  BulkWriter writer(run_, dead_writer(run_, builder_.store()),
                    {{"loss", ValueType::kFloat32}, {"x", ValueType::kFloat32}});
  for (int64_t step = 0; step < 100; ++step) writer.row(step, {bits_of(1.0f)});
  writer.row(1'000, {bits_of(1.0f), bits_of(std::numeric_limits<float>::quiet_NaN())});
  writer.finish();
  auto view = open();
  ChartQuery query{.metric = "loss", .axis = ChartAxis::kMetric, .x_metric = "x"};
  EXPECT_EQ(held_against_all_rows(view.get(), query, Way::kSpans), "");
  query.lo = 1;
  query.hi = 2;
  EXPECT_EQ(held_against_all_rows(view.get(), query, Way::kSpans), "");
  query.x_metric = "y";
  EXPECT_EQ(query_chart(view.get(), query).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tracker::internal
