// SPDX-License-Identifier: MIT
// A journal is never mapped from a network or FUSE file system: the next place is used, which is reported once, and
// status() shows it. Method: a real FUSE mount if allowed; for NFS and its like, the result of statfs(2) is replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/child.h"
#include "support/conditions.h"
#include "support/fuse_mount.h"
#include "support/mounts.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kNfs = 0x6969;

// Logs into a run whose journal was wanted at `wanted`, and checks where it is, and that nothing is lost.
void expect_journal(const char* wanted, const std::string& got, bool survives_process) {
  trk_run* run = open_run("r", nullptr, wanted);
  CHILD_CHECK(run != nullptr);
  const trk_status status = status_of(run);
  if (status.journal != got) std::fprintf(stderr, "the journal is in %s\n", status.journal);
  CHILD_CHECK(status.journal == got);
  CHILD_CHECK(((status.survives & TRK_SURVIVES_PROCESS) != 0) == survives_process);
  CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
  CHILD_CHECK(status_of(run).points_stored == 1);
}

// Promise P4: Network and FUSE file systems are never mapped, whoever names them.
TEST(NetworkPlaceTest, AnShmFolderOnFuseIsLeftForTheDisk) {
  Sandbox sandbox;
  const std::string said = sandbox.folder() + "/stderr";
  const int code = exit_code_of(run_child([&] {
    if (!mount_fuse(sandbox.shm())) return kNoMounts;
    redirect_stderr(said);
    expect_journal("", "disk", true);
    CHILD_CHECK(list_dir(sandbox.shm()).ok());
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kFuseMounts);
  EXPECT_EQ(code, 0) << ::testing::PrintToString(lines_of(said));
  const std::vector<std::string> lines = lines_of(said);
  ASSERT_EQ(lines.size(), 1u) << ::testing::PrintToString(lines);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("the journal is in " + sandbox.store() + "/journal"));
  EXPECT_THAT(lines[0], ::testing::HasSubstr("FUSE"));
}

TEST(NetworkPlaceTest, AFuseMountInThePlaceOfTheJournalsFolderIsNotMappedEither) {
  Sandbox sandbox;
  ASSERT_EQ(::mkdir(sandbox.journals().c_str(), 0700), 0);
  const int code = exit_code_of(run_child([&] {
    if (!mount_fuse(sandbox.journals())) return kNoMounts;
    redirect_stderr("/dev/null");
    CHILD_CHECK(choose_place("", sandbox.store()).kind == JournalKind::kDisk);
    expect_journal("", "disk", true);
    return 0;
  }));
  SKIP_WHERE(code == kNoMounts, kFuseMounts);
  EXPECT_EQ(code, 0);
}

TEST(NetworkPlaceTest, AnShmFolderOnNfsIsLeftForTheDisk) {
  Sandbox sandbox;
  const std::string said = sandbox.folder() + "/stderr";
  EXPECT_EQ(exit_code_of(run_child([&] {
              set_fs_type_for_testing(sandbox.shm(), kNfs);
              redirect_stderr(said);
              expect_journal("", "disk", true);
              return 0;
            })),
            0);
  EXPECT_THAT(lines_of(said), ::testing::ElementsAre(::testing::HasSubstr("NFS")));
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

TEST(NetworkPlaceTest, AStoreOnNfsHasItsDiskJournalOnTheNode) {
  Sandbox sandbox;
  const std::string said = sandbox.shm() + "/stderr";
  EXPECT_EQ(exit_code_of(run_child([&] {
              set_fs_type_for_testing(sandbox.store(), kNfs);
              redirect_stderr(said);
              expect_journal("disk", "disk", true);
              CHILD_CHECK(!path_exists(sandbox.store() + "/journal"));
              return 0;
            })),
            0);
  EXPECT_THAT(lines_of(said), ::testing::ElementsAre(::testing::AllOf(::testing::HasSubstr("/var/tmp/tracker-"),
                                                                      ::testing::HasSubstr("NFS"))));
}

TEST(NetworkPlaceTest, WhereEverythingIsOnANetworkTheJournalIsPrivateMemoryAndThatIsSaid) {
  Sandbox sandbox;
  const std::string said = sandbox.folder() + "/stderr";
  EXPECT_EQ(exit_code_of(run_child([&] {
              set_fs_type_for_testing("/", kNfs);
              redirect_stderr(said);
              for (const char* wanted : {"", "disk"}) expect_journal(wanted, "memory", false);
              return 0;
            })),
            0);
  const std::vector<std::string> lines = lines_of(said);
  ASSERT_EQ(lines.size(), 2u) << "one a run";
  for (const std::string& line : lines) {
    EXPECT_THAT(line, ::testing::HasSubstr("dies with the process"));
    EXPECT_THAT(line, ::testing::HasSubstr(sandbox.store() + "/journal lies on a NFS"));
  }
}

}  // namespace
}  // namespace tracker::internal
