// SPDX-License-Identifier: MIT
// Goal: a server whose disk refuses a write or an fsync acknowledges nothing that is not on it, and has each frame once
// when the disk is well again. Method: the n-th write of a post fails, for each n; the client sends again.
#include "artifact/digest.h"
#include "server/upload_parts.h"
#include "support/faulty_disk.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class ServerDiskTest : public ServiceTest {
 protected:
  ServerDiskTest() { set_faulty_folder(folder_.path()); }
  ~ServerDiskTest() override { heal_disk(); }
  // What a client does until all is acknowledged; the server dies and starts again in between.
  void expect_whole_after_restart(int64_t frames) {
    heal_disk();
    restart();
    EXPECT_EQ(acked(post(batch(1, static_cast<uint64_t>(frames)))), frames);
    EXPECT_EQ(points(), frames * static_cast<int64_t>(kFramePoints));
  }
};

TEST_F(ServerDiskTest, AFailedFsyncIsNoAcknowledgement) {
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  faulty_disk().fsync_errno = EIO;
  EXPECT_EQ(post(batch(2, 2)).status, 503);
  EXPECT_EQ(post(batch(2, 2)).status, 503) << "the same batch again, for it is not known";
  expect_whole_after_restart(2);
}

TEST_F(ServerDiskTest, WhateverWriteFailsWhatWasAcknowledgedIsThereAndEachFrameOnce) {
  int acknowledged = 0, refused = 0;
  for (const int error : {ENOSPC, EIO}) {
    for (int writes = 0; writes < 24; ++writes) {
      writer_ = test_identity();
      EXPECT_EQ(acked(post(batch(1, 2))), 2);
      faulty_disk().errno_then = error;
      faulty_disk().writes_left = writes;
      const Response response = post(batch(3, 4));
      heal_disk();
      (response.status == 200 ? acknowledged : refused) += 1;
      if (response.status != 200) {
        EXPECT_TRUE(response.status == 503 || response.status == 507) << response.body;
        EXPECT_EQ(acked(post(batch(3, 4))), 4) << writes;
      }
      restart();
      EXPECT_EQ(points(), 4 * static_cast<int64_t>(kFramePoints)) << writes;
    }
  }
  EXPECT_GT(acknowledged, 0);
  EXPECT_GT(refused, 0);
}

// Promise P4: A full disk is a 507, a busy one a 503; the server goes on afterwards.
TEST_F(ServerDiskTest, AFullDiskIsNamedAndTheServerGoesOnWhenThereIsRoom) {
  faulty_disk().write_errno = ENOSPC;
  const Response response = post(batch(1, 1));
  EXPECT_EQ(response.status, 507) << response.body;
  heal_disk();
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  EXPECT_EQ(points(), static_cast<int64_t>(kFramePoints));
}

// kUploadFreeBytesMin of the disk are left to runs.
TEST_F(ServerDiskTest, AFileIsRefusedWhereTheDiskIsNearlyFullAndPointsAreNot) {
  const std::string path = "blobs/" + sha256("content").hex();
  const Query query{{"project", "p"}, {"bytes", "7"}};
  faulty_disk().free_blocks = 16;
  EXPECT_EQ(ask("PUT", path, query, "content").status, 507);
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  heal_disk();
  EXPECT_EQ(ask("PUT", path, query, "content").status, 200);
}

}  // namespace
}  // namespace tracker::internal
