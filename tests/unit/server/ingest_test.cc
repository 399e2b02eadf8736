// SPDX-License-Identifier: MIT
// Goal: what a batch's response acknowledges is stored once, whatever happens after it. Method: a service without a
// transport; the content of its store is requested from it, after a restart too.
#include <thread>

#include "server/ingest_db.h"
#include "support/child.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class IngestTest : public ServiceTest {};

TEST_F(IngestTest, WhatWasAcknowledgedIsReadAtOnceAndByTheCommandsToo) {
  EXPECT_EQ(acked(post(batch(1, 5))), 5);
  EXPECT_EQ(points(), 5 * static_cast<int64_t>(kFramePoints));
  const std::string db = store_path() + "/runs/p/" + uid() + "/" + writer_.writer.hex() + ".db";
  EXPECT_EQ(stored_frames(db), (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

// The child ends right after it has the response: mostly the frames are only in ingest.db then.
// Promise P3: Acknowledged frames survive the death of the server at that moment.
TEST_F(IngestTest, WhatWasAcknowledgedIsThereWhenTheServerDiesThen) {
  service_.reset();
  const int child = run_child([this] {
    restart();
    for (uint64_t seq = 1; seq <= 20; ++seq) CHILD_CHECK(acked(post(batch(seq, seq))) == static_cast<int64_t>(seq));
    return 0;
  });
  ASSERT_EQ(exit_code_of(child), 0);
  restart();
  EXPECT_EQ(points(), 20 * static_cast<int64_t>(kFramePoints));
}

// Promise P3: A frame is stored once, however often and by however many senders it comes.
TEST_F(IngestTest, TheSameBatchIsStoredOnce) {
  const std::string body = batch(1, 3);
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(acked(post(body)), 3);
  restart();
  EXPECT_EQ(acked(post(body)), 3);
  EXPECT_EQ(acked(post(batch(2, 4))), 4);
  EXPECT_EQ(points(), 4 * static_cast<int64_t>(kFramePoints));
}

TEST_F(IngestTest, SendersAtOnceStoreEachFrameOnce) {
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 4; ++sender)
    senders.emplace_back([this] {
      for (uint64_t seq = 1; seq <= 12; ++seq) EXPECT_GE(acked(post(batch(seq, seq))), static_cast<int64_t>(seq));
    });
  for (int look = 0; look < 5; ++look) EXPECT_GE(points(), -1);
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(points(), 12 * static_cast<int64_t>(kFramePoints));
}

TEST_F(IngestTest, FramesWithoutTheirPredecessorsAreRejectedAndTheAnswerSaysFromWhere) {
  EXPECT_EQ(acked(post(batch(1, 2))), 2);
  const Value answer = json(post(batch(5, 6)));
  EXPECT_EQ(answer.int_or("acked_seq", -1), 2);
  EXPECT_EQ(answer.find("rejected")->as_list()->size(), 2U);
  EXPECT_EQ(points(), 2 * static_cast<int64_t>(kFramePoints));
}

// Promise P3: Other bytes under a known number are kept aside, counted and shown; the first bytes stay.
TEST_F(IngestTest, OtherBytesUnderAKnownNumberAreKeptAsideAndWhatWasFirstStays) {
  EXPECT_EQ(acked(post(batch(1, 2))), 2);
  const std::string other = encode_frame(test_frame(writer_, 2, 2, 7));
  const Value answer = json(post(encode_batch({writer_, 0, {{BatchUnitKind::kFrame, 1, 2, 2, 0, other}}})));
  EXPECT_EQ(answer.find("rejected")->as_list()->front().text_or("code", ""), "differs");
  EXPECT_EQ(points(), 2 * static_cast<int64_t>(kFramePoints));
  auto waiting = IngestDb::open(*Store::open(store_path()));
  EXPECT_EQ(waiting->quarantined().value_or(0), 1U);
}

TEST_F(IngestTest, ASecondServiceOnTheStoreIsRefused) {
  const auto second = Service::open(*Store::open(store_path()), true);
  EXPECT_EQ(second.status().code(), Code::kBusy);
  EXPECT_TRUE(Service::open(*Store::open(store_path()), false).ok()) << "one that only reads may be beside it";
}

TEST_F(IngestTest, AServiceThatEndsReportsBusy) {
  service_->close();
  EXPECT_EQ(post(batch(1, 1)).status, 503);
}

}  // namespace
}  // namespace tracker::internal
