// SPDX-License-Identifier: MIT
// Stores and run folders: found by the documented rules, made once whatever the number of processes, runs resolved by
// name.
// Method: real folders; 64 processes that begin at the same moment.
#include "storage/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "storage/store/run_folder.h"
#include "support/storage.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

constexpr int kProcesses = 64;

class StoreTest : public ::testing::Test {
 protected:
  Store store() {
    auto made = Store::open_or_create(path());
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return *made;
  }
  std::string path() const { return folder_.path() + "/.tracker"; }
  TempFolder folder_;
};

// What `body` returns in each of 64 processes that start together; "" for one that failed.
template <typename Body>
std::vector<std::string> race(Body&& body) {
  int start[2];
  int answers[2];
  EXPECT_EQ(::pipe(start), 0);
  EXPECT_EQ(::pipe(answers), 0);
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    char byte;
    ::close(start[1]);
    (void)!::read(start[0], &byte, 1);  // until all have started and the parent closes its end
    std::string answer = body(i);
    answer.resize(64, ' ');
    ::_exit(::write(answers[1], answer.data(), answer.size()) == 64 ? 0 : 1);
  }
  ::close(start[0]);
  ::close(start[1]);
  ::close(answers[1]);
  std::vector<std::string> out;
  char buffer[64];
  while (::read(answers[0], buffer, sizeof buffer) == 64) {
    std::string answer(buffer, sizeof buffer);
    out.push_back(answer.substr(0, answer.find(' ')));
  }
  while (::wait(nullptr) > 0) {}
  ::close(answers[0]);
  return out;
}

TEST_F(StoreTest, SixtyFourProcessesMakeOneStore) {
  const auto ids = race([this](int) {
    auto store = Store::open_or_create(path());
    return store.ok() ? store->id().hex() : std::string();
  });
  ASSERT_EQ(ids.size(), size_t{kProcesses});
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_EQ(ids[0], store().id().hex());
  EXPECT_EQ(*list_dir(path()), (std::vector<std::string>{".gitignore", "store.json"}));
  EXPECT_EQ(*read_file(path() + "/.gitignore", 10), "*\n");
}

TEST_F(StoreTest, SixtyFourProcessesShareOneRun) {
  const Store shared = store();
  const auto uids = race([&](int) {
    auto run = Store(shared).open_or_create_run("p", "shared");
    return run.ok() ? run->identity.uid.hex() : std::string();
  });
  ASSERT_EQ(uids.size(), size_t{kProcesses});
  EXPECT_EQ(std::set<std::string>(uids.begin(), uids.end()).size(), 1u);
  EXPECT_EQ(uids[0].size(), 32u);
}

// Promise P3: A run has a uid for ever; its label is unique in the project.
TEST_F(StoreTest, SixtyFourProcessesThatWantTheSameLabelGetSixtyFourRuns) {
  const Store shared = store();
  const auto labels = race([&](int) {
    auto run = Store(shared).create_run("p", "baseline");
    return run.ok() ? run->identity.id : std::string();
  });
  const std::set<std::string> distinct(labels.begin(), labels.end());
  EXPECT_EQ(distinct.size(), size_t{kProcesses});
  EXPECT_TRUE(distinct.count("baseline") == 1 && distinct.count("baseline-2") == 1);
  EXPECT_TRUE(distinct.count("baseline-64") == 1);
  EXPECT_EQ(shared.list_runs().size(), size_t{kProcesses});
}

TEST_F(StoreTest, TheDefaultFolderIsPrivate) {
  (void)store();
  struct stat st{};
  ASSERT_EQ(::stat(path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
}

TEST_F(StoreTest, OpenDoesNotCreate) {
  EXPECT_EQ(Store::open(path()).status().code(), Code::kNotFound);
  EXPECT_FALSE(path_exists(path()));
}

TEST_F(StoreTest, NewerAndDamagedStoresAreNamedAndLeftAlone) {
  (void)store();
  const std::string file = path() + "/store.json";
  std::ofstream(file) << R"({"format":"tracker-store","version":2,"id":"00000000000000000000000000000001"})";
  auto newer = Store::open_or_create(path());
  EXPECT_EQ(newer.status().code(), Code::kVersion);
  EXPECT_NE(newer.status().message().find(file), std::string::npos);
  for (const char* text : {"", "{", "[]", "{\"format\":\"tracker-store\",\"version\":1}", "{\"version\":1}"}) {
    std::ofstream(file) << text;
    EXPECT_EQ(Store::open_or_create(path()).status().code(), Code::kCorrupt) << text;
    EXPECT_EQ(*read_file(file, 1000), text);
  }
}

// Promise P9: The store is `dir=`, else TRACKER_DIR, else the nearest `.tracker` upward, else `./.tracker`, private and
// ignored by git.
TEST_F(StoreTest, ResolveTakesTheArgumentThenTheVariableThenTheNearestFolderUpward) {
  ::unsetenv("TRACKER_DIR");
  const std::string deep = std::filesystem::canonical(folder_.path()).string() + "/a/b";
  std::filesystem::create_directories(deep);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(deep);
  EXPECT_EQ(Store::resolve(""), deep + "/.tracker");
  (void)store();
  EXPECT_EQ(Store::resolve(""), std::filesystem::canonical(path()).string());
  ::setenv("TRACKER_DIR", "elsewhere/", 1);
  EXPECT_EQ(Store::resolve(""), deep + "/elsewhere");
  EXPECT_EQ(Store::resolve("/x/y/"), "/x/y");
  ::unsetenv("TRACKER_DIR");
  std::filesystem::current_path(before);
}

TEST_F(StoreTest, ARunIsFoundAgainWithItsIdentity) {
  Store s = store();
  const Id128 uid = Id128::random();
  auto made = s.create_run("a project/with ünicode", "..", uid);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  auto found = s.find_run("a project/with ünicode", "..");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->identity.uid, uid);
  EXPECT_EQ(found->path, made->path);
  EXPECT_EQ(found->path.rfind(path() + "/runs/", 0), 0u);
  EXPECT_FALSE(s.find_run("a project", "..").has_value());
}

TEST_F(StoreTest, WithoutALabelARandomOneIsMadeUp) {
  Store s = store();
  auto a = s.create_run("p", "");
  auto b = s.create_run("p", "");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->identity.id, b->identity.id);
}

