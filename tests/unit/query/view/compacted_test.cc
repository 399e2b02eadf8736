// SPDX-License-Identifier: MIT
// Goal: a log reads the same before, while and after it is compacted: every row once, in the order logged, by history,
// tail, its events and texts. Method: random logs whose values count the rows of their series, so that a row that is
// lost, repeated or out of place shows by itself; steps go up, down and repeat; shapes change; compaction comes at
// random moments, and a reader in another process follows all the while. The seed is printed: TRACKER_TEST_SEED=….
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "query/tail/tail_events.h"
#include "support/child.h"
#include "support/random_frame.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kSeries = 5;
constexpr std::array<ValueType, kSeries> kTypes = {ValueType::kFloat64, ValueType::kFloat32, ValueType::kInt64,
                                                   ValueType::kFloat64, ValueType::kFloat64};

std::string name_of(uint32_t id) { return fmt::format("m{}", id); }

uint64_t bits_as(ValueType type, uint64_t n) {
  if (type == ValueType::kInt64) return n;
  if (type == ValueType::kFloat32) return std::bit_cast<uint32_t>(static_cast<float>(n));
  return bits_of(static_cast<double>(n));
}

// A writer whose series count their rows.
class CountingWriter {
 public:
  CountingWriter(const RunFolder& run, const WriterIdentity& identity, uint64_t seed)
      : identity_(identity), random_(seed), db_(std::move(*WriterDb::create(run.path, identity))) {}

  // A frame of random shapes, rows and texts.
  void append(size_t rows_max, bool last = false) {
    Frame frame;
    frame.writer = identity_.writer;
    frame.seq = db_->last_seq() + 1;
    if (frame.seq == 1)
      for (uint32_t id = 1; id <= kSeries; ++id) frame.defs.push_back({id, kTypes[id - 1], name_of(id)});
    const size_t calls = random_() % (rows_max + 1);
    for (size_t call = 0; call < calls; ++call) log_row(&frame, static_cast<int64_t>(call));
    if (random_() % 4 == 0)
      frame.events.push_back({EventType::kText, true, now_us_, now_us_,
                              encode_cbor(Value::Map{{"key", "note"}, {"text", std::to_string(texts_++)}})});
    if (last)
      frame.events.push_back(
          {EventType::kEnd, false, 0, now_us_, encode_cbor(Value::Map{{"state", "finished"}, {"exit_code", 0}})});
    ASSERT_TRUE(db_->append({{frame.seq, encode_frame(frame), {}}}, false).ok());
  }

  WriterDb* db() { return db_.get(); }
  uint64_t rows(uint32_t id) const { return rows_[id - 1]; }
  uint64_t texts() const { return texts_; }
  std::mt19937_64& random() { return random_; }

 private:
  void log_row(Frame* frame, int64_t ordinal) {
    static const std::vector<std::vector<uint32_t>> kShapes = {{1, 2, 3}, {1, 2, 3}, {4}, {1, 4}, {5, 3}};
    const std::vector<uint32_t>& series = kShapes[random_() % kShapes.size()];
    const bool has_steps = random_() % 8 != 0;
    auto block = std::find_if(frame->blocks.begin(), frame->blocks.end(),
                              [&](const Block& b) { return b.series == series && b.has_steps == has_steps; });
    if (block == frame->blocks.end()) {
      block = frame->blocks.insert(block, Block());
      block->series = series;
      for (const uint32_t id : series) block->types.push_back(kTypes[id - 1]);
      block->has_steps = has_steps;
      block->values.resize(series.size());
    }
    if (random_() % 50 == 0) step_ -= static_cast<int64_t>(random_() % 100);
    if (has_steps) block->steps.push_back(random_() % 5 == 0 ? step_ : ++step_);
    now_us_ += static_cast<int64_t>(random_() % 3);
    block->times_us.push_back(now_us_);
    block->order.push_back(ordinal);
    for (size_t i = 0; i < series.size(); ++i)
      block->values[i].push_back(bits_as(kTypes[series[i] - 1], rows_[series[i] - 1]++));
  }

