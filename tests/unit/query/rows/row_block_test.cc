// SPDX-License-Identifier: MIT
// Goal: of a segment's block only the rows between the first and the last one of the ranges are decoded, and none of
// the ranges is left out.
// Method: segments of a few frames, narrowed to ranges and held against what their rows say.
#include "query/rows/row_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "codec/best_column.h"
#include "support/random_frame.h"

namespace tracker::internal {
namespace {

constexpr int64_t kFirstUs = 1'700'000'000'000'000;
using Ints = std::vector<int64_t>;

// One block: row i has the step steps[i], the time kFirstUs + times[i] and the value i.
class RowBlockTest : public testing::Test {
 protected:
  void build(const Ints& steps, const Ints& times) {
    Frame frame;
    frame.writer = Id128::hash_of("writer");
    frame.seq = 1;
    frame.defs = {{1, ValueType::kInt64, "n"}};
    Block block;
    block.series = {1};
    block.types = {ValueType::kInt64};
    block.steps = steps;
    block.values.resize(1);
    for (size_t i = 0; i < steps.size(); ++i) {
      block.times_us.push_back(kFirstUs + times[i]);
      block.values[0].push_back(i);
    }
    frame.blocks = {block};
    const std::string encoded = encode_frame(frame);
    SegmentBuilder builder(frame.writer);
    ASSERT_TRUE(builder.add(*FrameView::parse(encoded)).ok());
    bytes_ = *builder.finish();
    segment_.emplace(std::move(*SegmentView::parse(bytes_)));
    ASSERT_EQ(segment_->blocks().size(), 1u);
  }

  struct Rows {
    Ints steps, times, order;
    std::vector<uint64_t> values;
  };
  Rows read(std::optional<Int64Range> steps, std::optional<Int64Range> times) {
    if (times) times = Int64Range{kFirstUs + times->min, kFirstUs + times->max};
    SegmentRowBlock block(&*segment_, 0, true);
    EXPECT_TRUE(block.narrow(steps, times).ok());
    Rows out;
    EXPECT_TRUE(block.steps(&out.steps).ok() && block.times(&out.times).ok() && block.order(&out.order).ok() &&
                block.values(0, &out.values).ok());
    EXPECT_TRUE(out.steps.size() == block.rows() && out.times.size() == block.rows() &&
                out.order.size() == block.rows() && out.values.size() == block.rows());
    for (int64_t& time : out.times) time -= kFirstUs;
    return out;
  }

  // The CRC of a part that was changed, and that of the directory.
  void repair_sums(size_t at, const std::string& before, const std::string& after) {
    const auto crc_bytes = [](std::string_view data) {
      const uint32_t crc = crc32c(data);
      return std::string(reinterpret_cast<const char*>(&crc), sizeof crc);
    };
    const size_t place = bytes_.find(crc_bytes(before), 52);
    ASSERT_LT(place, at);
    bytes_.replace(place, 4, crc_bytes(after));
    uint32_t directory = 0;
    std::memcpy(&directory, bytes_.data() + 44, sizeof directory);
    bytes_.replace(48, 4, crc_bytes(bytes_.substr(0, 48) + bytes_.substr(52, directory)));
    auto view = SegmentView::parse(bytes_);
    ASSERT_TRUE(view.ok()) << view.status().message();
    segment_.emplace(std::move(*view));
  }

