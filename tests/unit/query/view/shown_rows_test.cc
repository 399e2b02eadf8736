// SPDX-License-Identifier: MIT
// Goal: after a resume the numbers of a metric are those of all rows that are shown, and few rows are decoded for
// them. Method: random runs (attempts that overlap, ranks, shapes, rows without a step,
// steps and clocks that go back, two types of one name, NaN, equal times, compaction at random moments, one reader that
// stays and a new one) whose numbers are held against those of the decoded rows. The seed is printed:
// TRACKER_TEST_SEED=…. Sums are of small integers, so that they do not depend on the grouping.
#include "query/view/shown_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "query/view/attempts.h"
#include "query/view/merge.h"
#include "storage/database/compaction.h"
#include "storage/database/log_scan.h"
#include "storage/sqlite/sqlite.h"
#include "support/child.h"
#include "support/log_writer.h"
#include "support/random_frame.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

// The numbers of a metric from its rows, each decoded.
MetricInfo by_all_rows(const std::vector<WriterSnapshot>& writers, History rows) {
  MetricInfo out;
  drop_shadowed(Shadow(writers), &rows);
  ShownStats& shown = out.shown;
  for (size_t row = 0; row < rows.size(); ++row) {
    const RowSource& source = rows.row_source(row);
    const int64_t time = rows.times_us[row];
    if (shown.points == 0 ||
        std::make_pair(source.attempt, time) < std::make_pair(shown.first_attempt, shown.first_time_us)) {
      shown.first_attempt = source.attempt;
      shown.first_time_us = time;
      out.first_type = rows.row_type(row);
      out.first_bits = rows.row_bits(row);
    }
    if (shown.points == 0 || std::make_tuple(source.attempt, -source.rank, time) >=
                                 std::make_tuple(shown.last_attempt, -shown.last_rank, shown.last_time_us)) {
      shown.last_attempt = source.attempt;
      shown.last_rank = source.rank;
      shown.last_time_us = time;
      out.last_type = rows.row_type(row);
      out.last_bits = rows.row_bits(row);
      out.last_step = rows.steps[row];
    }
    ++shown.points;
    const double v = to_double(rows.row_type(row), rows.row_bits(row));
    shown.nan += std::isnan(v) ? 1 : 0;
    if (!std::isfinite(v)) continue;
    shown.min = shown.finite > 0 ? std::min(shown.min, v) : v;
    shown.max = shown.finite > 0 ? std::max(shown.max, v) : v;
    shown.sum += v;
    ++shown.finite;
  }
  return out;
}

std::string text_of(const MetricInfo& metric) {
  const ShownStats& shown = metric.shown;
  if (shown.points == 0) return "nothing";
  return fmt::format("{} points, {} finite, {} nan, {} to {}, sum {}, last {}/{}/{} {} {} at {}, first {}/{} {} {}",
                     shown.points, shown.finite, shown.nan, shown.finite > 0 ? shown.min + 0 : 0,
                     shown.finite > 0 ? shown.max + 0 : 0, shown.sum, shown.last_attempt, shown.last_rank,
                     shown.last_time_us - kBuilderStartUs, static_cast<int>(metric.last_type), metric.last_bits,
                     metric.last_step, shown.first_attempt, shown.first_time_us - kBuilderStartUs,
                     static_cast<int>(metric.first_type), metric.first_bits);
}

// How many metrics rested on rows.
int expect_as_all_rows(RunView* view, const std::string& what) {
  int out = 0;
  const std::vector<MetricInfo> merged = merge_metrics(view->writers());
  const std::vector<MetricInfo> got = view->metrics();
  for (size_t i = 0; i < merged.size(); ++i) {
    if (!needs_rows(merged[i])) continue;
    auto rows = view->history(merged[i].name, true);
    EXPECT_TRUE(rows.ok());
    EXPECT_EQ(text_of(got[i]), text_of(by_all_rows(view->writers(), std::move(*rows)))) << got[i].name << ", " << what;
    ++out;
  }
  EXPECT_TRUE(view->problems().empty()) << what << ": " << view->problems().front();
  return out;
}

// A writer of "a" as float64 and as int64, "b", "c" and "d", random in all that numbers must cope with.
class TryingWriter {
 public:
  TryingWriter(const RunFolder& run, const WriterIdentity& identity, int64_t step, uint64_t seed)
      : identity_(identity), random_(seed), db_(std::move(*WriterDb::create(run.path, identity))), step_(step) {
    steps_fall_ = below(2) == 0;
    clock_falls_ = below(3) == 0;
    shapes_ = 1 + below(4);
    now_us_ += static_cast<int64_t>(below(50));
  }