  WriterIdentity identity_;
  std::mt19937_64 random_;
  std::unique_ptr<WriterDb> db_;
  std::array<uint64_t, kSeries> rows_{};
  uint64_t texts_ = 0;
  int64_t step_ = 0, now_us_ = kBuilderStartUs;
};

// Empty when the rows count on from `from`.
std::string check_counts(const History& rows, uint64_t from) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (to_double(rows.type, rows.bits[i]) != static_cast<double>(from + i))
      return fmt::format("row {} of {} is {} instead of {}", i, rows.size(), to_double(rows.type, rows.bits[i]),
                         from + i);
  return "";
}

// What a reader has had of each series.
struct Follower {
  std::string token;
  std::map<std::string, uint64_t> rows;
  uint64_t texts = 0;

  // Empty when the next batch goes on where the last one ended.
  std::string follow(RunView* run, const TailQuery& query, bool* more) {
    auto cursor = token.empty() ? Result<TailCursor>(tail_begin(*run, query)) : TailCursor::parse(token);
    if (!cursor.ok()) return cursor.status().message();
    const TailCursor before = *cursor;
    auto batch = read_tail(run, query, &*cursor);
    if (!batch.ok()) return batch.status().to_string();
    auto events = read_tail_events(run, {{}, true, false}, before, *cursor);
    if (!events.ok()) return events.status().to_string();
    for (const TailedEvent& event : *events)
      if (event.value.as_text() == nullptr || *event.value.as_text() != std::to_string(texts++))
        return fmt::format("text {} of the tail is {}", texts - 1, to_json(event.value));
    for (const TailedMetric& metric : batch->metrics) {
      const std::string wrong = check_counts(metric.rows, rows[metric.name]);
      if (!wrong.empty()) return fmt::format("tail of {}: {}", metric.name, wrong);
      rows[metric.name] += metric.rows.size();
    }
    token = cursor->token();
    *more = batch->more;
    return "";
  }
};

// Empty when all of the snapshot is there once and in order.
std::string check_all(RunView* run) {
  std::vector<std::string> names;
  for (const MetricInfo& metric : run->stored_metrics()) names.push_back(metric.name);
  auto histories = run->histories(names, true);
  if (!histories.ok()) return histories.status().to_string();
  for (size_t i = 0; i < names.size(); ++i) {
    const MetricInfo& metric = **run->metric(names[i]);
    const std::string wrong = check_counts((*histories)[i], 0);
    if (!wrong.empty()) return fmt::format("history of {}: {}", names[i], wrong);
    if ((*histories)[i].size() != metric.points)
      return fmt::format("{} has {} rows of {}", names[i], (*histories)[i].size(), metric.points);
    if (metric.points > 0 && metric.max != static_cast<double>(metric.points - 1)) return "its greatest is wrong";
  }
  auto texts = run->texts("note", true);
  if (!texts.ok()) return texts.status().to_string();
  for (size_t i = 0; i < texts->size(); ++i)
    if ((*texts)[i].text != std::to_string(i)) return fmt::format("text {} is {}", i, (*texts)[i].text);
  return run->problems().empty() ? "" : run->problems()[0];
}

class CompactedTest : public ReadTest {
 protected:
  WriterIdentity identity() {
    WriterIdentity out;
    out.writer = Id128::random();
    out.run = run_.identity;
    out.store = builder_.store().id();
    out.host = "testhost";
    out.started_us = kBuilderStartUs;
    return out;
  }

