// SPDX-License-Identifier: MIT
// Goal: a store.json that is damaged or gone costs no run: readers go on and say so, the next run writes it again
// with the id that the runs say, and where none does an error says what to do. Names of runs that cannot be read give
// the reason. Method: stores whose documents are damaged by hand; many processes that repair one at once.
// Bugs: one damaged byte made every run unreadable; a new id hid the journals of dead writers for ever.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "query/view/run_view.h"
#include "storage/store/document.h"
#include "storage/store/run_folder.h"
#include "storage/store/store_identity.h"
#include "support/child.h"
#include "support/conditions.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class StoreIdentityTest : public CliTest {
 protected:
  StoreIdentityTest() {
    builder_.writer(builder_.run("p", "a")).log("loss", 0, 1).end(RunState::kFinished).finish();
    builder_.writer(builder_.run("p", "b")).log("loss", 0, 1).end(RunState::kFinished).finish();
  }
  std::string file() const { return builder_.path() + "/store.json"; }
  void damage() { std::ofstream(file()) << "{\n\x01"; }
  void empty_the_runs() {
    for (const RunFolder& run : builder_.store().list_runs())
      for (const std::string& db : run.writer_dbs()) fs::remove(db);
  }
};

TEST_F(StoreIdentityTest, ReadersGoOnWithADamagedStoreFileAndSaySo) {
  damage();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"ls"}, {"show", "p/a"}, {"export", "p/b"}, {"gc"}}) {
    EXPECT_EQ(run(command), kExitDamaged) << command.front() << out_ << err_;
    EXPECT_NE(err_.find(file() + ": no valid JSON"), std::string::npos) << command.front() << err_;
    EXPECT_NE(err_.find("; the store's id was taken from " + builder_.path() + "/runs/p/"), std::string::npos) << err_;
  }
  EXPECT_EQ(Store::open(builder_.path())->id(), builder_.store().id());
  EXPECT_EQ(*read_file(file(), 100), "{\n\x01");
}

TEST_F(StoreIdentityTest, AWriterWritesADamagedStoreFileAnewAndKeepsIt) {
  for (int i = 1; i <= 2; ++i) {
    damage();
    const auto store = Store::open_or_create(builder_.path());
    ASSERT_TRUE(store.ok()) << store.status().to_string();
    EXPECT_EQ(store->id(), builder_.store().id());
    const std::string kept = file() + ".damaged-" + std::to_string(i);
    EXPECT_NE(store->problem().find(kept), std::string::npos) << store->problem();
    EXPECT_EQ(read_file(kept, 100).value_or(""), "{\n\x01");
    EXPECT_EQ(*read_store_document(file()), builder_.store().id());
  }
  EXPECT_TRUE(Store::open_or_create(builder_.path())->problem().empty());
  EXPECT_EQ(run({"ls"}), kExitOk) << err_;
  EXPECT_EQ(run({"verify"}), kExitOk) << out_;
}

TEST_F(StoreIdentityTest, WhereTooManyAreKeptTheDamagedOneStaysAndIsSaid) {
  damage();
  for (int i = 1; i <= kDamagedKeptMax; ++i) std::ofstream(file() + ".damaged-" + std::to_string(i)) << "{";
  const auto store = Store::open_or_create(builder_.path());
  ASSERT_TRUE(store.ok());
  EXPECT_NE(store->problem().find("it cannot be written again: 100 damaged files are kept"), std::string::npos);
  EXPECT_EQ(*read_file(file(), 100), "{\n\x01");
}

TEST_F(StoreIdentityTest, OnlyTheNewestRunsAreAsked) {
  StoreBuilder other;
  other.writer(other.run("p", "old")).log("loss", 0, 1).end(RunState::kFinished).finish();
  const std::string old = builder_.path() + "/runs/p/old";
  fs::rename(other.path() + "/runs/p/old", old);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  damage();
  EXPECT_EQ(Store::open(builder_.path()).status().code(), Code::kCorrupt);
  for (size_t i = 2; i < kIdentityRunsMax; ++i)
    builder_.writer(builder_.run("p", std::to_string(i))).log("loss", 0, 1).finish();
  const auto store = Store::open(builder_.path());
  ASSERT_TRUE(store.ok()) << store.status().to_string();
  EXPECT_EQ(store->id(), builder_.store().id());
}

TEST_F(StoreIdentityTest, OfManyProcessesThatMendItEachFindsTheStore) {
  damage();
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i)
    children.push_back(start_child([&] {
      const auto store = Store::open_or_create(builder_.path());
      return store.ok() && store->id() == builder_.store().id() ? 0 : 1;
    }));
  for (const pid_t child : children) EXPECT_EQ(exit_code_of(wait_child(child)), 0);
  EXPECT_EQ(*read_store_document(file()), builder_.store().id());
  EXPECT_EQ(read_file(file() + ".damaged-1", 100).value_or(""), "{\n\x01");
}

