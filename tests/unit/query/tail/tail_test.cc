// SPDX-License-Identifier: MIT
// Goal: a reader of new rows gets each row exactly once, in bounded batches, over writers that come and go, and a token
// brings another process to the same place.
// Method: runs built frame by frame while they are tailed; every batch parses the token of the one before.
#include "query/tail/tail.h"

#include <map>
#include <random>

#include "support/child.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

class TailTest : public ReadTest {
 protected:
  // One batch, by a reader that knows nothing but the token.
  TailBatch read(const TailQuery& query) {
    auto view = open();
    if (token_.empty()) token_ = tail_begin(*view, query).token();
    auto cursor = TailCursor::parse(token_);
    EXPECT_TRUE(cursor.ok());
    auto batch = read_tail(view.get(), query, &*cursor);
    EXPECT_TRUE(batch.ok()) << batch.status().to_string();
    token_ = cursor->token();
    return batch.ok() ? std::move(*batch) : TailBatch();
  }
  Doubles values(const TailQuery& query) {
    const TailBatch batch = read(query);
    return batch.metrics.empty() ? Doubles() : doubles(batch.metrics.front().rows);
  }

  std::string token_;
};

TEST_F(TailTest, RowsComeOnceAndInTheOrderLogged) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 5, 1).log("loss", 3, 2).commit();
  EXPECT_EQ(values({{"loss"}}), (Doubles{1, 2}));
  EXPECT_EQ(values({{"loss"}}), (Doubles{}));
  writer.log("loss", 3, 3).commit();
  EXPECT_EQ(values({{"loss"}}), (Doubles{3}));
  writer.finish();
  EXPECT_EQ(values({{"loss"}}), (Doubles{}));
}

TEST_F(TailTest, AMetricAndAWriterThatComeLaterAreReadFromTheirStart) {
  auto first = builder_.writer(run_);
  first.log("other", 0, 1).commit();
  EXPECT_EQ(values({{"loss"}}), (Doubles{}));
  first.log("loss", 0, 2).commit();
  EXPECT_EQ(values({{"loss"}}), (Doubles{2}));
  builder_.writer(run_, {.attempt = 2}).log("loss", 1, 3).finish();
  first.log("loss", 2, 4).finish();
  const TailBatch batch = read({{"loss"}});
  ASSERT_EQ(batch.metrics.size(), 1u);
  EXPECT_EQ(doubles(batch.metrics[0].rows), (Doubles{4, 3}));
  EXPECT_EQ(batch.metrics[0].rows.row_source(1).attempt, 2);
}

TEST_F(TailTest, RowsThatAResumeShadowsComeToo) {
  builder_.writer(run_).log("loss", 0, 1).log("loss", 1, 2).finish();
  builder_.writer(run_, {.attempt = 2, .continues = 1, .resume_step = 0}).log("loss", 1, 3).finish();
  EXPECT_EQ(values({{"loss"}}), (Doubles{1, 2, 3}));
}

TEST_F(TailTest, FromTheEndOnlyNewRowsCome) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1).commit();
  token_ = tail_end(*open(), {{"loss"}}).token();
  EXPECT_EQ(values({{"loss"}}), (Doubles{}));
  writer.log("loss", 1, 2).finish();
  EXPECT_EQ(values({{"loss"}}), (Doubles{2}));
}

TEST_F(TailTest, TheCursorCountsThePointsOfTheLog) {
  auto writer = builder_.writer(run_);
  writer.log("a", 0, 1).log("b", 0, 1).commit().log("a", 1, 2).commit();
  (void)read({{}, 1});
  (void)read({{}, 1});
  const auto cursor = TailCursor::parse(token_);
  const TailCursor end = tail_end(*open(), {});
  EXPECT_EQ(*cursor, end);
  EXPECT_EQ(end.writers.begin()->second, (LogPosition{2, 3}));
}

TEST_F(TailTest, BatchesAreBoundedAndNoWriterWaitsForAnother) {
  auto big = builder_.writer(run_, {.rank = 0, .world_size = 2, .started_us = kBuilderStartUs});
  for (int i = 0; i < 1000; ++i) big.log("loss", i, i).commit();
  big.finish();
  builder_.writer(run_, {.rank = 1, .world_size = 2, .started_us = kBuilderStartUs + 1}).log("loss", 0, -1).finish();
  const TailBatch first = read({{"loss"}, 10});
  EXPECT_EQ(first.rows, 6u);  // five for each of the two, and one had one only
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.metrics[0].rows.sources.size(), 2u);
  uint64_t rows = first.rows;
  for (;;) {
    const TailBatch batch = read({{"loss"}, 10});
    EXPECT_LE(batch.rows, 10u);
    rows += batch.rows;
    if (!batch.more) break;
  }
  EXPECT_EQ(rows, 1001u);
}