TEST_F(StoreTest, BadLabelsAreRefused) {
  Store s = store();
  EXPECT_EQ(s.create_run("", "x").status().code(), Code::kInvalid);
  EXPECT_EQ(s.create_run("p", "a\nb").status().code(), Code::kInvalid);
  EXPECT_EQ(s.open_or_create_run("p", "").status().code(), Code::kInvalid);
}

TEST_F(StoreTest, RunsAreResolvedByProjectAndIdByIdAndByUid) {
  Store s = store();
  const Id128 uid = *Id128::from_hex("abcdef00000000000000000000000001");
  const Id128 other = *Id128::from_hex("abcdef00000000000000000000000002");
  ASSERT_TRUE(s.create_run("mnist", "otter", uid).ok());
  ASSERT_TRUE(s.create_run("cifar/10", "otter", other).ok());
  ASSERT_TRUE(s.create_run("mnist", "heron").ok());
  EXPECT_EQ(s.resolve_run("mnist/otter")->identity.uid, uid);
  EXPECT_EQ(s.resolve_run("cifar/10/otter")->identity.uid, other);
  EXPECT_EQ(s.resolve_run("heron")->identity.project, "mnist");
  EXPECT_EQ(s.resolve_run(uid.hex())->identity.uid, uid);
  auto two = s.resolve_run("otter");
  EXPECT_EQ(two.status().code(), Code::kInvalid);
  EXPECT_NE(two.status().message().find("mnist/otter"), std::string::npos);
  EXPECT_NE(two.status().message().find("cifar/10/otter"), std::string::npos);
  EXPECT_EQ(s.resolve_run("abcdef").status().code(), Code::kInvalid);
  auto none = s.resolve_run("mnist/oter");
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  EXPECT_NE(none.status().message().find("did you mean mnist/otter"), std::string::npos) << none.status().message();
  EXPECT_EQ(s.resolve_run("").status().code(), Code::kNotFound);
}

TEST_F(StoreTest, OfCopiesOfARunTheOneInItsOwnPlaceIsMeantAndTheOthersHaveTheirPlaces) {
  Store s = store();
  const auto run = s.create_run("mnist", "otter");
  ASSERT_TRUE(run.ok());
  for (const char* name : {"/copy-1", "/copy-2"})
    std::filesystem::copy(run->path, s.path() + "/runs/mnist" + name, std::filesystem::copy_options::recursive);
  for (const std::string& name : {std::string("otter"), std::string("mnist/otter"), run->identity.uid.hex()}) {
    const auto found = s.resolve_run(name);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(found->path, run->path);
  }
  EXPECT_EQ(s.resolve_run("mnist/copy-1")->path, s.path() + "/runs/mnist/copy-1");
  EXPECT_FALSE(s.resolve_run("mnist/../mnist/copy-1").ok());
  std::filesystem::remove_all(run->path);
  const Status two = s.resolve_run("otter").status();
  EXPECT_EQ(two.code(), Code::kInvalid);
  EXPECT_NE(two.message().find("\n  mnist/otter (in mnist/copy-1)\n  mnist/otter (in mnist/copy-2)"), std::string::npos)
      << two.message();
}

TEST_F(StoreTest, ARunWhoseFolderWasRenamedIsFoundByItsOwnName) {
  Store s = store();
  const auto run = s.create_run("mnist", "otter");
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(::rename(run->path.c_str(), (run->path + ".old").c_str()), 0);
  const auto found = s.resolve_run("mnist/otter");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->path, run->path + ".old");
}

