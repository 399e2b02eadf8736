// SPDX-License-Identifier: MIT
// The journal's folder is private, ours and no link, or it is not used; its lock answers who is alive. Method: squatted
// folders of every kind, and locks held by this process and by children.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "journal/dead/dead_journal.h"
#include "journal/ring/liveness.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/live_journal.h"

namespace tracker::internal {
namespace {

JournalPlace place_for(const Sandbox& sandbox, const char* wanted = "") {
  return choose_place(wanted, sandbox.store());
}

// Promise P12: Rings are in `tracker-<uid>` of /dev/shm, 0700, with a verified owner; links are not followed.
// Promise P4: All rings together take at most 24 MiB, 1/8 of the free space of /dev/shm and 2 % of the cgroup's memory.
TEST(PlaceTest, TmpfsIsTakenAndMadePrivate) {
  Sandbox sandbox;
  const JournalPlace place = place_for(sandbox);
  EXPECT_EQ(place.kind, JournalKind::kShm);
  EXPECT_EQ(place.root, sandbox.journals());
  EXPECT_LE(place.budget_bytes, kJournalBytesMax);
  struct stat st{};
  ASSERT_EQ(::stat(place.root.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST(PlaceTest, TheBudgetIsTwoPercentOfTheContainersMemory) {
  Sandbox sandbox;
  for (const char* file : {"/memory.max", "/memory/memory.limit_in_bytes"}) {  // versions 2 and 1
    const std::string root = sandbox.folder() + "/cgroup" + (file[7] == '.' ? "2" : "1");
    ASSERT_TRUE(make_dirs(root + "/memory").ok());
    ASSERT_TRUE(write_file_atomic(root + file, "209715200\n").ok());
    set_cgroup_root_for_testing(root);
    EXPECT_EQ(place_for(sandbox).budget_bytes, 209'715'200u / 50) << file;
    ASSERT_TRUE(write_file_atomic(root + file, "52428800\n").ok());
    EXPECT_NE(place_for(sandbox).kind, JournalKind::kShm) << "2 % are below the least that is worth it";
  }
  set_cgroup_root_for_testing("");
}

TEST(PlaceTest, WhatIsAskedForIsTaken) {
  Sandbox sandbox;
  EXPECT_EQ(place_for(sandbox, "disk").kind, JournalKind::kDisk);
  EXPECT_EQ(place_for(sandbox, "memory").kind, JournalKind::kMemory);
}

TEST(PlaceTest, AFolderThatOthersMayReadIsNotUsed) {
  for (const uint32_t mode : {0755u, 0770u, 0701u, 0777u}) {
    Sandbox sandbox;
    ASSERT_EQ(::mkdir(sandbox.journals().c_str(), 0700), 0);
    ASSERT_EQ(::chmod(sandbox.journals().c_str(), mode), 0);
    const JournalPlace place = place_for(sandbox);
    EXPECT_EQ(place.kind, JournalKind::kDisk) << mode;
    EXPECT_THAT(place.why, ::testing::HasSubstr("not a private folder of this user"));
  }
}

TEST(PlaceTest, ALinkIsNotFollowed) {
  Sandbox sandbox;
  ASSERT_EQ(::mkdir((sandbox.folder() + "/elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((sandbox.folder() + "/elsewhere").c_str(), sandbox.journals().c_str()), 0);
  EXPECT_EQ(place_for(sandbox).kind, JournalKind::kDisk);
  EXPECT_TRUE(list_dir(sandbox.folder() + "/elsewhere")->empty());
}

TEST(PlaceTest, AFolderOfAnotherUserOrAFileIsNotUsed) {
  Sandbox sandbox;
  { const Fd file = std::move(*open_file(sandbox.journals(), O_CREAT | O_WRONLY, 0600)); }
  EXPECT_EQ(place_for(sandbox).kind, JournalKind::kDisk);
  remove_file(sandbox.journals());
  NEEDS(kRoot);
  ASSERT_EQ(::mkdir(sandbox.journals().c_str(), 0700), 0);
  ASSERT_EQ(::chown(sandbox.journals().c_str(), 12345, 12345), 0);
  EXPECT_EQ(place_for(sandbox).kind, JournalKind::kDisk);
}

TEST(PlaceTest, AParentThatIsNotThereIsNotUsed) {
  Sandbox sandbox;
  ::setenv("TRACKER_SHM_DIR", "/nowhere/at/all", 1);
  EXPECT_EQ(place_for(sandbox).kind, JournalKind::kDisk);
}

// `doctor` said "shm" where the folder could not be made: it had checked only what is there.
TEST(PlaceTest, ALookSaysWhatAnInitWouldDoInAFolderThatCannotBeWritten) {
  Sandbox sandbox;
  const bool root = ::geteuid() == 0;
  for (const std::string& folder : {sandbox.shm(), sandbox.folder()}) ASSERT_EQ(::chmod(folder.c_str(), 0555), 0);
  const int status = run_child([&] {
    if (root) CHILD_CHECK(::setresuid(65534, 65534, 65534) == 0);
    const JournalPlace look = choose_place("", sandbox.store(), false);
    const JournalPlace made = choose_place("", sandbox.store(), true);
    CHILD_CHECK(made.kind == JournalKind::kMemory && look.kind == made.kind);
    const std::string first = "cannot create " + sandbox.journals() + ": Permission denied; ";
    CHILD_CHECK(made.why.starts_with(first) && look.why.starts_with(first) && look.why.size() > first.size());
    return 0;
  });
  for (const std::string& folder : {sandbox.shm(), sandbox.folder()}) ::chmod(folder.c_str(), 0700);
  EXPECT_EQ(exit_code_of(status), 0);
}

// Promise P11: A process never opens its own lock file a second time, nor its own database outside SQLite: reading
// drops no lock.
TEST(OwnerLockTest, AProcessNeverTakesItsOwnJournalAndOthersFindItLive) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const std::string dir = journal.identity().journal_dir;
  EXPECT_TRUE(is_own_journal(dir));
  EXPECT_THAT(journal_dirs(sandbox.journals()), ::testing::IsEmpty());
  EXPECT_EQ(OwnerLock::take(dir).status().code(), Code::kBusy);
  EXPECT_EQ(DeadJournal::open(dir).status().code(), Code::kBusy);
  EXPECT_EQ(is_locked(dir), std::optional<bool>(true));
  EXPECT_EQ(probe_writer(journal.identity(), sandbox.store()), Liveness::kLive);
  // After all these questions the lock still holds.
  EXPECT_EQ(exit_code_of(run_child([&] {
              CHILD_CHECK(!is_own_journal(dir) && is_locked(dir) == std::optional<bool>(true));
              CHILD_CHECK(OwnerLock::take(dir).status().code() == Code::kBusy);
              CHILD_CHECK(probe_writer(journal.identity(), sandbox.store()) == Liveness::kLive);
              return 0;
            })),
            0);
}

// Whether another process finds the POSIX lock held; the second one, on byte 1, does not count here.
bool is_posix_locked(const std::string& dir) {
  return exit_code_of(run_child([&] {
           struct flock lock{};
           lock.l_type = F_WRLCK;
           lock.l_len = 1;
           const int fd = ::open(join_path(dir, "lock").c_str(), O_RDWR | O_CLOEXEC);
           CHILD_CHECK(fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0);
           return lock.l_type == F_WRLCK ? 0 : 1;
         })) == 0;
}

// A run that came by mail named the reader's own journal, spelled another way: it was opened as a path, and the close
// dropped the reader's own lock.
// Promise P12: A journal path in a received run is not used.
TEST(OwnerLockTest, WhatARunSaysOfItsJournalIsNeverOpened) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const std::string dir = journal.identity().journal_dir;
  WriterIdentity received = journal.identity();
  received.boot_id.clear();
  received.journal_dir = sandbox.shm() + "/./" + dir.substr(sandbox.shm().size() + 1);
  EXPECT_EQ(probe_writer(received, sandbox.folder() + "/mailed"), Liveness::kLive) << "by its id";
  received.writer = Id128::random();
  received.host = "elsewhere";
  EXPECT_EQ(probe_writer(received, sandbox.folder() + "/mailed"), Liveness::kUnknown) << "nothing of that id is here";
  EXPECT_TRUE(is_posix_locked(dir));
}

TEST(OwnerLockTest, AnOwnJournalIsKnownBehindALinkToo) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const std::string dir = journal.identity().journal_dir;
  const std::string link = join_path(sandbox.folder(), Id128::random().hex());
  ASSERT_EQ(::symlink(dir.c_str(), link.c_str()), 0);
  EXPECT_EQ(is_locked(link), std::optional<bool>(true));
  EXPECT_EQ(OwnerLock::take(link).status().code(), Code::kBusy);
  EXPECT_TRUE(is_posix_locked(dir));
}

// As shutil.copytree does with a store whose journal lies in it.
// Promise P1: A process that copies its own store, lock file included, is not considered dead.
TEST(OwnerLockTest, AfterACopyByTheProcessItselfItIsLiveAllTheSameAndTheLockComesBack) {
  Sandbox sandbox;
  LiveJournal journal(sandbox, {});
  const std::string dir = journal.identity().journal_dir;
  ASSERT_TRUE(read_file(join_path(dir, "lock"), 1).ok());
  EXPECT_FALSE(is_posix_locked(dir));
  EXPECT_EQ(exit_code_of(run_child([&] {
              CHILD_CHECK(is_locked(dir) == std::optional<bool>(true));
              CHILD_CHECK(OwnerLock::take(dir).status().code() == Code::kBusy);
              return 0;
            })),
            0);
  EXPECT_TRUE(journal->hold_lock());
  EXPECT_TRUE(is_posix_locked(dir));
}

// A forked child has the descriptor, and with it the second lock: it says nothing once the owner is dead.
TEST(OwnerLockTest, AForkedChildThatOutlivesTheOwnerKeepsNobodyFromRecovering) {
  Sandbox sandbox;
  Shared<std::atomic<int>> orphan;
  const int code = exit_code_of(run_child([&] {
    LiveJournal journal(sandbox, {});
    const pid_t child = ::fork();
    if (child == 0) {
      sleep_ms(60'000);
      ::_exit(0);
    }
    orphan->store(child);
    ::raise(SIGKILL);
    return 0;
  }));
  ASSERT_EQ(code, -1 - SIGKILL);
  const std::string dir = sandbox.journal_folders().at(0);
  EXPECT_EQ(is_locked(dir), std::optional<bool>(false));
  EXPECT_TRUE(DeadJournal::open(dir).ok());
  ::kill(orphan->load(), SIGKILL);
}

TEST(OwnerLockTest, OneOfTwoTakersHasADeadJournalAndAfterRemovalNobody) {
  Sandbox sandbox;
  Shared<std::atomic<int>> taken;
  ASSERT_EQ(exit_code_of(run_child([&] {
              LiveJournal journal(sandbox, {});
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  const std::string dir = sandbox.journal_folders().at(0);
  auto mine = OwnerLock::take(dir);
  ASSERT_TRUE(mine.ok());
  EXPECT_EQ(OwnerLock::take(dir).status().code(), Code::kBusy) << "a second taker in this process";
  EXPECT_EQ(is_locked(dir), std::optional<bool>(true));
  const auto other = [&] { return OwnerLock::take(dir).status().code(); };
  EXPECT_EQ(exit_code_of(run_child([&] { return static_cast<int>(other()); })), static_cast<int>(Code::kBusy));
  remove_file(join_path(dir, "lock"));
  EXPECT_EQ(exit_code_of(run_child([&] { return static_cast<int>(other()); })), static_cast<int>(Code::kNotFound));
}

TEST(OwnerLockTest, ACloseInOneThreadNeverDropsTheLockThatAnotherHasTaken) {
  Sandbox sandbox;
  ASSERT_EQ(exit_code_of(run_child([&] {
              LiveJournal journal(sandbox, {});
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  const std::string dir = sandbox.journal_folders().at(0);
  const std::string lock_file = join_path(dir, "lock");  // the forked child must not allocate: a lock may be held
  EXPECT_EQ(exit_code_of(run_child([&] {
              std::atomic<bool> stop{false};
              std::thread prober([&] {
                while (!stop) (void)is_locked(dir);
              });
              for (int i = 0; i < 50; ++i) {
                auto lock = OwnerLock::take(dir);
                CHILD_CHECK(lock.ok());
                ::usleep(200);
                struct flock held{};
                held.l_type = F_WRLCK;
                // A process does not see its own lock by F_GETLK; a child does.
                const pid_t child = ::fork();
                if (child == 0) {
                  const int fd = ::open(lock_file.c_str(), O_RDWR);
                  ::_exit(::fcntl(fd, F_GETLK, &held) == 0 && held.l_type == F_WRLCK ? 0 : 1);
                }
                CHILD_CHECK(exit_code_of(wait_child(child)) == 0);
              }
              stop = true;
              prober.join();
              return 0;
            })),
            0);
}

}  // namespace
}  // namespace tracker::internal
