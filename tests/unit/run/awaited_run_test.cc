// SPDX-License-Identifier: MIT
// Goal: a rank whose run nothing names joins that of its own rank 0, never that of a job before it; one that finds none
// gives up, counts and says it. Method: runs made by hand, of an unknown host; a writer whose run never comes.
#include "run/awaited_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/ring/wipe_memory.h"
#include "model/redact/redact.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "support/sandbox.h"
#include "support/storage.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;
constexpr int64_t kMinuteUs = 60'000'000;

class AwaitedRunTest : public ::testing::Test {
 protected:
  // Of another host, whose processes are not seen from here.
  RunFolder make(const std::string& launch, int64_t created_us) {
    auto run = Store(builder_.store()).create_run("p", "", {}, launch, created_us);
    EXPECT_TRUE(run.ok());
    const std::string file = join_path(run->path, kRunFile);
    std::string text = *read_file(file, 1 << 20);
    const std::string boot = this_process().boot_id;
    text.replace(text.find(boot), boot.size(), "another boot");
    EXPECT_TRUE(write_file_atomic(file, text).ok());
    return *run;
  }
  WriterBuilder writer(const RunFolder& run, int64_t rank = 0) {
    WriterIdentity identity = test_identity();
    identity.run = run.identity;
    identity.rank = rank;
    identity.world_size = 3;
    identity.launch = "mine";
    return {run, identity};
  }
  AwaitedRun::Claim claim(int64_t began_us) const { return {"p", "mine", 1, 3, began_us}; }
  std::string found(AwaitedRun* run) const {
    const auto joined = run->look(builder_.store());
    return joined ? joined->run.id : "";
  }
  StoreBuilder builder_;
  const int64_t now_us_ = realtime_us();
};

TEST_F(AwaitedRunTest, ARunIsJoinedOnceItsSignOfLifeMoves) {
  AwaitedRun rank(claim(now_us_));
  const RunFolder run = make("mine", now_us_ - kMinuteUs);
  WriterBuilder first = writer(run);
  first.heartbeat(now_us_ - 40'000'000).commit();
  EXPECT_EQ(found(&rank), "");
  EXPECT_EQ(found(&rank), "") << "killed 40 s ago, or not: unknown yet";
  first.heartbeat(now_us_ + 1);
  EXPECT_EQ(found(&rank), run.identity.id);
  ASSERT_NE(rank.found(), nullptr);
  EXPECT_EQ(rank.found()->uid, run.identity.uid.hex());
  EXPECT_EQ(rank.found()->path, run.path);
}

TEST_F(AwaitedRunTest, ARunThatAppearsWhileTheRankLooksIsJoinedAtOnce) {
  AwaitedRun rank(claim(now_us_));
  const RunFolder before = make("mine", now_us_ - kMinuteUs);
  EXPECT_EQ(found(&rank), "");
  const RunFolder run = make("mine", now_us_ + 1);
  EXPECT_EQ(found(&rank), run.identity.id);
}

TEST_F(AwaitedRunTest, ARunOfAnotherClaimOrAnotherTimeIsNeverJoined) {
  constexpr int64_t kAgeUs = std::chrono::microseconds(kClaimAgeMax).count();
  AwaitedRun rank(claim(now_us_));
  const RunFolder runs[] = {make("yours", now_us_ - 1), make("", now_us_ - 1), make("mine", now_us_ - kAgeUs - 1)};
  for (const int64_t beat : {1, 2})
    for (const RunFolder& run : runs) {
      WriterBuilder(run,
                    [&] {
                      WriterIdentity identity = test_identity();
                      identity.writer = Id128::random();
                      identity.run = run.identity;
                      return identity;
                    }())
          .heartbeat(now_us_ + beat)
          .commit();
      EXPECT_EQ(found(&rank), "");
    }
  const RunFolder own = make("mine", now_us_ - kAgeUs);
  WriterBuilder first = writer(own);
  first.heartbeat(now_us_).commit();
  EXPECT_EQ(found(&rank), "");
  first.heartbeat(now_us_ + 1);
  EXPECT_EQ(found(&rank), own.identity.id);
}

TEST_F(AwaitedRunTest, ARunThatHasAWriterOfThisRankIsNotJoined) {
  AwaitedRun rank(claim(now_us_));
  const RunFolder run = make("mine", now_us_ - 1);
  WriterBuilder first = writer(run);
  first.heartbeat(now_us_).commit();
  writer(run, 1).heartbeat(now_us_).commit();
  EXPECT_EQ(found(&rank), "");
  first.heartbeat(now_us_ + 1);
  EXPECT_EQ(found(&rank), "");
  AwaitedRun other({"p", "mine", 2, 3, now_us_});
  EXPECT_EQ(found(&other), "");
  first.heartbeat(now_us_ + 2);
  EXPECT_EQ(found(&other), run.identity.id);
}