  // Follows the run to its end, with batches of this size.
  [[noreturn]] void follow_in_child(uint64_t rows_max) {
    const auto fail = [](const std::string& what) {
      std::fprintf(stderr, "the reader: %s\n", what.c_str());
      ::_exit(1);
    };
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that fails meanwhile leaves no process
    Follower follower;
    auto view = RunView::open(run_);
    for (bool ended = false, more = true; !ended || more;) {
      ended = (*view)->state() == RunState::kFinished;
      const std::string wrong = follower.follow(view->get(), {{}, rows_max}, &more);
      if (!wrong.empty()) fail(wrong);
      if (const std::string all = more ? "" : check_all(view->get()); !all.empty()) fail(all);
      if (!more) (void)(*view)->refresh();
    }
    for (const MetricInfo& metric : (*view)->stored_metrics())
      if (follower.rows[metric.name] != metric.points)
        fail(fmt::format("{} of {} rows of {}", follower.rows[metric.name], metric.points, metric.name));
    if (const size_t texts = (*view)->texts("note", true)->size(); follower.texts != texts)
      fail(fmt::format("{} of {} texts", follower.texts, texts));
    ::_exit((*view)->writers()[0].points > 0 ? 0 : 2);
  }
};

TEST_F(CompactedTest, AReaderInAnotherProcessMissesNothingAndGetsNothingTwice) {
  std::mt19937_64 random = seeded_random();
  const WriterIdentity writer = identity();
  const std::array<uint64_t, 3> kBatches = {7, 1000, kTailRowsDefault};
  std::vector<pid_t> readers;
  const uint64_t seed = random();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  for (const uint64_t rows_max : kBatches) {  // before a database is open here
    const pid_t child = ::fork();
    if (child == 0) {
      char byte;
      if (::read(ready[0], &byte, 1) != 1) ::_exit(3);
      follow_in_child(rows_max);
    }
    readers.push_back(child);
  }
  CountingWriter log(run_, writer, seed);
  ASSERT_EQ(::write(ready[1], "abc", 3), 3);
  for (int frame = 0; frame < 1500 / kSlowDown; ++frame) {
    log.append(frame % 100 == 0 ? 300 : 6);
    if (log.random()() % 70 == 0)
      while (log.db()->compact(UINT64_MAX)) continue;
    if (log.random()() % 10 == 0) ::usleep(2000);
  }
  log.append(6, true);
  const Status finished = log.db()->finish();
  ASSERT_TRUE(finished.ok() || finished.code() == Code::kBusy) << finished.to_string();  // readers come all the time
  for (const pid_t child : readers) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_EQ(check_all(open().get()), "");
}

TEST_F(CompactedTest, ACursorWithinASegmentGoesOnBehindWhatItHasHad) {
  std::mt19937_64 random = seeded_random();
  CountingWriter log(run_, identity(), random());
  Follower slow, fast;
  for (int round = 0; round < 12; ++round) {
    for (int frame = 0; frame < 30; ++frame) {
      log.append(10);
      bool more = true;
      const auto view = open();
      if (frame % 7 == 0) {
        ASSERT_EQ(slow.follow(view.get(), {{}, 1 + random() % 60}, &more), "");
      }
      while (frame % 3 == 0 && more) ASSERT_EQ(fast.follow(view.get(), {{"m1", "m4"}, 1 + random() % 40}, &more), "");
    }
    while (log.db()->compact(UINT64_MAX)) continue;
    ASSERT_EQ(check_all(open().get()), "");
  }
  ASSERT_TRUE(log.db()->finish().ok());
  const auto view = open();
  for (Follower* follower : {&slow, &fast}) {
    const TailQuery query = follower == &slow ? TailQuery{{}, 100} : TailQuery{{"m1", "m4"}, 100};
    for (bool more = true; more;) ASSERT_EQ(follower->follow(view.get(), query, &more), "");
  }
  for (uint32_t id = 1; id <= kSeries; ++id) EXPECT_EQ(slow.rows[name_of(id)], log.rows(id));
  EXPECT_EQ(fast.rows["m1"], log.rows(1));
  EXPECT_EQ(fast.rows["m4"], log.rows(4));
  EXPECT_EQ(slow.texts, log.texts());
  EXPECT_EQ(fast.texts, log.texts());
}

