// SPDX-License-Identifier: MIT
// A run's database in whose place somebody has written other bytes: the recovery of what waits moves it aside, begins
// anew and counts what went. What a person can mend, or what mends itself, stays where it is. Method: a process logs
// and commits, logs more that waits in its rings, and is killed; its database is harmed in between or behind that.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "storage/recovery/damaged_database.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kStored = 100, kWaiting = 50;

std::string database_in(const std::string& store) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.path().extension() == ".db" && entry.path().stem().string().size() == 32) return entry.path();
  return "";
}

void log_steps(trk_run* run, int64_t first, int64_t behind) {
  for (int64_t step = first; step < behind; ++step)
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
}

// `harm` is done to the database while its process lives.
void log_and_die(const Sandbox& sandbox, const std::function<void(const std::string&)>& harm) {
  ASSERT_EQ(run_child([&] {
              trk_run* run = open_run("r");
              CHILD_CHECK(run != nullptr);
              log_steps(run, 0, kStored);
              CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
              if (harm) harm(database_in(sandbox.store()));
              log_steps(run, kStored, kStored + kWaiting);
              if (harm) (void)trk_flush(run, 300);
              ::raise(SIGKILL);
              return 0;
            }),
            SIGKILL);
}

void write_over(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::trunc) << bytes; }

std::vector<std::string> files_beside(const std::string& path, const std::string& part) {
  std::vector<std::string> out;
  for (const std::string& name : list_dir(parent_path(path)).value_or({}))
    if (name.find(part) != std::string::npos) out.push_back(join_path(parent_path(path), name));
  return out;
}

void execute(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

std::string notes(size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += "notes of a user\n";
  return out;
}

// As if the harm were done a minute ago.
void let_rest(const std::string& path) {
  for (const char* suffix : {"", "-wal"}) {
    const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - 60, 0}};
    (void)::utimensat(AT_FDCWD, (path + suffix).c_str(), times, 0);
  }
}

struct Harm {
  const char* name;
  std::function<void(const std::string& path)> body;
};
void PrintTo(const Harm& harm, std::ostream* out) { *out << harm.name; }

const Harm kHarms[] = {
    {"Shorter", [](const std::string& path) { write_over(path, notes(1000)); }},
    {"Longer", [](const std::string& path) { write_over(path, notes(1 << 20)); }},
    {"CutToNothing", [](const std::string& path) { write_over(path, ""); }},
    {"AnotherDatabase",
     [](const std::string& path) {
       const std::string other = path + "-other";
       sqlite3* db = nullptr;
       CHILD_CHECK(sqlite3_open(other.c_str(), &db) == SQLITE_OK);
       CHILD_CHECK(sqlite3_exec(db, "CREATE TABLE t (x)", nullptr, nullptr, nullptr) == SQLITE_OK);
       sqlite3_close(db);
       std::filesystem::copy_file(other, path, std::filesystem::copy_options::overwrite_existing);
       std::filesystem::remove(other);
     }},
};

class OverwrittenTest : public ::testing::TestWithParam<Harm> {};

