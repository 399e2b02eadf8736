// SPDX-License-Identifier: MIT
// A full disk: append reports it, nothing of that call is stored, and when there is room the same call works without a
// restart.
// An existing database is opened without creating a file.
// Method: a tmpfs of 2 MiB in a mount namespace of a child process, filled by a file that is removed later.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "support/conditions.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr int kNoMounts = 77;

// EXPECT in a child would go unseen: a line on stderr and a number instead.
#define CHILD_CHECK(condition)                                     \
  do {                                                             \
    if (!(condition)) {                                            \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                                    \
    }                                                              \
  } while (false)

bool mount_small_tmpfs(const std::string& path) {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=2m") == 0;
}

FrameRecord large_record(const WriterIdentity& identity, uint64_t seq) {
  return record_of(test_frame(identity, seq, 2, 1000), {{7, seq}});
}

int fill_and_go_on(const std::string& folder, bool durable) {
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(folder, identity);
  CHILD_CHECK(db.ok());
  CHILD_CHECK((*db)->append({large_record(identity, 1)}, durable).ok());
  const std::string filler = folder + "/filler";
  {
    std::ofstream out(filler);
    out << std::string(1 << 20, 'x');
  }
  uint64_t stored = 1;
  Status status;
  while (status.ok() && stored < 1000) {
    status = (*db)->append({large_record(identity, stored + 1)}, durable);
    if (status.ok()) ++stored;
  }
  CHILD_CHECK(status.code() == Code::kIo);
  for (int again = 0; again < 3; ++again)
    CHILD_CHECK(!(*db)->append({large_record(identity, stored + 1)}, durable).ok());
  CHILD_CHECK((*db)->last_seq() == stored);
  CHILD_CHECK((*db)->points_stored() == stored * 2000);
  CHILD_CHECK(stored_frames((*db)->path()) == one_to(static_cast<int64_t>(stored)));
  remove_file(filler);
  CHILD_CHECK((*db)->append({large_record(identity, stored + 1)}, durable).ok());
  CHILD_CHECK((*db)->finish().ok());
  CHILD_CHECK(stored_frames(db_path(folder, identity)) == one_to(static_cast<int64_t>(stored + 1)));
  auto snapshot = (*WriterReader::open(db_path(folder, identity)))->snapshot();
  CHILD_CHECK(snapshot.ok() && snapshot->series.size() == 2);
  CHILD_CHECK(snapshot->series[0].points == (stored + 1) * 1000);
  CHILD_CHECK(snapshot->points == (stored + 1) * 2000);
  return 0;
}

// Bug: a temporary database was made first, even if the writer had one.
int open_on_a_full_disk(const std::string& folder) {
  const WriterIdentity identity = test_identity();
  {
    auto db = WriterDb::create(folder, identity);
    CHILD_CHECK(db.ok() && (*db)->append({large_record(identity, 1)}, false).ok());
  }
  std::ofstream out(folder + "/filler");
  while (out.write(std::string(4096, 'x').data(), 4096).flush()) {}
  const auto db = WriterDb::open_or_create(folder, identity);
  if (!db.ok()) std::fprintf(stderr, "%s\n", db.status().to_string().c_str());
  CHILD_CHECK(db.ok() && (*db)->last_seq() == 1);
  return 0;
}

int in_a_small_tmpfs(const std::function<int(const std::string&)>& body) {
  TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(mount_small_tmpfs(folder.path()) ? body(folder.path()) : kNoMounts);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DiskFullTest, ADatabaseThatIsThereIsOpenedOnAFullDisk) {
  const int code = in_a_small_tmpfs(open_on_a_full_disk);
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

class DiskFull : public ::testing::TestWithParam<bool> {};

TEST_P(DiskFull, AppendFailsWholeAndWorksAgainWhenThereIsRoom) {
  const int code = in_a_small_tmpfs([](const std::string& folder) { return fill_and_go_on(folder, GetParam()); });
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Commits, DiskFull, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Durable" : "Normal"; });

}  // namespace
}  // namespace tracker::internal