TEST_F(CompactedTest, ASnapshotEndsWhereItWasTakenThoughASegmentReachesFurther) {
  std::mt19937_64 random = seeded_random();
  CountingWriter log(run_, identity(), random());
  for (int frame = 0; frame < 100; ++frame) log.append(10);
  const auto before = open();
  for (int frame = 0; frame < 100; ++frame) log.append(10);
  while (log.db()->compact(UINT64_MAX)) continue;
  EXPECT_EQ(check_all(before.get()), "");
  EXPECT_LT((*before->metric("m1"))->points, log.rows(1));
}

// Counts what it is given.
class CountingVisitor : public LogVisitor {
 public:
  uint64_t points = 0;
  Result<bool> frame(const FrameView& frame) override {
    points += frame.points();
    return true;
  }
  Result<bool> segment(SegmentView*, PointRange* wanted) override {
    points += wanted->last - wanted->first;
    return true;
  }
};

TEST_F(CompactedTest, APlaceAtAnyFrameHasThePointsInFrontOfIt) {
  std::mt19937_64 random = seeded_random();
  CountingWriter log(run_, identity(), random());
  for (int frame = 0; frame < 300; ++frame) {
    log.append(10);
    if (frame == 200)
      while (log.db()->compact(UINT64_MAX)) continue;
  }
  const auto view = open();
  const LogPosition end = view->writers()[0].end_of_log();
  uint64_t divided = 0;
  for (uint64_t seq = 0; seq <= end.seq; ++seq) {
    const auto place = view->reader(0)->place_of(seq);
    ASSERT_TRUE(place.ok()) << place.status().to_string();
    ASSERT_LE(place->seq, seq);
    divided += place->seq < seq ? 1 : 0;
    LogPosition at = *place;
    CountingVisitor visitor;
    ASSERT_TRUE(view->reader(0)->read(&at, end, &visitor).ok());
    ASSERT_EQ(place->points + visitor.points, end.points) << "frame " << seq;
    ASSERT_EQ(at, end);
  }
  EXPECT_GT(divided, 50u);
}

TEST_F(CompactedTest, RangesOfStepsAndTimesChooseTheSameRows) {
  std::mt19937_64 random = seeded_random();
  CountingWriter log(run_, identity(), random());
  for (int frame = 0; frame < 200; ++frame) log.append(20);
  const auto before = open();
  std::vector<Selection> selections;
  for (int i = 0; i < 20; ++i) {
    Selection selection;
    selection.metrics = {"m1", "m3"};
    selection.all = random() % 2 == 0;
    const auto from = static_cast<int64_t>(random() % 1000);
    if (random() % 2 == 0) selection.steps = {from, from + static_cast<int64_t>(random() % 500)};
    else selection.times_us = {kBuilderStartUs + from, kBuilderStartUs + from + static_cast<int64_t>(random() % 500)};
    selections.push_back(selection);
  }
  std::vector<std::vector<History>> expected;
  for (const Selection& selection : selections) expected.push_back(*before->read(selection));
  while (log.db()->compact(UINT64_MAX)) continue;
  const auto after = open();
  for (size_t i = 0; i < selections.size(); ++i) {
    const auto found = after->read(selections[i]);
    ASSERT_TRUE(found.ok());
    for (size_t k = 0; k < found->size(); ++k) {
      EXPECT_EQ((*found)[k].steps, expected[i][k].steps);
      EXPECT_EQ((*found)[k].bits, expected[i][k].bits);
      EXPECT_EQ((*found)[k].times_us, expected[i][k].times_us);
      EXPECT_EQ((*found)[k].has_step, expected[i][k].has_step);
    }
  }
}

}  // namespace
}  // namespace tracker::internal
