// SPDX-License-Identifier: MIT
// A file of a live writer that somebody replaces again and again is put back each time, in at most an eleventh of the
// time, for each writes all of it; in between nothing is stored, and nothing is lost. Method: copies renamed over a
// database and a .frames file.
#include "storage/put_back.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.h"
#include "storage/frames_file.h"
#include "support/child.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// By a copy, as rsync does.
void replace(const std::string& path) {
  std::filesystem::copy_file(path, path + "~");
  std::filesystem::rename(path + "~", path);
}

TEST(PutBackTest, AfterAPauseOfTenTimesAndNeverForAFileThatIsGone) {
  TempFolder folder;
  const std::string path = join_path(folder.path(), "file");
  PutBackPace pace;
  EXPECT_EQ(pace.begin(path).code(), Code::kIo);
  ASSERT_TRUE(write_file_atomic(path, "x").ok());
  ASSERT_TRUE(pace.begin(path).ok());
  sleep_ms(60);
  const int64_t ended = monotonic_ns();
  pace.end();
  while (!pace.begin(path).ok()) sleep_ms(5);
  EXPECT_GE(monotonic_ns() - ended, 600'000'000);
}

template <typename Store>
void expect_each_put_back(Store* store, const std::string& path, const WriterIdentity& identity) {
  ASSERT_TRUE(store->append({test_record(identity, 1)}, true).ok());
  for (int times = 1; times <= 4; ++times) {
    replace(path);
    const auto seq = static_cast<uint64_t>(times) + 1;
    Status status(Code::kIo, "");
    for (int tries = 0; tries < 2000 && !status.ok(); ++tries) {
      status = store->append({test_record(identity, seq)}, true);
      if (status.ok()) break;
      EXPECT_NE(status.message().find("it is put back soon"), std::string::npos) << status.message();
      sleep_ms(5);
    }
    EXPECT_EQ(store->put_back(), times);
    EXPECT_EQ(store->last_seq(), seq);
  }
}

TEST(PutBackTest, ADatabaseThatIsReplacedAgainAndAgainIsPutBackEachTime) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder.path(), identity);
  ASSERT_TRUE(db.ok());
  expect_each_put_back(db->get(), (*db)->path(), identity);
}

TEST(PutBackTest, AFramesFileThatIsReplacedAgainAndAgainIsPutBackEachTime) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  auto file = FramesFile::open_or_create(folder.path(), identity);
  ASSERT_TRUE(file.ok());
  expect_each_put_back(file->get(), (*file)->path(), identity);
}

}  // namespace
}  // namespace tracker::internal
