// SPDX-License-Identifier: MIT
// Goal: a server gets each durable frame of a run once, in units that declare gaps and losses, whatever it responds.
// Method: databases of the test, and a server of a few lines that applies batches as in docs/formats/http.md.
#include "sync/run_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "storage/database/writer_db.h"
#include "storage/sqlite/sqlite.h"
#include "storage/store/store.h"
#include "support/fake_http.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

using ::testing::ElementsAre;

struct Sent {
  uint64_t prev, first, last, lost;
  bool operator==(const Sent&) const = default;
};
void PrintTo(const Sent& sent, std::ostream* out) {
  *out << sent.prev << " < " << sent.first << ".." << sent.last << " lost " << sent.lost;
}

class RunSyncTest : public ::testing::Test {
 protected:
  RunSyncTest()
      : store_(*Store::open_or_create(folder_.path() + "/store")),
        run_(*store_.create_run("p", "r")),
        link_({"http://h", "", ""}, FakeHttp::opener([this](const HttpRequest& request) { return answer(request); })) {
    identity_.run = run_.identity;
    identity_.store = store_.id();
  }

  Result<HttpResponse> answer(const HttpRequest& request) {
    if (request.url.ends_with("/server")) {
      return FakeHttp::json(200, R"({"service": "tracker", "api": [1], "limits": {"batch_bytes": )" +
                                     std::to_string(batch_bytes_) + "}}");
    }
    if (request.url.find("/writers?") != std::string::npos)
      return FakeHttp::json(
          200, R"({"writers": {")" + identity_.writer.hex() + R"(": {"acked_seq": )" + std::to_string(acked_) + "}}}");
    const auto batch = parse_batch(request.body);
    EXPECT_TRUE(batch.ok()) << batch.status().to_string();
    for (const BatchUnit& unit : batch->units)
      if (unit.first <= refused_ && refused_ <= unit.last)
        return FakeHttp::json(400, R"({"error": {"code": "invalid", "message": "no"}})");
    for (const BatchUnit& unit : batch->units) {
      EXPECT_LE(unit.prev, acked_);
      sent_.push_back({unit.prev, unit.first, unit.last, unit.lost});
      if (unit.prev <= acked_) acked_ = std::max(acked_, unit.last);
    }
    ++batches_;
    return FakeHttp::json(200, R"({"acked_seq": )" + std::to_string(acked_) + R"(, "rejected": []})");
  }

  std::unique_ptr<WriterDb> write(const std::vector<uint64_t>& numbers, bool durable = true) {
    auto db = WriterDb::create(run_.path, identity_);
    EXPECT_TRUE(db.ok());
    for (const uint64_t seq : numbers) EXPECT_TRUE((*db)->append({test_record(identity_, seq)}, durable).ok());
    return std::move(*db);
  }

  ServerAnswer sync() {
    RunSync sync(&link_, store_.path(), run_);
    ServerAnswer answer = sync.round();
    counts_ = sync.counts();
    problems_ = sync.problems();
    unfinished_ = sync.writers_unfinished();
    return answer;
  }

  TempFolder folder_;
  Store store_;
  RunFolder run_;
  WriterIdentity identity_ = test_identity();
  uint64_t acked_ = 0, refused_ = 0, batches_ = 0, unfinished_ = 0;
  size_t batch_bytes_ = kBatchBytesMax;
  std::vector<Sent> sent_;
  std::vector<std::string> problems_;
  SyncCounts counts_;
  ServerLink link_;
};

constexpr uint64_t kPointsAFrame = 6;

TEST_F(RunSyncTest, AGapIsDeclaredAndTheSecondSyncSendsNothing) {
  const auto db = write({1, 2, 5});
  ASSERT_TRUE(sync().ok());
  EXPECT_THAT(sent_, ElementsAre(Sent{0, 1, 1, 0}, Sent{1, 2, 2, 0}, Sent{2, 5, 5, 0}));
  EXPECT_EQ(counts_.points_sent, 3 * kPointsAFrame);
  ASSERT_TRUE(sync().ok());
  EXPECT_EQ(sent_.size(), 3u);
  EXPECT_EQ(counts_.bytes_sent, 0u);
}

// Promise P3: Only durable frames are sent; gaps are declared.
TEST_F(RunSyncTest, AFrameThatIsNotDurableStaysWhereItIs) {
  const auto db = write({1, 2});
  ASSERT_TRUE(db->append({test_record(identity_, 3)}, false).ok());
  ASSERT_TRUE(sync().ok());
  EXPECT_EQ(acked_, 2u);
  EXPECT_EQ(unfinished_, 1u);
}

TEST_F(RunSyncTest, OneFrameThatIsRefusedIsGivenUpAndItsPointsAreDeclaredLost) {
  const auto db = write(std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7});
  refused_ = 3;
  ASSERT_TRUE(sync().ok());
  EXPECT_EQ(acked_, 7u);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("frames 3 to 3 were not sent"), std::string::npos);
  EXPECT_THAT(sent_, ::testing::Contains(Sent{2, 4, 4, kPointsAFrame}));
  EXPECT_EQ(sent_.size(), 6u);
}

TEST_F(RunSyncTest, AServerThatTakesLittleGetsSmallBatches) {
  const auto db = write(std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7});
  batch_bytes_ = 1500;
  ASSERT_TRUE(sync().ok());
  EXPECT_EQ(acked_, 7u);
  EXPECT_GT(batches_, 1u);
}

TEST_F(RunSyncTest, AServerThatHoldsAPartOfASegmentGetsItWhole) {
  std::vector<uint64_t> numbers;
  for (uint64_t seq = 1; seq <= 200; ++seq) numbers.push_back(seq);
  const auto db = write(numbers);
  ASSERT_TRUE(db->compact_all(true).ok());
  acked_ = 7;
  ASSERT_TRUE(sync().ok());
  EXPECT_EQ(acked_, 200u);
  ASSERT_FALSE(sent_.empty());
  EXPECT_LT(sent_[0].prev, sent_[0].first);
  EXPECT_LE(sent_[0].first, 8u);
}

TEST_F(RunSyncTest, AServerThatWasRestoredGetsAgainWhatItLacks) {
  const auto db = write({1, 2, 3});
  ASSERT_TRUE(sync().ok());
  acked_ = 1;
  sent_.clear();
  ASSERT_TRUE(sync().ok());
  EXPECT_THAT(sent_, ElementsAre(Sent{1, 2, 2, 0}, Sent{2, 3, 3, 0}));
}

TEST_F(RunSyncTest, ADamagedFrameIsAGapWhosePointsAreDeclaredLost) {
  { const auto db = write({1, 2, 3}); }
  auto raw = Sqlite::open(db_path(run_.path, identity_), SqliteOpen::kWrite, 1000);
  ASSERT_TRUE(raw.ok());
  ASSERT_TRUE(raw->exec("UPDATE frames SET data=zeroblob(50) WHERE seq=2").ok());
  raw->close();
  ASSERT_TRUE(sync().ok());
  EXPECT_THAT(sent_, ElementsAre(Sent{0, 1, 1, 0}, Sent{1, 3, 3, kPointsAFrame}));
}

}  // namespace
}  // namespace tracker::internal