  void append(size_t rows) {
    Frame frame;
    frame.writer = identity_.writer;
    frame.seq = db_->last_seq() + 1;
    if (frame.seq == 1)
      frame.defs = {{1, ValueType::kFloat64, "a"},
                    {2, ValueType::kFloat32, "b"},
                    {3, ValueType::kInt64, "a"},
                    {4, ValueType::kBFloat16, "c"},
                    {5, ValueType::kFloat64, "d"}};
    for (size_t i = 0; i < rows; ++i) log_row(&frame, static_cast<int64_t>(i));
    if (frame.blocks.size() == 1 && below(2) == 0) frame.blocks[0].order.clear();
    ASSERT_TRUE(db_->append({{frame.seq, encode_frame(frame), {}}}, false).ok());
  }
  std::string path() const { return db_->path(); }
  void compact() {
    while (db_->compact(UINT64_MAX)) continue;
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  void log_row(Frame* frame, int64_t ordinal) {
    static const std::vector<std::vector<uint32_t>> kShapes = {{1, 2}, {4, 1}, {3, 5}, {2}};
    static const ValueType kTypes[] = {ValueType::kFloat64, ValueType::kFloat32, ValueType::kInt64,
                                       ValueType::kBFloat16, ValueType::kFloat64};
    const std::vector<uint32_t>& series = kShapes[below(4) == 0 ? below(shapes_) : 0];
    const bool has_steps = below(100) != 0;
    auto block = std::find_if(frame->blocks.begin(), frame->blocks.end(),
                              [&](const Block& b) { return b.series == series && b.has_steps == has_steps; });
    if (block == frame->blocks.end()) {
      block = frame->blocks.insert(block, Block());
      block->series = series;
      for (const uint32_t id : series) block->types.push_back(kTypes[id - 1]);
      block->has_steps = has_steps;
      block->values.resize(series.size());
    }
    if (steps_fall_ && below(400) == 0) step_ -= static_cast<int64_t>(below(300));
    if (has_steps) block->steps.push_back(below(20) == 0 ? step_ : ++step_);
    now_us_ += static_cast<int64_t>(below(3));
    if (clock_falls_ && below(400) == 0) now_us_ -= static_cast<int64_t>(below(300));
    block->times_us.push_back(now_us_);
    block->order.push_back(ordinal);
    for (size_t i = 0; i < series.size(); ++i) block->values[i].push_back(value_of(kTypes[series[i] - 1]));
  }
  uint64_t value_of(ValueType type) {
    const auto n = static_cast<int>(below(200)) - 100;
    if (type == ValueType::kInt64) return std::bit_cast<uint64_t>(int64_t{n});
    const float odd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.0f};
    const float v = below(50) == 0 ? odd[below(3)] : static_cast<float>(n);
    if (type == ValueType::kFloat64) return bits_of(static_cast<double>(v));
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    return type == ValueType::kFloat32 ? bits : bits >> 16;
  }

  WriterIdentity identity_;
  std::mt19937_64 random_;
  std::unique_ptr<WriterDb> db_;
  int64_t step_, now_us_ = kBuilderStartUs;
  bool steps_fall_ = false, clock_falls_ = false;
  uint64_t shapes_ = 1;
};