TEST_F(StoreIdentityTest, ARemovedStoreFileIsMadeWithTheIdOfTheRuns) {
  fs::remove(file());
  const auto store = Store::open_or_create(builder_.path());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(store->id(), builder_.store().id());
}

// Bug: "no store at ...", beside a folder full of runs.
TEST_F(StoreIdentityTest, ReadersOfRunsWithoutAStoreFileSayWhatIsMissingAndWhatMakesIt) {
  ASSERT_TRUE(fs::remove(builder_.path() + "/store.json"));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"ls"}, {"verify"}, {"gc"}}) {
    EXPECT_NE(run(command), kExitOk);
    EXPECT_NE(err_.find("store.json is missing"), std::string::npos) << command.front() << err_;
    EXPECT_NE(err_.find("makes it again"), std::string::npos) << command.front() << err_;
  }
  EXPECT_EQ(run({"doctor"}), kExitOk) << err_;
  EXPECT_NE(out_.find("store.json is missing"), std::string::npos) << out_;
}

TEST_F(StoreIdentityTest, WithoutARunThatSaysItAStoreFileIsMadeNewOrTheErrorSaysWhatToDo) {
  empty_the_runs();
  damage();
  EXPECT_EQ(run({"ls"}), kExitDamaged);
  EXPECT_NE(err_.find("says of which store it is (remove " + file()), std::string::npos) << err_;
  EXPECT_EQ(Store::open_or_create(builder_.path()).status().code(), Code::kCorrupt);
  fs::remove(file());
  const auto store = Store::open_or_create(builder_.path());
  ASSERT_TRUE(store.ok());
  EXPECT_NE(store->id(), builder_.store().id());
}

TEST_F(StoreIdentityTest, RunsOfTwoStoresTellNothing) {
  StoreBuilder other;
  other.writer(other.run("p", "c")).log("loss", 0, 1).end(RunState::kFinished).finish();
  fs::rename(other.path() + "/runs/p/c", builder_.path() + "/runs/p/c");
  damage();
  const Status status = Store::open(builder_.path()).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  for (const Id128& id : {builder_.store().id(), other.store().id()})
    EXPECT_NE(status.message().find(id.hex()), std::string::npos) << status.to_string();
}

// The bug: "no run "p/a"; did you mean p/b?"
TEST_F(StoreIdentityTest, ARunWhoseDocumentAndDatabaseAreDamagedIsNamedWithBoth) {
  const auto folder = builder_.store().find_run("p", "a");
  const std::string db = folder->writer_dbs().at(0);
  overwrite_start(db, "no database at all");
  overwrite_start(folder->path + "/run.json", "\x01\x01");
  for (const char* name : {"p/a", "a"}) {
    EXPECT_EQ(run({"show", name}), kExitDamaged) << err_;
    EXPECT_NE(err_.find(folder->path + "/run.json"), std::string::npos) << err_;
    EXPECT_NE(err_.find(db), std::string::npos) << err_;
  }
  EXPECT_EQ(run({"show", "p/x"}), kExitFailed);
  EXPECT_NE(err_.find("no run \"p/x\""), std::string::npos) << err_;
}

// The bug: "Nothing lost", while points waited where only the owner can look.
TEST_F(StoreIdentityTest, OfADeadRunOfAnotherUserItSaysWhoseJournalCannotBeSeen) {
  NEEDS(kRoot);
  auto writer = builder_.writer(builder_.run("p", "dead"), {.host = this_process().host});
  writer.log("loss", 0, 1).commit();
  const RunFolder folder = *builder_.store().find_run("p", "dead");
  EXPECT_EQ(run({"show", "p/dead"}), kExitOk) << err_;
  EXPECT_NE(out_.find("is not known: its journal is not here"), std::string::npos) << out_;
  ASSERT_EQ(::chown(folder.path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(run({"show", "p/dead"}), kExitOk) << err_;
  EXPECT_EQ(out_.find("Nothing lost"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  1 point stored.\n  more may wait in the journal of user id 12345"), std::string::npos) << out_;
  EXPECT_EQ(run({"show", "p/dead", "--json"}), kExitOk) << err_;
  EXPECT_NE(out_.find("\"unseen_user\": 12345"), std::string::npos) << out_;
  // One that has ended, and one that stored nothing.
  ASSERT_EQ(::chown(builder_.store().find_run("p", "a")->path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(run({"show", "p/a"}), kExitOk) << err_;
  EXPECT_NE(out_.find("Nothing lost: 1 point stored."), std::string::npos) << out_;
  const int made = run_child([&] {
    Store store = builder_.store();
    return store.create_run("p", "empty").ok() ? 0 : 1;
  });
  ASSERT_EQ(exit_code_of(made), 0);
  const RunFolder empty = *builder_.store().find_run("p", "empty");
  ASSERT_EQ(::chown(empty.path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(run({"show", "p/empty", "--json"}), kExitOk) << err_;
  EXPECT_NE(out_.find("its process ended; what may wait in the journal of user id 12345 cannot be seen"),
            std::string::npos)
      << out_;
}

}  // namespace
}  // namespace tracker::internal