  std::string bytes_;
  std::optional<SegmentView> segment_;
};

Ints counted(int64_t rows, int64_t stride) {
  Ints out;
  for (int64_t i = 0; i < rows; ++i) out.push_back(i * stride);
  return out;
}

TEST_F(RowBlockTest, OfSortedStepsTheRowsOfTheRangeAreDecodedAndNoOthers) {
  build(counted(5000, 3), counted(5000, 10));
  const Rows rows = read(Int64Range{3001, 3010}, std::nullopt);
  EXPECT_EQ(rows.steps, (Ints{3003, 3006, 3009}));
  EXPECT_EQ(rows.times, (Ints{10010, 10020, 10030}));
  EXPECT_EQ(rows.order, (Ints{1001, 1002, 1003}));
  EXPECT_EQ(rows.values, (std::vector<uint64_t>{1001, 1002, 1003}));
}

// A segment whose sums are right and whose steps are not sorted, as it says: a search by halves would find anything.
TEST_F(RowBlockTest, StepsThatFallThoughTheBlockSaysTheyDoNotLeaveNoRowOutSilently) {
  std::mt19937_64 random = seeded_random();
  Ints steps;
  for (int64_t i = 0, step = 0; i < 2000; ++i) {
    // A long gap in each mini-block, which the encoding keeps as an exception: with its sign changed steps fall.
    step += i % 512 == 200 ? 1'000'000 : static_cast<int64_t>(random() % 200);
    steps.push_back(step);
  }
  build(steps, counted(2000, 1));
  const std::string sound = bytes_;
  std::string column;
  put_column(ColumnEncoding::kPackedDeltas, {reinterpret_cast<const uint64_t*>(steps.data()), steps.size()},
             ValueType::kInt64, &column);
  const size_t at = sound.find(column);
  ASSERT_NE(at, std::string::npos);
  int errors = 0;
  for (size_t bit = 0; bit < 8 * column.size(); ++bit) {
    std::string changed = column;
    changed[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    Ints stored;
    if (!decode_int_column(changed, steps.size(), &stored).ok()) continue;
    if (std::is_sorted(stored.begin(), stored.end())) continue;
    bytes_ = sound;
    bytes_.replace(at, column.size(), changed);
    repair_sums(at, column, changed);
    // Of the mini-block that is no longer what it was.
    const auto row = std::mismatch(stored.begin(), stored.end(), steps.begin()).first - stored.begin();
    const size_t mini = static_cast<size_t>(row) / 512 * 512, last = std::min<size_t>(mini + 500, steps.size() - 1);
    const Int64Range wanted{steps[mini + 10], steps[last]};
    SegmentRowBlock block(&*segment_, 0, true);
    Status status = block.narrow(wanted, std::nullopt);
    Ints found, right;
    if (status.ok()) status = block.steps(&found);
    errors += status.ok() ? 0 : 1;
    if (!status.ok()) continue;
    std::copy_if(stored.begin(), stored.end(), std::back_inserter(right),
                 [&](int64_t x) { return wanted.contains(x); });
    ASSERT_EQ(found, right) << "bit " << bit << ", row " << row;
  }
  EXPECT_GT(errors, 10);
}

TEST_F(RowBlockTest, RowsOfOneStepStayTogetherAtBothEnds) {
  Ints steps;
  for (int64_t i = 0; i < 3000; ++i) steps.push_back(i / 4);
  build(steps, counted(3000, 1));
  EXPECT_EQ(read(Int64Range{100, 101}, std::nullopt).steps, (Ints{100, 100, 100, 100, 101, 101, 101, 101}));
}

TEST_F(RowBlockTest, RangesThatReachBeyondTheBlockEndWithIt) {
  build(counted(2000, 1), counted(2000, 1));
  EXPECT_EQ(read(Int64Range{1998, INT64_MAX}, std::nullopt).steps, (Ints{1998, 1999}));
  EXPECT_EQ(read(Int64Range{INT64_MIN, 1}, std::nullopt).steps, (Ints{0, 1}));
  EXPECT_EQ(read(std::nullopt, Int64Range{1998, 5000}).steps, (Ints{1998, 1999}));
  EXPECT_EQ(read(Int64Range{INT64_MIN, INT64_MAX}, Int64Range{-5, 5000}).steps.size(), 2000u);
}

TEST_F(RowBlockTest, AGapOfTheStepsLeavesNoRow) {
  Ints steps = counted(1000, 1);
  for (size_t i = 500; i < 1000; ++i) steps[i] += 10'000;
  build(steps, counted(1000, 1));
  EXPECT_TRUE(read(Int64Range{2000, 3000}, std::nullopt).steps.empty());
  EXPECT_TRUE(read(Int64Range{2000, 3000}, Int64Range{0, 10}).steps.empty());
}

TEST_F(RowBlockTest, TimesThatGoBackLoseNoRowBetween) {
  Ints times = counted(1000, 1);
  times[700] = 10;
  build(counted(1000, 1), times);
  const Rows rows = read(std::nullopt, Int64Range{10, 12});
  ASSERT_EQ(rows.steps.size(), 691u);  // 10 to 700
  EXPECT_EQ(rows.steps.front(), 10);
  EXPECT_EQ(rows.steps.back(), 700);
}

TEST_F(RowBlockTest, BothRangesTogetherLeaveWhatLiesInBoth) {
  build(counted(5000, 1), counted(5000, 2));
  EXPECT_EQ(read(Int64Range{100, 200}, Int64Range{396, 5000}).steps, (Ints{198, 199, 200}));
}

TEST_F(RowBlockTest, RandomStepsAndTimesLoseNoRowOfARange) {
  std::mt19937_64 random = seeded_random();
  for (int round = 0; round < 200; ++round) {
    Ints steps, times;
    for (int64_t i = 0, step = 0, time = 0; i < 1 + static_cast<int64_t>(random() % 1500); ++i) {
      steps.push_back(step += static_cast<int64_t>(random() % 5) - (round % 3 == 0 ? 1 : 0));
      times.push_back(time += static_cast<int64_t>(random() % 4));
    }
    build(steps, times);
    const auto low = static_cast<int64_t>(random() % 2000), high = low + static_cast<int64_t>(random() % 300);
    const bool by_time = random() % 2 == 0;
    const Rows rows = by_time ? read(std::nullopt, Int64Range{low, high}) : read(Int64Range{low, high}, std::nullopt);
    const auto wanted = [&](int64_t x) { return x >= low && x <= high; };
    const Ints& all = by_time ? times : steps;
    const Ints& found = by_time ? rows.times : rows.steps;
    ASSERT_EQ(std::count_if(found.begin(), found.end(), wanted), std::count_if(all.begin(), all.end(), wanted));
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], all[rows.values[i]]);
  }
}

}  // namespace
}  // namespace tracker::internal