TEST_F(AwaitedRunTest, TheProcessGroupTellsTheRunWord) {
  JoinedRun run;
  run.run = {Id128::random(), "p", "an id", now_us_};
  run.attempt = 3;
  AwaitedRun rank({"p", "", 1, 3, now_us_});
  EXPECT_EQ(found(&rank), "");
  for (const char* wrong : {"", "x", "00000000000000000000000000000000 1 1 id", "0123 1 1 id"})
    EXPECT_EQ(rank.tell(wrong).code(), Code::kInvalid) << wrong;
  EXPECT_TRUE(rank.tell(AwaitedRun::text_of(run)).ok());
  EXPECT_EQ(found(&rank), "an id");
  EXPECT_EQ(rank.found()->joined.attempt, 3);
  EXPECT_EQ(rank.found()->joined.run.uid, run.run.uid);
}

class WaitingWriterTest : public ::testing::Test {
 protected:
  void start(bool awaited, milliseconds await_max) {
    auto store = Store::open_or_create(sandbox_.store());
    ASSERT_TRUE(store.ok());
    auto run = store->create_run("p", "r");
    ASSERT_TRUE(run.ok());
    folder_ = *run;
    identity_ = test_identity();
    identity_.run = run->identity;
    if (!awaited) identity_.run.uid = {};
    identity_.store = store->id();
    identity_.store_path = sandbox_.store();
    JournalOptions options;
    options.store_path = sandbox_.store();
    auto journal = Journal::open(options, &identity_, hot_);
    ASSERT_TRUE(journal.ok());
    StoreTarget target{sandbox_.store(), identity_.run, {}, "auto", 0};
    target.awaited = awaited;
    target.await_max = await_max;
    target.waiting = "rank 1 of 3 (from RANK)";
    if (!awaited) target.find_run = [](const Store&) { return std::optional<JoinedRun>(); };
    writer_ = std::make_shared<Writer>(std::move(*journal), identity_, std::move(target));
    ASSERT_TRUE(writer_->start().ok());
  }
  Code log() {
    const JournalUse use(hot_);
    if (use.get() == nullptr) return Code::kClosed;
    const ValuePair pair{0, use.get()->series_id("loss", ValueType::kInt64), 0};
    return use.get()->log_pairs(&pair, 1, 0, true);
  }
  void TearDown() override {
    EXPECT_TRUE(writer_->finish(encode_cbor(Value::map()), std::chrono::seconds(4)).ok());
    const std::weak_ptr<Writer> threads = writer_;
    writer_.reset();
    while (!threads.expired()) std::this_thread::yield();
    free_hot_run(hot_);
  }
  Sandbox sandbox_;
  HotRun* const hot_ = allocate_hot_run();
  WriterIdentity identity_;
  RunFolder folder_;
  std::shared_ptr<Writer> writer_;
};

TEST_F(WaitingWriterTest, ARankThatFindsNoRunInItsTimeDropsWhatItLoggedAndSaysSo) {
  ::testing::internal::CaptureStderr();
  start(false, milliseconds(300));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(log(), Code::kOk);
  EXPECT_TRUE(path_exists(identity_.journal_dir));
  for (int i = 0; i < 3000 && path_exists(identity_.journal_dir); ++i) std::this_thread::sleep_for(milliseconds(10));
  const WriterStatus status = writer_->status();
  EXPECT_EQ(status.gave_up, "rank 1 of 3 (from RANK) found no run of rank 0 to record into");
  EXPECT_EQ(status.counts.damaged, 5u);
  EXPECT_EQ(status.points_stored, 0u);
  EXPECT_EQ(writer_->series_counts().of(1).dropped, 5u);
  EXPECT_EQ(writer_->series_counts().of(1).pending, 0u);
  EXPECT_EQ(log(), Code::kClosed) << "nothing more is taken";
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("to record into: 5 points dropped; the same TRACKER_RUN_ID on all ranks"));
  EXPECT_EQ(StoreTarget{}.await_max, kRunAwaitMax);
}

// Else a rank on another host waited 15 s for each sign of life of a run that logs nothing.
TEST_F(WaitingWriterTest, ARunThatOtherRanksWaitForGivesSignsOfLifeMoreOften) {
  start(true, kRunAwaitMax);
  EXPECT_EQ(log(), Code::kOk);
  EXPECT_TRUE(writer_->flush(std::chrono::seconds(60)));
  const auto beat = [&] {
    auto reader = WriterReader::open(db_path(folder_.path, identity_));
    const auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    return snapshot.ok() ? snapshot->heartbeat_us : 0;
  };
  const int64_t first = beat();
  int64_t next = first;
  for (int i = 0; i < 200 && next == first; ++i) std::this_thread::sleep_for(milliseconds(50)), next = beat();
  EXPECT_GE(std::chrono::microseconds(next - first), kAwaitedHeartbeat - milliseconds(50));
  EXPECT_LT(std::chrono::microseconds(next - first), kHeartbeatInterval / 2);
}

}  // namespace
}  // namespace tracker::internal