TEST_F(TailTest, RandomWritersAreReadExactlyOnce) {
  std::mt19937_64 random(test_seed("TailTest"));
  std::vector<WriterBuilder> writers;
  std::map<std::pair<int64_t, std::string>, Doubles> logged, seen;
  for (int round = 0; round < 200; ++round) {
    if (writers.size() < 4 && random() % 20 == 0)
      writers.push_back(builder_.writer(run_, {.attempt = static_cast<int64_t>(writers.size()) + 1}));
    for (size_t w = 0; w < writers.size(); ++w) {
      for (uint64_t i = random() % 4; i > 0; --i) {
        const std::string name = random() % 2 == 0 ? "a" : "b";
        const double value = static_cast<double>(random() % 1000);
        writers[w].log(name, static_cast<int64_t>(random() % 10), value);
        logged[{static_cast<int64_t>(w) + 1, name}].push_back(value);
      }
      writers[w].commit();
    }
    const TailBatch batch = read({{}, 1 + random() % 8});
    for (const TailedMetric& metric : batch.metrics)
      for (size_t i = 0; i < metric.rows.size(); ++i)
        seen[{metric.rows.row_source(i).attempt, metric.name}].push_back(doubles(metric.rows)[i]);
  }
  for (bool more = true; more;) {
    const TailBatch batch = read({{}, 100});
    more = batch.more;
    for (const TailedMetric& metric : batch.metrics)
      for (size_t i = 0; i < metric.rows.size(); ++i)
        seen[{metric.rows.row_source(i).attempt, metric.name}].push_back(doubles(metric.rows)[i]);
  }
  EXPECT_EQ(seen, logged);
}

TEST_F(TailTest, ADamagedFrameIsNamedAndPassedOver) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1).commit().log("loss", 1, 2).commit();
  const std::string damaged = writer.last_frame();
  writer.log("loss", 2, 3).finish();
  damage_bytes(writer.path(), damaged);
  auto view = open();
  TailCursor cursor = tail_begin(*view, {});
  const auto batch = read_tail(view.get(), {}, &cursor);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(doubles(batch->metrics[0].rows), (Doubles{1, 3}));
  EXPECT_FALSE(view->problems().empty());
  EXPECT_EQ(read_tail(view.get(), {}, &cursor)->rows, 0u);
}

TEST_F(TailTest, ACursorOfSomethingElseIsRefused) {
  builder_.writer(run_).log("loss", 0, 1).finish();
  const RunFolder other = builder_.run("mnist", "seal", kBuilderStartUs + 1);
  builder_.writer(other).log("loss", 0, 1).finish();
  auto view = open();
  auto other_view = RunView::open(other);
  TailCursor foreign = tail_begin(**other_view, {{"loss"}}), own = tail_begin(*view, {{"loss"}});
  EXPECT_EQ(read_tail(view.get(), {{"loss"}}, &foreign).status().message(), "the cursor is of another run");
  EXPECT_EQ(read_tail(view.get(), {{"acc"}}, &own).status().code(), Code::kInvalid);
  EXPECT_EQ(read_tail(view.get(), {{"loss"}, 0}, &own).status().code(), Code::kInvalid);
  EXPECT_TRUE(read_tail(view.get(), {{"loss", "loss"}}, &own).ok());
}

TEST_F(TailTest, ACursorThatWouldBeTooLongToReadAgainIsRefused) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1).finish();
  auto view = open();
  constexpr size_t kWritersMax = kTailCursorBytesMax / 64 - 1;
  constexpr LogPosition kFar{UINT64_MAX, UINT64_MAX};  // as long as a place can be
  TailCursor cursor = tail_begin(*view, {});
  while (cursor.writers.size() < kWritersMax) cursor.writers[Id128::random()] = kFar;
  cursor.writers.erase(writer.identity().writer);
  TailCursor larger = cursor;
  EXPECT_EQ(read_tail(view.get(), {}, &larger).status().code(), Code::kLimit);
  EXPECT_EQ(larger, cursor) << "as before";
  cursor.writers.erase(cursor.writers.begin());
  ASSERT_TRUE(read_tail(view.get(), {}, &cursor).ok());
  EXPECT_EQ(cursor.writers.size(), kWritersMax);
  const auto again = TailCursor::parse(cursor.token());
  ASSERT_TRUE(again.ok()) << cursor.token().size();
  EXPECT_EQ(*again, cursor);
}

TEST_F(TailTest, ATokenThatWasChangedIsRefused) {
  builder_.writer(run_).log("loss", 0, 1).finish();
  const std::string token = tail_end(*open(), {}).token();
  ASSERT_TRUE(TailCursor::parse(token).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(TailCursor::parse(changed).ok() && *TailCursor::parse(changed) != *TailCursor::parse(token)) << i;
    EXPECT_FALSE(TailCursor::parse(token.substr(0, i)).ok()) << i;
  }
  EXPECT_EQ(TailCursor::parse("t2." + token.substr(3)).status().code(), Code::kVersion);
  EXPECT_EQ(TailCursor::parse(std::string(kTailCursorBytesMax + 1, 'A')).status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace tracker::internal