class ShownRowsTest : public ReadTest {
 protected:
  ~ShownRowsTest() override {
    set_compaction_gather_for_testing(0);
    set_log_round_for_testing(kLogRoundNs);
  }
  void some_runs(int rounds, std::mt19937_64* random, int* rested) {
    for (int round = 0; round < rounds; ++round) {
      // Segments are cut by time: a slow build gets as many rows into one.
      set_compaction_gather_for_testing(kSlowDown * ((*random)() % 2 == 0 ? 8'000'000 : 20'000 << (*random)() % 6));
      const RunFolder run = builder_.run("random", fmt::format("run-{}", round));
      std::vector<std::unique_ptr<TryingWriter>> writers;
      std::unique_ptr<RunView> stays;
      for (int look = 0; look < 12; ++look) {
        if (look == 0 || (*random)() % 3 == 0) writers.push_back(next_writer(run, random));
        for (const auto& writer : writers) {
          for (uint64_t frames = (*random)() % 40; frames > 0; --frames) writer->append((*random)() % 60);
          if ((*random)() % 4 == 0) writer->compact();
        }
        if (stays == nullptr) stays = std::move(*RunView::open(run));
        else ASSERT_TRUE(stays->refresh().ok());
        const auto fresh = RunView::open(run);
        // What was compacted since the snapshot is read as it is now.
        if ((*random)() % 3 == 0) writers[(*random)() % writers.size()]->compact();
        const std::string what = fmt::format("round {}, look {}", round, look);
        *rested += expect_as_all_rows(stays.get(), what + ", the reader that stays");
        (void)expect_as_all_rows(fresh->get(), what + ", a new reader");
        if (HasFailure()) return;
      }
      for (const auto& writer : writers) segments_ += segments_of(writer->path()).size();
    }
  }
  std::unique_ptr<TryingWriter> next_writer(const RunFolder& run, std::mt19937_64* random) {
    WriterIdentity who = dead_writer(run, builder_.store());
    if ((*random)() % 4 != 0) ++attempt_;
    who.attempt = attempt_;
    who.rank = static_cast<int64_t>((*random)() % 3);
    who.started_us += static_cast<int64_t>((*random)() % 3);
    const auto step = static_cast<int64_t>((*random)() % 2000);
    if ((*random)() % 3 != 0) who.resume_step = step;
    return std::make_unique<TryingWriter>(run, who, step, (*random)());
  }

  // Two attempts: some long segments, and what follows a resume in the middle.
  void log_long() {
    set_compaction_gather_for_testing(60'000'000'000);
    first_ = std::make_unique<BulkWriter>(run_, dead_writer(run_, builder_.store()), kSeries);
    for (int64_t step = 0; step < 400'000; ++step) {
      first_->row(step, {bits_of(static_cast<double>(step % 1000)), bits_of(1.0f)});
      if (first_->rows() == 1000) first_->commit();
      if (step % 36'000 == 35'999) first_->compact();
    }
    first_->finish();
    WriterIdentity who = dead_writer(run_, builder_.store());
    who.attempt = 2;
    who.resume_step = 204'999;
    second_ = std::make_unique<BulkWriter>(run_, who, kSeries);
    go_on(205'000, 500);
  }
  void go_on(int64_t step, int rows) {
    for (int i = 0; i < rows; ++i) second_->row(step + i, {bits_of(7.0), bits_of(2.0f)});
    second_->commit();
  }
  static uint64_t decoded_blocks(RunView* view) {
    std::vector<MetricInfo> metrics = merge_metrics(view->writers());
    std::vector<LogDamage> damage;
    uint64_t out = 0;
    const auto reader_of = [view](size_t i) { return view->reader(i); };
    EXPECT_TRUE(complete_shown(view->writers(), reader_of, &metrics, &damage, &out).ok());
    EXPECT_TRUE(damage.empty());
    return out;
  }
  // First and last frame of each.
  static std::vector<std::pair<int64_t, int64_t>> segments_of(const std::string& path) {
    std::vector<std::pair<int64_t, int64_t>> out;
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    auto rows = db->prepare("SELECT first_seq, last_seq FROM segments ORDER BY first_seq");
    while (*rows->step()) out.emplace_back(rows->int_at(0), rows->int_at(1));
    return out;
  }

  const std::vector<BulkSeries> kSeries{{"loss", ValueType::kFloat64}, {"acc", ValueType::kFloat32}};
  std::unique_ptr<BulkWriter> first_, second_;
  int64_t attempt_ = 0;
  uint64_t segments_ = 0;  // of all random runs
};

TEST_F(ShownRowsTest, OfAnyRunBehindResumesTheNumbersAreThoseOfAllRows) {
  std::mt19937_64 random = seeded_random();
  int rested = 0;
  some_runs(test_count(6), &random, &rested);
  EXPECT_GT(rested, 0);
  EXPECT_GT(segments_, 0u);
}

TEST_F(ShownRowsTest, ALogThatIsReadInManyRoundsTellsTheSame) {
  std::mt19937_64 random = seeded_random();
  set_log_round_for_testing(0);
  int rested = 0;
  some_runs(test_count(2), &random, &rested);
}

TEST_F(ShownRowsTest, OfRowsWithOneTimeInTwoBlocksOfASegmentTheOrderLoggedTellsTheFirstAndTheLast) {
  set_compaction_gather_for_testing(60'000'000'000);  // one segment, on a slow machine too
  for (const bool both_first : {false, true}) {
    const RunFolder run = builder_.run("ties", both_first ? "both-first" : "both-last");
    BulkWriter writer(run, dead_writer(run, builder_.store()), kSeries);
    const auto log = [&writer](int64_t step, bool both) {
      writer.pass(-1000);
      const double value = static_cast<double>(2 * step) + (both ? 1 : 0);
      if (both) writer.row(step, {bits_of(value), bits_of(1.0f)});
      else writer.row(step, {bits_of(value)});
    };
    for (int64_t step = 0; step < 2000; ++step) {
      if (step < 1000) log(step, both_first);
      if (step < 1000 || both_first) log(step, !both_first);
      else log(step, true);
      if (step % 10 == 9) writer.commit();
    }
    writer.compact();
    ASSERT_EQ(segments_of(writer.path()).size(), 1u);
    WriterIdentity who = dead_writer(run, builder_.store());
    who.attempt = 2;
    who.resume_step = 999;
    BulkWriter second(run, who, {{"other"}});
    second.row(1000, {0});
    second.commit();
    const auto view = RunView::open(run);
    EXPECT_GE(expect_as_all_rows(view->get(), "all at one time"), 1);
    const MetricInfo loss = (*view)->metrics()[1];
    EXPECT_EQ(to_double(loss.last_type, loss.last_bits), both_first ? 1998.0 : 1999.0);
    EXPECT_EQ(to_double(loss.first_type, loss.first_bits), both_first ? 1.0 : 0.0);
  }
}

TEST_F(ShownRowsTest, OfALongRunOnlyTheBlocksAroundTheResumeAndAtTheEndsAreDecoded) {
  log_long();
  ASSERT_GE(segments_of(first_->path()).size(), 5u);
  auto view = open();
  EXPECT_EQ(expect_as_all_rows(view.get(), "two metrics"), 2);
  // Of the first attempt the segment with the resume and that with the first row, of the second its frame.
  EXPECT_LE(decoded_blocks(view.get()), 3u);
}

TEST_F(ShownRowsTest, ALaterResumeInFrontOfTheFirstCutsAnew) {
  log_long();
  auto view = open();
  EXPECT_EQ(to_json(*view->summary().find("loss")), "7.0");
  EXPECT_EQ(view->metrics()[1].shown.points, 205'500u);
  WriterIdentity who = dead_writer(run_, builder_.store());
  who.attempt = 3;
  who.resume_step = 1'499;
  BulkWriter third(run_, who, kSeries);
  third.row(1'500, {bits_of(-3.0), bits_of(1.0f)});
  third.commit();
  ASSERT_TRUE(view->refresh().ok());
  EXPECT_EQ(view->metrics()[1].shown.points, 1'501u);
  EXPECT_EQ(view->metrics()[1].shown.min, -3.0);
  EXPECT_EQ(expect_as_all_rows(view.get(), "after the second resume"), 2);
}

// The last row that is shown is in a segment whose columns are gone: those before count, and it is said each time.
TEST_F(ShownRowsTest, WhatIsDamagedIsNamedAtEachLookAndTheRestCounts) {
  set_compaction_gather_for_testing(60'000'000'000);
  BulkWriter writer(run_, dead_writer(run_, builder_.store()), {{"loss"}});
  for (int64_t step = 0; step < 200'000; ++step) {
    writer.row(step, {static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u >> 12});
    if (writer.rows() == 1000) writer.commit();
    if (step % 36'000 == 35'999) writer.compact();
  }
  writer.commit();
  const auto segments = segments_of(writer.path());
  ASSERT_GE(segments.size(), 2u);
  const auto [first_seq, last_seq] = segments[1];
  WriterIdentity who = dead_writer(run_, builder_.store());
  who.attempt = 2;
  who.resume_step = 1000 * last_seq - 1;
  BulkWriter second(run_, who, {{"other"}});
  second.row(*who.resume_step + 1, {0});
  second.commit();
  {
    auto db = Sqlite::open(writer.path(), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok());
    const std::string sql = fmt::format(
        "UPDATE segments SET data = substr(data,1,2000) || zeroblob(length(data)-2000) WHERE first_seq={}", first_seq);
    ASSERT_TRUE(db->exec(sql.c_str()).ok());
  }
  auto view = open();
  for (int look = 0; look < 2; ++look) {
    const std::vector<MetricInfo> metrics = view->metrics();
    ASSERT_EQ(metrics[0].name, "loss");
    EXPECT_EQ(metrics[0].shown.points, static_cast<uint64_t>(1000 * (first_seq - 1)));
    EXPECT_EQ(metrics[0].last_step, 1000 * (first_seq - 1) - 1);
    EXPECT_EQ(view->problems().size(), 1u);
    ASSERT_TRUE(view->refresh().ok());
  }
}

}  // namespace
}  // namespace tracker::internal
