// SPDX-License-Identifier: MIT
// Goal: if files of a received run are removed or replaced under a live server, it acknowledges nothing after the lost
// frames, reports it in one line, and has the complete run when the client has sent it again; commands refuse to remove
// files meanwhile. Method: files removed between two batches.
#include <filesystem>

#include "server/ingest_db.h"
#include "server/server_lock.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class LostFilesTest : public ServiceTest {
 protected:
  std::string run_path() const { return store_path() + "/runs/p/" + uid(); }
  int64_t whole(int64_t frames) const { return frames * static_cast<int64_t>(kFramePoints); }
  // What a client does: it sends, gets the number of the server, and sends from there.
  void expect_sent_again(uint64_t first, uint64_t last, int64_t held) {
    ::testing::internal::CaptureStderr();
    const Value answer = json(post(batch(first, last)));
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(answer.int_or("acked_seq", -1), held);
    EXPECT_EQ(answer.find("rejected")->as_list()->front().text_or("code", ""), "unknown_before");
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find("removed or changed by another program"), std::string::npos) << said;
    EXPECT_EQ(acked(post(batch(static_cast<uint64_t>(held) + 1, last))), static_cast<int64_t>(last));
    EXPECT_EQ(points(), whole(static_cast<int64_t>(last)));
    restart();
    EXPECT_EQ(points(), whole(static_cast<int64_t>(last)));
  }
  uint64_t kept_aside() const { return IngestDb::open(*Store::open(store_path()))->quarantined().value_or(0); }
};

// Promise P3: When files of a received run vanish under the server, nothing is acknowledged on top of them, and the
// client sends them again.
TEST_F(LostFilesTest, AFolderThatWasRemovedIsMadeAgainByItsClientUnderItsOwnLabel) {
  EXPECT_EQ(acked(post(batch(1, 3))), 3);
  EXPECT_EQ(points(), whole(3));
  fs::remove_all(run_path());
  EXPECT_EQ(points(), -1);
  expect_sent_again(4, 5, 0);
  EXPECT_EQ(json(ask("GET", "runs/" + uid())).text_or("id", ""), "r");
  EXPECT_EQ(kept_aside(), 0U);
}

TEST_F(LostFilesTest, ADatabaseThatWasRemovedIsMissedBeforeTheNextBatchIsAcknowledged) {
  EXPECT_EQ(acked(post(batch(1, 3))), 3);
  EXPECT_EQ(points(), whole(3));
  for (const auto& file : fs::directory_iterator(run_path()))
    if (file.path().extension() != ".json") fs::remove(file.path());
  expect_sent_again(4, 5, 0);
}

TEST_F(LostFilesTest, ASyncAfterTheRemovalHearsThatNothingIsThere) {
  EXPECT_EQ(acked(post(batch(1, 3))), 3);
  EXPECT_EQ(points(), whole(3));
  fs::remove(db_path(run_path(), writer_));
  EXPECT_EQ(json(ask("GET", "runs/" + uid() + "/writers", {{"project", "p"}})).find("writers")->as_map()->size(), 0U);
}

TEST_F(LostFilesTest, WhatIsAcknowledgedBeforeAnEarlierStateOfAFileIsNoticedIsKeptAside) {
  EXPECT_EQ(acked(post(batch(1, 3))), 3);
  EXPECT_EQ(points(), whole(3));
  restart();  // plain files
  const std::string db = db_path(run_path(), writer_), backup = folder_.path() + "/backup";
  fs::copy_file(db, backup);
  EXPECT_EQ(acked(post(batch(4, 5))), 5);
  EXPECT_EQ(points(), whole(5));
  fs::remove(db + "-wal");
  fs::remove(db + "-shm");
  fs::rename(backup, db);
  EXPECT_EQ(acked(post(batch(6, 6))), 6);
  EXPECT_EQ(points(), whole(3)) << "the first reading of the file";
  EXPECT_EQ(kept_aside(), 1U);
  EXPECT_EQ(json(post(batch(7, 7))).int_or("acked_seq", -1), 3);
  EXPECT_EQ(acked(post(batch(4, 7))), 7);
  EXPECT_EQ(points(), whole(7));
}

// The server died before it moved frame 2, and the file was removed before it started again.
TEST_F(LostFilesTest, UnitsAfterALostFileGoIntoQuarantineAfterAStart) {
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  EXPECT_EQ(points(), whole(1));
  service_.reset();
  fs::remove(db_path(run_path(), writer_));
  {
    auto waiting = IngestDb::open(*Store::open(store_path()));
    const std::string frame = encode_frame(test_frame(writer_, 2));
    ASSERT_TRUE(waiting->begin(true).ok());
    const auto row = waiting->put_writer(writer_.run.uid, writer_, 0);
    ASSERT_TRUE(waiting->put_unit(*row, {BatchUnitKind::kFrame, 1, 2, 2, 0, frame}, 1).ok());
    ASSERT_TRUE(waiting->commit().ok());
  }
  restart();
  EXPECT_EQ(points(), 0);
  EXPECT_EQ(kept_aside(), 1U);
  EXPECT_EQ(acked(post(batch(1, 3))), 3);
  EXPECT_EQ(points(), whole(3));
}

TEST_F(LostFilesTest, NoCommandMayRemoveFilesWhileAServerRunsAndNoServerBeginsMeanwhile) {
  const Store store = *Store::open(store_path());
  const Status refused = lock_for_removal(store).status();
  EXPECT_EQ(refused.code(), Code::kBusy);
  EXPECT_NE(refused.to_string().find("process " + std::to_string(::getpid())), std::string::npos)
      << refused.to_string();
  service_.reset();
  const auto one = lock_for_removal(store), two = lock_for_removal(store);
  EXPECT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(Service::open(store, true).status().code(), Code::kBusy);
}

TEST_F(LostFilesTest, AStoreThatHasNeverHadAServerGetsNoLockFile) {
  const Store store = *Store::open_or_create(folder_.path() + "/other");
  EXPECT_TRUE(lock_for_removal(store).ok());
  EXPECT_FALSE(path_exists(store.path() + "/server.lock"));
}

}  // namespace
}  // namespace tracker::internal