TEST_F(StoreTest, RunsAreListedNewestFirstAndDamagedFoldersAreNamed) {
  Store s = store();
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(s.create_run("p", id).ok());
  ASSERT_TRUE(s.create_run("q", "d").ok());
  auto broken = s.create_run("p", "broken");
  std::ofstream(broken->path + "/run.json") << "{";
  std::filesystem::create_directory(path() + "/runs/p/being-made");
  std::ofstream(path() + "/runs/stray") << "x";
  std::vector<Status> damaged;
  std::vector<std::string> ids;
  for (const RunFolder& run : s.list_runs("", &damaged)) ids.push_back(run.identity.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"d", "c", "b", "a"}));
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_NE(damaged[0].message().find("broken/run.json"), std::string::npos);
  EXPECT_EQ(s.list_runs("q").size(), 1u);
  EXPECT_TRUE(s.list_runs("none").empty());
}

// Bug: `echo {} > run.json` hid a whole run whose databases were intact.
TEST(DamagedDocumentTest, ARunIsKnownByItsDatabasesWhereItsDocumentIsDamagedOrGone) {
  StoreBuilder builder;
  const RunFolder run = builder.run("p", "r");
  builder.writer(run).log("loss", 0, 1).finish();
  Store store = builder.store();
  for (const bool gone : {false, true}) {
    if (gone) std::filesystem::remove(run.path + "/run.json");
    else std::ofstream(run.path + "/run.json") << "{}";
    std::vector<Status> damaged;
    const auto listed = store.list_runs("", &damaged);
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].identity.uid, run.identity.uid);
    ASSERT_EQ(damaged.size(), 1u);
    EXPECT_NE(damaged[0].message().find("run.json"), std::string::npos) << damaged[0].to_string();
    for (const char* name : {"r", "p/r"}) {
      auto found = store.resolve_run(name);
      ASSERT_TRUE(found.ok()) << name;
      EXPECT_NE(found->problem.find(".db"), std::string::npos) << found->problem;
    }
    EXPECT_NE(store.create_run("p", "r")->path, run.path) << "the label is taken";
    std::filesystem::remove_all(run.path + "-2");
  }
}

// All but one of these runs are links to the folder of one: only their existence is checked.
TEST_F(StoreTest, SoManyRunsOfAProjectAreCalledTheSame) {
  constexpr int kLabelTriesMax = 100'000;  // src/storage/store/store.cc
  Store s = store();
  const std::string first = s.create_run("p", "r")->path;
  for (int i = 2; i < kLabelTriesMax; ++i) ASSERT_EQ(::symlink("r", (first + "-" + std::to_string(i)).c_str()), 0) << i;
  const auto last = s.create_run("p", "r");
  ASSERT_TRUE(last.ok()) << last.status().to_string();
  EXPECT_EQ(last->identity.id, "r-" + std::to_string(kLabelTriesMax));
  EXPECT_EQ(s.create_run("p", "r").status().code(), Code::kLimit);
  EXPECT_TRUE(s.create_run("p", "other").ok());
}

TEST(RunFolderTest, SoManyTriesToMakeItMayBeLostToRemovals) {
  for (const int losses : {0, kFolderTriesMax - 1, kFolderTriesMax}) {
    int tries = 0;
    const Status made = make_run_dirs([&] { return ++tries <= losses ? Status(Code::kNotFound, "") : Status(); });
    EXPECT_EQ(made.ok(), losses < kFolderTriesMax) << losses;
    EXPECT_EQ(tries, std::min(losses + 1, kFolderTriesMax));
  }
  int tries = 0;
  EXPECT_EQ(make_run_dirs([&] { return ++tries, Status(Code::kIo, ""); }).code(), Code::kIo);
  EXPECT_EQ(tries, 1) << "another error is none that goes away";
}

// In a folder that is removed nothing can be created, as if each try were lost.
TEST(RunFolderTest, AStoreThatIsRemovedForGoodIsAnErrorAndNoEndlessLoop) {
  TempFolder folder;
  const std::string path = folder.path() + "/store";
  ASSERT_TRUE(Store::open_or_create(path).ok());
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  auto store = Store::open("/proc/self/fd/" + std::to_string(fd));
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  std::filesystem::remove_all(path);
  const auto run = store->create_run("p", "r");
  EXPECT_EQ(run.status().code(), Code::kNotFound) << run.status().to_string();
  ::close(fd);
}

TEST_F(StoreTest, OnlyDatabasesOfWritersAreListed) {
  auto run = store().create_run("p", "r");
  const WriterIdentity identity = test_identity();
  auto db = WriterDb::create(run->path, identity);
  for (const char* name : {"notes.db", "x.db-wal", "0123.db"}) std::ofstream(join_path(run->path, name)) << "x";
  EXPECT_EQ(run->writer_dbs(), std::vector<std::string>{db_path(run->path, identity)});
}

}  // namespace
}  // namespace tracker::internal
