// SPDX-License-Identifier: MIT
// Goal: a run whose pieces overlap beyond all measure is not checked piece by piece: that is said, and all rows are
// decoded. Method: two ranks that log some of the steps of a third, and a bound as large as the work, or one less.
#include "query/chart/step_spans.h"

#include <algorithm>

#include "support/log_writer.h"
#include "support/read_test.h"

namespace tracker::internal {
namespace {

class StepSpansTest : public ReadTest {
 protected:
  // A rank whose rows of these steps are in one segment.
  void log_rank(int64_t rank, int64_t from, int64_t to) {
    WriterIdentity who = dead_writer(run_, builder_.store());
    who.rank = rank;
    BulkWriter writer(run_, who, {{"loss", ValueType::kFloat64}});
    for (int64_t step = from; step < to; ++step) {
      writer.row(step, {bits_of(static_cast<double>(10 * step + rank))});
      if (writer.rows() == 10) writer.commit();
    }
    writer.finish();
  }
};

TEST_F(StepSpansTest, PiecesThatOverlapAreLookedAtUpToABoundOfWork) {
  log_rank(0, 0, 1000);
  log_rank(1, 200, 400);
  log_rank(2, 600, 800);
  auto run = open();
  Selection selection;
  selection.metrics = {"loss"};
  auto pieces = StepPieces::open(run.get(), **run->metric("loss"), selection);
  ASSERT_TRUE(pieces.ok());
  ASSERT_NE(*pieces, nullptr);
  const ViewRules rules(*run, selection);
  StepView view = rules.view(pieces->get());
  EXPECT_EQ(view.overlap_work_max, kOverlapWorkMax);
  auto spans = spans_within(view, INT64_MIN, INT64_MAX);
  ASSERT_TRUE(spans.ok());
  const auto mixed =
      std::count_if(spans->begin(), spans->end(), [](const StepSpan& span) { return span.piece == nullptr; });
  const uint64_t work = static_cast<uint64_t>(mixed) * (*pieces)->pieces().size();
  ASSERT_GE(spans->size(), 5u) << "of one rank, of two, and so on; more where a slow machine made more frames";
  ASSERT_GE(work, 6u);
  view.overlap_work_max = work;
  EXPECT_EQ(spans_within(view, INT64_MIN, INT64_MAX)->size(), spans->size());
  view.overlap_work_max = work - 1;
  const Status over = spans_within(view, INT64_MIN, INT64_MAX).status();
  EXPECT_EQ(over.code(), Code::kLimit);
  EXPECT_TRUE(needs_all_rows(over)) << "and a chart is made of these";
}

}  // namespace
}  // namespace tracker::internal