// Bug: the recovery of the points that wait stayed away until somebody moved the file, and what the database had held
// was in no account.
TEST_P(OverwrittenTest, ADatabaseOfOtherBytesIsMovedAsideAndWhatItHeldIsCounted) {
  Sandbox sandbox;
  // Nothing of it is in the log beside it any more: what the bytes take the place of is gone.
  log_and_die(sandbox, [](const std::string& path) {
    execute(path, "PRAGMA wal_checkpoint(TRUNCATE)");
    GetParam().body(path);
  });
  const std::string path = database_in(sandbox.store());
  const std::string bytes = read_file(path, 2 << 20).value_or("?");
  let_rest(path);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(run.problems, ::testing::Contains(HasSubstr("of which nothing can be read")));
  EXPECT_THAT(sandbox.journal_folders(), IsEmpty()) << "it is recovered";
  const auto aside = databases_set_aside(run.view->dir());
  ASSERT_THAT(aside, SizeIs(1));
  EXPECT_EQ(read_file(aside[0], 2 << 20).value_or(""), bytes) << "nobody deletes or changes it";
  EXPECT_THAT(rows_of(run, "x").steps, SizeIs(kWaiting));
  const LossAccount account = run.view->losses();
  EXPECT_EQ(account.logged, static_cast<uint64_t>(kStored + kWaiting));
  EXPECT_EQ(account.dropped, static_cast<uint64_t>(kStored));
  EXPECT_EQ(account.pending, 0u);
  EXPECT_EQ(run.view->state(), RunState::kCrashed);
  const auto report = verify_store(sandbox.store(), {});
  ASSERT_TRUE(report.ok());
  const auto said = std::count_if(report->findings.begin(), report->findings.end(), [](const Finding& one) {
    return one.kind == "set-aside" && one.level == FindingLevel::kDamage;
  });
  EXPECT_EQ(said, 1);
  // A resumed attempt goes on, and nothing is counted twice.
  EXPECT_EQ(exit_code_of(run_child([] {
              trk_run* again = open_run("r", nullptr, nullptr, "must");
              CHILD_CHECK(again != nullptr);
              log_steps(again, 1000, 1010);
              CHILD_CHECK(trk_finish(again, 0, nullptr) == TRK_OK);
              return 0;
            })),
            0);
  ReadRun later = recover_and_read(sandbox.store());
  ASSERT_NE(later.view, nullptr);
  EXPECT_EQ(later.view->losses().logged, static_cast<uint64_t>(kStored + kWaiting + 10));
  EXPECT_EQ(later.view->losses().dropped, static_cast<uint64_t>(kStored));
  EXPECT_THAT(databases_set_aside(later.view->dir()), SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(Harms, OverwrittenTest, ::testing::ValuesIn(kHarms),
                         [](const auto& test) { return std::string(test.param.name); });

// What a recovery finds that must leave the database where it is; `mend` makes it well again.
void expect_it_stays(const Sandbox& sandbox, const std::string& path, const std::function<void()>& mend) {
  let_rest(path);
  const ReadRun kept = recover_and_read(sandbox.store());
  EXPECT_THAT(files_beside(path, "damaged"), IsEmpty());
  EXPECT_THAT(sandbox.journal_folders(), SizeIs(1)) << "the points wait";
  mend();
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(run.problems, IsEmpty());
  EXPECT_THAT(rows_of(run, "x").steps, SizeIs(kStored + kWaiting));
  EXPECT_THAT(sandbox.journal_folders(), IsEmpty());
}

TEST(OverwrittenTest, ADatabaseThatIsMerelyBusyStays) {
  Sandbox sandbox;
  log_and_die(sandbox, nullptr);
  const std::string path = database_in(sandbox.store());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version=1", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  expect_it_stays(sandbox, path, [&] { sqlite3_close(db); });
}

TEST(OverwrittenTest, ADatabaseOfANewerVersionStays) {
  Sandbox sandbox;
  log_and_die(sandbox, nullptr);
  const std::string path = database_in(sandbox.store());
  execute(path, "PRAGMA user_version=1000");
  expect_it_stays(sandbox, path, [&] { execute(path, "PRAGMA user_version=1"); });
}

TEST(OverwrittenTest, ADatabaseToWhichSomebodyHasAddedATableStays) {
  Sandbox sandbox;
  log_and_die(sandbox, nullptr);
  const std::string path = database_in(sandbox.store());
  execute(path, "CREATE VIEW mine AS SELECT 1");
  expect_it_stays(sandbox, path, [&] { execute(path, "DROP VIEW mine"); });
}

// Its first bytes say that it is ours, and none of its pages holds together. The ring has all of it still.
TEST(OverwrittenTest, ADatabaseOfWhichNothingButTheHeaderIsLeftIsMovedAside) {
  Sandbox sandbox;
  log_and_die(sandbox, nullptr);
  const std::string path = database_in(sandbox.store());
  execute(path, "PRAGMA wal_checkpoint(TRUNCATE)");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(100)
      << notes(std::filesystem::file_size(path) - 100);
  let_rest(path);
  ReadRun run = recover_and_read(sandbox.store());
  ASSERT_NE(run.view, nullptr);
  EXPECT_THAT(databases_set_aside(run.view->dir()), SizeIs(1));
  EXPECT_THAT(sandbox.journal_folders(), IsEmpty());
  EXPECT_THAT(rows_of(run, "x").steps, SizeIs(kStored + kWaiting));
  EXPECT_EQ(run.view->losses().dropped, 0u);
}

// A log that was moved to another disk for want of room, and a link to it left behind: with it the database is whole.
// Bug: the link was taken for damage, and the database with all that was stored was moved aside.
TEST(OverwrittenTest, ADatabaseWhoseLogIsALinkStays) {
  Sandbox sandbox;
  log_and_die(sandbox, nullptr);
  const std::string path = database_in(sandbox.store()), wal = path + "-wal", moved = sandbox.folder() + "/moved";
  std::filesystem::rename(wal, moved);
  std::filesystem::create_symlink(moved, wal);
  expect_it_stays(sandbox, path, [&] {
    std::filesystem::remove(wal);
    std::filesystem::rename(moved, wal);
  });
}

// Bug: half of a backup was taken for damage while it was being copied there.
TEST(OverwrittenTest, ADatabaseThatSomebodyIsWritingStays) {
  Sandbox sandbox;
  log_and_die(sandbox, [](const std::string& path) { execute(path, "PRAGMA wal_checkpoint(TRUNCATE)"); });
  const std::string path = database_in(sandbox.store());
  const std::string all = read_file(path, 2 << 20).value_or("");
  std::filesystem::remove(path + "-wal");
  write_over(path, all.substr(0, all.size() / 2));
  const ReadRun early = recover_and_read(sandbox.store());
  EXPECT_THAT(files_beside(path, "damaged"), IsEmpty());
  EXPECT_THAT(early.problems, ::testing::Contains(HasSubstr("is being written, by a restore?")));
  write_over(path, all);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(files_beside(path, "damaged"), IsEmpty());
  EXPECT_THAT(rows_of(run, "x").steps, SizeIs(kStored + kWaiting));
}

// A page in the middle: readers read the rest, which nobody could any more behind a rename.
TEST(OverwrittenTest, ADatabaseOfWhichAPartCanBeReadStays) {
  Sandbox sandbox;
  log_and_die(sandbox, [](const std::string& path) { execute(path, "PRAGMA wal_checkpoint(TRUNCATE)"); });
  const std::string path = database_in(sandbox.store());
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-4096, std::ios::end) << notes(4096);
  let_rest(path);
  (void)recover_and_read(sandbox.store());
  EXPECT_THAT(files_beside(path, "damaged"), IsEmpty());
}

TEST(OverwrittenTest, ADatabaseWhoseLogHasWhatWasOverwrittenIsMadeWholeByIt) {
  Sandbox sandbox;
  log_and_die(sandbox, [](const std::string& path) { execute(path, "PRAGMA user_version=1"); });  // page 1
  const std::string path = database_in(sandbox.store());
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << notes(100);
  let_rest(path);
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_THAT(files_beside(path, "damaged"), IsEmpty());
  EXPECT_THAT(run.problems, IsEmpty());
  EXPECT_THAT(rows_of(run, "x").steps, SizeIs(kStored + kWaiting));
}

TEST(OverwrittenTest, ADatabaseOnAMountThatCannotBeWrittenStays) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.folder(), "64m")) return kNoMounts;
    log_and_die(sandbox, nullptr);
    const std::string path = database_in(sandbox.store());
    const auto remount = [&](unsigned long flags) {
      return ::mount("tmpfs", sandbox.folder().c_str(), "tmpfs", MS_REMOUNT | flags, "size=64m") == 0;
    };
    CHILD_CHECK(remount(MS_RDONLY));
    expect_it_stays(sandbox, path, [&] { CHILD_CHECK(remount(0)); });
    return ::testing::Test::HasFailure() ? 1 : 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

TEST(OverwrittenTest, ADatabaseThatMayNotBeReadStays) {
  NEEDS(kRoot);
  Sandbox sandbox;
  constexpr uid_t kNobody = 65534;
  std::filesystem::permissions(sandbox.folder(), std::filesystem::perms::all);
  std::filesystem::permissions(sandbox.shm(), std::filesystem::perms::all);
  // The user whose run it is may not read a file of root in its place; root made it so and takes it back.
  const int code = exit_code_of(run_child([&] {
    CHILD_CHECK(::seteuid(kNobody) == 0);
    log_and_die(sandbox, nullptr);
    const std::string path = database_in(sandbox.store());
    const auto give = [&](uid_t user, mode_t mode) {
      CHILD_CHECK(::seteuid(0) == 0 && ::chown(path.c_str(), user, user) == 0 && ::chmod(path.c_str(), mode) == 0);
      CHILD_CHECK(::seteuid(kNobody) == 0);
    };
    give(0, 0600);
    expect_it_stays(sandbox, path, [&] { give(kNobody, 0644); });
    return ::testing::Test::HasFailure() ? 1 : 0;
  }));
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tracker::internal
