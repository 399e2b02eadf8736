// SPDX-License-Identifier: MIT
// Goal: a refresh of the catalog never holds it for long, so that another listing waits a moment only. Method: what it
// says of its progress after each transaction, and what a second connection sees then: of very many folders, and of
// runs that take long to read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "query/runs/run_record.h"
#include "storage/catalog/catalog.h"
#include "support/runs_query_test.h"

namespace tracker::internal {
namespace {

class CatalogBatchTest : public RunsQueryTest {
 protected:
  struct Batch {
    uint64_t runs = 0;
    int64_t ns = 0;  // with what came before it
    int64_t rows_seen = -1;
  };
  std::vector<Batch> refresh(const ReadRun& read) {
    std::vector<Batch> out;
    auto catalog = Catalog::open(builder_.store(), Catalog::Place::kStore);
    EXPECT_TRUE(catalog.ok()) << catalog.status().to_string();
    CatalogRefresh options;
    options.now_us = realtime_us() + kAheadUs;
    uint64_t before = 0;
    int64_t begun = monotonic_ns();
    options.progress = [&](uint64_t done, uint64_t) {
      auto other = Sqlite::open(builder_.path() + "/" + kCatalogFile, SqliteOpen::kRead, 0);
      out.push_back({done - before, monotonic_ns() - begun, *other->query_int("SELECT count(*) FROM runs")});
      before = done;
      begun = monotonic_ns();
    };
    CatalogReport report;
    EXPECT_TRUE(catalog->refresh(options, read, &report).ok());
    return out;
  }
};

TEST_F(CatalogBatchTest, ATransactionEndsBehindSoManyRuns) {
  for (size_t i = 0; i < 2 * kCatalogBatchRuns + 1; ++i)
    std::filesystem::create_directories(builder_.path() + "/runs/p/made-just-now-" + std::to_string(i));
  const auto batches = refresh(read_run_record);
  uint64_t runs = 0;
  for (const Batch& batch : batches) {
    const bool is_last = &batch == &batches.back();
    EXPECT_LE(batch.runs, kCatalogBatchRuns);
    EXPECT_TRUE(batch.runs == kCatalogBatchRuns || is_last || batch.ns >= kCatalogBatchNs) << batch.runs;
    runs += batch.runs;
  }
  EXPECT_EQ(runs, 2 * kCatalogBatchRuns + 1);
}

TEST_F(CatalogBatchTest, ATransactionEndsBehindTheRunDuringWhichItsTimeIsOver) {
  for (int i = 0; i < 8; ++i) finished_run("p", "run-" + std::to_string(i), i);
  std::vector<std::pair<int64_t, int64_t>> reads;  // begun, ended
  const auto batches = refresh([&reads](const RunFolder& folder) {
    const int64_t begun = monotonic_ns();
    ::usleep(kCatalogBatchNs / 1000 * 2 / 5);
    auto out = read_run_record(folder);
    reads.emplace_back(begun, monotonic_ns());
    return out;
  });
  ASSERT_EQ(reads.size(), 8u);
  ASSERT_GE(batches.size(), 3u) << "three runs take longer";
  size_t first = 0;
  for (const Batch& batch : batches) {
    const bool is_last = &batch == &batches.back();
    EXPECT_TRUE(is_last || batch.ns >= kCatalogBatchNs) << "it ended early, after " << batch.ns << " ns";
    for (size_t i = first; i + 1 < first + batch.runs; ++i)
      EXPECT_LT(reads[i].second - reads[first].first, kCatalogBatchNs) << "and a further run was begun";
    first += batch.runs;
    EXPECT_EQ(batch.rows_seen, static_cast<int64_t>(first)) << "others see what is done";
  }
}

}  // namespace
}  // namespace tracker::internal
