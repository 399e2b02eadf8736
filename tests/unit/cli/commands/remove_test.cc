// SPDX-License-Identifier: MIT
// Goal: rm removes what was named, asked for and agreed to, and nothing else; gc removes what dead processes left.
// Method: stores made by hand with links, strangers and leftovers in them. Kills: fault/remove_kill_test.cc.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "model/value.h"
#include "storage/recovery/trash.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class RemoveTest : public CliTest {
 protected:
  RemoveTest() {
    for (const char* id : {"otter", "heron", "lynx"})
      builder_.writer(builder_.run("mnist", id))
          .log("loss", 0, 0.5)
          .end(std::string_view(id) == "lynx" ? RunState::kFailed : RunState::kFinished)
          .finish();
  }
  std::string folder(const std::string& id) const { return builder_.path() + "/runs/mnist/" + id; }
  void answer(std::optional<std::string> text) {
    console_.read_line = [text] { return text; };
  }
  bool trash_is_empty() const {
    for (const auto& entry : fs::directory_iterator(builder_.path() + "/trash"))
      if (entry.path().filename() != kTrashLockFile) return false;
    return true;
  }
  // A run of another host, whose writer has just given a sign of life.
  WriterBuilder begin_live_run() {
    BuilderOptions options;
    options.started_us = realtime_us();
    console_.now_us = realtime_us();
    WriterBuilder writer = builder_.writer(builder_.run("mnist", "live"), options);
    writer.log("loss", 0, 1).commit().heartbeat(realtime_us());
    return writer;
  }
  std::string database(const std::string& id) const {
    for (const auto& file : fs::directory_iterator(folder(id)))
      if (file.path().extension() == ".db") return file.path();
    return "";
  }
  // The database of a newer version; its file's time is an hour ago.
  std::string make_newer(const std::string& id) const {
    const std::string path = database(id);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);  // user_version
    file.write("\0\0\0\x63", 4);
    file.close();
    make_old(path);
    return path;
  }
  static void make_old(const std::string& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
};

TEST_F(RemoveTest, ARunIsRemovedWithYesAndTheOthersStay) {
  EXPECT_EQ(run({"rm", "mnist/otter", "--yes"}), kExitOk) << err_;
  EXPECT_TRUE(out_.starts_with("removed mnist/otter  ")) << out_;
  EXPECT_FALSE(fs::exists(folder("otter")));
  EXPECT_TRUE(fs::exists(folder("heron")));
  EXPECT_TRUE(trash_is_empty());
  EXPECT_EQ(run({"show", "otter"}), kExitFailed);
  EXPECT_EQ(run({"ls"}), kExitOk) << err_;
  EXPECT_EQ(out_.find("otter"), std::string::npos) << out_;
}

// Bug: the folder of the project stayed, empty.
TEST_F(RemoveTest, TheLastRunOfAProjectTakesItsFolderWithIt) {
  EXPECT_EQ(run({"rm", "otter", "heron", "--yes"}), kExitOk) << err_;
  EXPECT_TRUE(fs::exists(builder_.path() + "/runs/mnist"));
  EXPECT_EQ(run({"rm", "lynx", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(builder_.path() + "/runs/mnist"));
  EXPECT_TRUE(fs::exists(builder_.path() + "/runs"));
}

TEST_F(RemoveTest, AFolderThatAnotherProcessKeepsInTheProjectStays) {
  fs::create_directory(builder_.path() + "/runs/mnist/being-made");
  EXPECT_EQ(run({"rm", "otter", "heron", "lynx", "--yes"}), kExitOk) << err_;
  EXPECT_TRUE(fs::exists(builder_.path() + "/runs/mnist/being-made"));
}

TEST_F(RemoveTest, ARunIsMadeWhileItsProjectIsTakenAway) {
  auto store = Store::open(builder_.path());
  ASSERT_TRUE(store.ok());
  std::atomic<bool> stop{false};
  std::thread remover([&] {
    while (!stop) {  // without a pause the one would wait for the folder's lock whenever the other leaves it
      ::rmdir((builder_.path() + "/runs/raced").c_str());
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  });
  for (int i = 0; i < 300; ++i) {
    const auto made = store->create_run("raced", "r");
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    if (made.ok()) fs::remove_all(made->path);
  }
  stop = true;
  remover.join();
}

// Bug: a project that was misspelt had "0 runs removed", and exit code 0.
TEST_F(RemoveTest, AProjectThatIsNotThereIsNotFound) {
  EXPECT_EQ(run({"rm", "--project", "zz", "--yes"}), kExitFailed) << out_;
  EXPECT_NE(err_.find("no project \"zz\" in "), std::string::npos) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_EQ(run({"rm", "--project", "zz", "--where", "points > 0", "--yes"}), kExitFailed) << out_;
  EXPECT_EQ(run({"rm", "--project", "mnist", "--where", "points > 1000000", "--yes"}), kExitOk) << err_;
  EXPECT_EQ(run({"rm", "--where", "points > 1000000", "--yes"}), kExitOk) << err_;
}

TEST_F(RemoveTest, WithoutATerminalYesIsNeeded) {
  EXPECT_EQ(run({"rm", "otter"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: 1 run would be removed for ever: say --yes (on a terminal tracker asks)\n");
  EXPECT_TRUE(fs::exists(folder("otter")));
  EXPECT_EQ(run({"rm"}), kExitUsage);
}

TEST_F(RemoveTest, OnATerminalItAsksAndOnlyYesRemoves) {
  for (const char* no : {"", "n", "Yes please", "no"}) {
    answer(no);
    EXPECT_EQ(run({"rm", "otter", "heron"}), kExitFailed) << no;
    EXPECT_NE(err_.find("Remove 2 runs ("), std::string::npos) << err_;
    EXPECT_TRUE(fs::exists(folder("otter")) && fs::exists(folder("heron"))) << no;
  }
  answer(std::nullopt);
  EXPECT_EQ(run({"rm", "otter"}), kExitFailed);
  answer("y");
  EXPECT_EQ(run({"rm", "otter", "heron", "mnist/otter"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")) || fs::exists(folder("heron")));
  EXPECT_TRUE(fs::exists(folder("lynx")));
}

TEST_F(RemoveTest, AFilterChoosesRuns) {
  EXPECT_EQ(run({"rm", "--where", "state = failed", "--yes", "--json"}), kExitOk) << err_;
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << out_;
  ASSERT_EQ(document->find("removed")->as_list()->size(), 1u);
  EXPECT_EQ(document->find("removed")->as_list()->front().text_or("id", ""), "lynx");
  EXPECT_GT(document->int_or("bytes", 0), 1000);
  EXPECT_EQ(run({"rm", "--where", "state =", "--yes"}), kExitUsage);
  EXPECT_EQ(run({"rm", "--where", "state = failed", "--yes"}), kExitOk);
  EXPECT_EQ(out_, "0 runs removed, 0 B freed.\n");
  EXPECT_EQ(run({"rm", "--project", "mnist", "--yes"}), kExitOk);
  EXPECT_FALSE(fs::exists(folder("otter")) || fs::exists(folder("heron")));
}

// Bug: --project beside RUN removed all runs of the project.
TEST_F(RemoveTest, ARunIsLookedUpInTheProjectThatWasNamed) {
  builder_.writer(builder_.run("speech", "heron")).log("loss", 0, 1).finish();
  EXPECT_EQ(run({"rm", "heron", "--project", "mnist", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("heron")));
  EXPECT_TRUE(fs::exists(folder("otter")) && fs::exists(folder("lynx")));
  EXPECT_TRUE(fs::exists(builder_.path() + "/runs/speech/heron"));
  EXPECT_EQ(run({"rm", "heron", "--project", "mnist", "--yes"}), kExitFailed);
  EXPECT_EQ(err_, "tracker: no run \"heron\" in the project mnist (there is speech/heron: leave --project out)\n");
  EXPECT_EQ(run({"rm", "mnist/otter", "--project", "mnist", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")));
  overwrite_start(folder("lynx") + "/run.json", "{{{{");
  EXPECT_EQ(run({"rm", "lynx", "--project", "mnist", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("lynx")));
}

TEST_F(RemoveTest, ARunAndAFilterBothLookInTheProject) {
  builder_.writer(builder_.run("speech", "lost")).log("loss", 0, 1).end(RunState::kFailed).finish();
  EXPECT_EQ(run({"rm", "otter", "--where", "state = failed", "--project", "mnist", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")) || fs::exists(folder("lynx")));
  EXPECT_TRUE(fs::exists(folder("heron")) && fs::exists(builder_.path() + "/runs/speech/lost"));
}

TEST_F(RemoveTest, AWholeProjectIsNamedInTheQuestionTheRefusalAndWithYes) {
  const std::string all = "the whole project mnist with 3 runs";
  EXPECT_EQ(run({"rm", "--project", "mnist"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: " + all + " would be removed for ever: say --yes (on a terminal tracker asks)\n");
  answer("n");
  EXPECT_EQ(run({"rm", "--project", "mnist"}), kExitFailed);
  EXPECT_NE(err_.find("Remove " + all + " ("), std::string::npos) << err_;
  EXPECT_TRUE(fs::exists(folder("heron")));
  EXPECT_EQ(run({"rm", "--project", "mnist", "--yes"}), kExitOk) << err_;
  EXPECT_EQ(err_, "tracker: removing " + all + "\n");
  EXPECT_FALSE(fs::exists(folder("heron")));
}

TEST_F(RemoveTest, ARunThatDoesNotExistRemovesNothingOfTheOthers) {
  EXPECT_EQ(run({"rm", "otter", "absent", "--yes"}), kExitFailed);
  EXPECT_TRUE(fs::exists(folder("otter")));
}

TEST_F(RemoveTest, ARunWithADamagedDocumentIsRemovedByItsName) {
  for (const char* name : {"mnist/otter", "heron"}) {
    const std::string path = folder(std::string(name).substr(std::string(name).find('/') + 1));
    overwrite_start(path + "/run.json", "{{{{");
    EXPECT_EQ(run({"rm", name, "--yes"}), kExitOk) << err_;
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::exists(folder("lynx")));
  EXPECT_TRUE(trash_is_empty());
}

TEST_F(RemoveTest, ARunOfWhichNothingCanBeReadIsLeftAndTheErrorSaysWhatRemovesIt) {
  overwrite_start(folder("otter") + "/run.json", "{{{{");
  for (const auto& file : fs::directory_iterator(folder("otter")))
    if (file.path().extension() == ".db") overwrite_start(file.path(), "rubbish rubbish rubbish rubbish");
  for (const char* name : {"mnist/otter", "otter"}) {
    EXPECT_EQ(run({"rm", name, "--yes"}), kExitDamaged);
    EXPECT_NE(err_.find("`rm -r " + folder("otter") + "` removes it"), std::string::npos) << err_;
  }
  EXPECT_TRUE(fs::exists(folder("otter")));
}

TEST_F(RemoveTest, AFolderThatIsBeingMadeIsNoRun) {
  fs::create_directories(folder("new"));
  EXPECT_EQ(run({"rm", "mnist/new", "--yes"}), kExitFailed);
  EXPECT_TRUE(fs::exists(folder("new")));
}

TEST_F(RemoveTest, ARunWithADocumentOfANewerVersionIsLeftAlone) {
  std::string document = read_file(folder("otter") + "/run.json", 1 << 16).value_or("");
  document.replace(document.find("\"version\": 1"), 12, "\"version\": 2");
  std::ofstream(folder("otter") + "/run.json") << document;
  EXPECT_EQ(run({"rm", "mnist/otter", "--yes"}), kExitVersion) << err_;
  EXPECT_TRUE(fs::exists(folder("otter")));
}

// Bug: `rm --where 'points = 0'` took whole runs of which nothing could be read, without a word and with exit code 0.
TEST_F(RemoveTest, AFilterAndAProjectLeaveRunsThatCannotBeReadWholeAndNameThem) {
  overwrite_start(database("otter"), "rubbish rubbish rubbish rubbish");
  make_old(database("otter"));
  for (const std::vector<std::string>& which : std::vector<std::vector<std::string>>{
           {"--where", "points = 0"}, {"--project", "mnist", "--where", "points < 9"}}) {
    std::vector<std::string> command{"rm", "--yes"};
    command.insert(command.end(), which.begin(), which.end());
    EXPECT_EQ(run(command), kExitDamaged) << out_ << err_;
    EXPECT_NE(err_.find(database("otter")), std::string::npos) << err_;
    EXPECT_NE(err_.find("mnist/otter was not removed"), std::string::npos) << err_;
    EXPECT_TRUE(fs::exists(folder("otter"))) << which.front();
  }
  EXPECT_FALSE(fs::exists(folder("heron")));
  EXPECT_EQ(run({"rm", "--project", "mnist", "--yes", "--json"}), kExitDamaged) << out_ << err_;
  EXPECT_NE(out_.find("mnist/otter was not removed"), std::string::npos) << out_;
  EXPECT_TRUE(fs::exists(folder("otter")));
  EXPECT_EQ(run({"rm", "otter", "--where", "points = 0", "--yes"}), kExitDamaged)
      << "the listing names it all the same";
  EXPECT_FALSE(fs::exists(folder("otter"))) << "its name was said";
}

// Bug: docs/cli.md said so, and rm removed it.
TEST_F(RemoveTest, ARunWithADatabaseOfANewerVersionIsLeftAlone) {
  const std::string newer = make_newer("otter");
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitVersion) << out_ << err_;
  EXPECT_NE(err_.find(newer), std::string::npos) << err_;
  EXPECT_TRUE(fs::exists(folder("otter")));
  EXPECT_EQ(remove_run(builder_.store(), *builder_.store().find_run("mnist", "otter"), console_.now_us).status().code(),
            Code::kVersion);
  EXPECT_EQ(run({"rm", "--where", "points = 0", "--yes"}), kExitVersion) << out_ << err_;
  EXPECT_TRUE(fs::exists(folder("otter")) && fs::exists(folder("heron")));
  EXPECT_EQ(run({"rm", "--project", "mnist", "--yes"}), kExitVersion) << out_ << err_;
  EXPECT_TRUE(fs::exists(folder("otter")));
  EXPECT_FALSE(fs::exists(folder("heron")) || fs::exists(folder("lynx")));
}

// Bug: without a heartbeat that can be read a run that was being recorded elsewhere was removed.
TEST_F(RemoveTest, ARunWithAFileThatNobodyCanReadAndThatWasJustWrittenIsRefused) {
  console_.now_us = realtime_us();
  overwrite_start(database("otter"), "rubbish rubbish rubbish rubbish");
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitFailed) << out_;
  EXPECT_NE(err_.find("was written within the last minute"), std::string::npos) << err_;
  EXPECT_TRUE(fs::exists(folder("otter")));
  console_.now_us += 120 * kSecondUs;
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")));
}

// SQLite itself may write the index of a WAL while it reads: every try would be a sign of life.
TEST_F(RemoveTest, TheIndexOfAWalIsNoSignOfLife) {
  console_.now_us = realtime_us();
  overwrite_start(database("otter"), "rubbish rubbish rubbish rubbish");
  make_old(database("otter"));
  ASSERT_TRUE(write_file_atomic(database("otter") + "-shm", std::string(32768, '\0')).ok());
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")));
}

TEST_F(RemoveTest, ARunOutOfSightThatGaveASignOfLifeIsRefused) {
  const WriterBuilder writer = begin_live_run();
  EXPECT_EQ(run({"rm", "otter", "live", "--yes"}), kExitFailed);
  EXPECT_NE(err_.find("mnist/live is being recorded: pid 4242 on testhost"), std::string::npos) << err_;
  EXPECT_TRUE(fs::exists(folder("otter")) && fs::exists(folder("live")));
  // Refused before it is moved: the time of its folder's change is as before.
  struct stat before{}, after{};
  ASSERT_EQ(::stat(folder("live").c_str(), &before), 0);
  EXPECT_EQ(remove_run(builder_.store(), *builder_.store().find_run("mnist", "live"), console_.now_us).status().code(),
            Code::kBusy);
  ASSERT_EQ(::stat(folder("live").c_str(), &after), 0);
  EXPECT_EQ(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
  console_.now_us += 3600 * kSecondUs;  // silent for an hour
  EXPECT_EQ(run({"rm", "live", "--yes"}), kExitOk) << err_;
}

TEST_F(RemoveTest, LinksLeadNowhere) {
  TempFolder outside;
  const std::string precious = outside.path() + "/precious";
  ASSERT_TRUE(write_file_atomic(precious, "mine").ok());
  fs::create_symlink(outside.path(), folder("otter") + "/media");
  fs::create_symlink(precious, folder("otter") + "/note");
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(folder("otter")));
  EXPECT_TRUE(fs::exists(precious));
  // A run's folder, a project or all runs that are links: refused.
  fs::rename(folder("heron"), outside.path() + "/heron");
  fs::create_directory_symlink(outside.path() + "/heron", folder("heron"));
  EXPECT_EQ(run({"rm", "heron", "--yes"}), kExitFailed) << out_;
  EXPECT_NE(err_.find("nothing outside the store is removed"), std::string::npos) << err_;
  fs::rename(builder_.path() + "/runs/mnist", outside.path() + "/mnist");
  fs::create_directory_symlink(outside.path() + "/mnist", builder_.path() + "/runs/mnist");
  EXPECT_EQ(run({"rm", "lynx", "--yes"}), kExitFailed) << out_;
  EXPECT_TRUE(fs::exists(outside.path() + "/mnist/lynx/run.json"));
  EXPECT_TRUE(fs::exists(outside.path() + "/heron/run.json"));
}

TEST_F(RemoveTest, ATrashThatIsALinkIsRefused) {
  TempFolder outside;
  fs::create_directory_symlink(outside.path(), builder_.path() + "/trash");
  EXPECT_EQ(run({"rm", "otter", "--yes"}), kExitFailed);
  EXPECT_TRUE(fs::exists(folder("otter")));
  ASSERT_TRUE(write_file_atomic(outside.path() + "/precious", "mine").ok());
  EXPECT_EQ(run({"gc"}), kExitFailed) << out_;
  EXPECT_TRUE(fs::exists(outside.path() + "/precious"));
}

TEST_F(RemoveTest, OnlyFoldersOfRunsInTheStoreAreTaken) {
  TempFolder outside;
  for (const std::string& path :
       {outside.path(), builder_.path(), builder_.path() + "/runs", builder_.path() + "/runs/mnist",
        folder("otter") + "/..", folder("..") + "/mnist/otter", folder("otter") + "/x"}) {
    const auto removed = remove_run(builder_.store(), {RunIdentity{}, path}, realtime_us());
    EXPECT_FALSE(removed.ok()) << path;
  }
  EXPECT_TRUE(fs::exists(folder("otter")) && fs::exists(folder("heron")));
}

TEST_F(RemoveTest, GcOfACleanStoreRemovesNothing) {
  EXPECT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_EQ(out_, "Nothing to remove.\n");
}

TEST_F(RemoveTest, GcRemovesLeftoversAndSaysTheBytes) {
  const std::string old = folder("otter") + "/x.db.new-0123456789abcdef";
  const std::string young = folder("otter") + "/y.db.new-0123456789abcdef";
  const std::string mine = folder("otter") + "/x.new-by-me";
  for (const std::string& path : {old, young, mine}) ASSERT_TRUE(write_file_atomic(path, std::string(2048, 'x')).ok());
  make_old(old);
  make_old(mine);
  fs::create_directories(builder_.path() + "/trash/0123456789abcdef/media");
  ASSERT_TRUE(write_file_atomic(builder_.path() + "/trash/0123456789abcdef/media/a", std::string(1024, 'x')).ok());
  ASSERT_EQ(run({"ls"}), kExitOk);
  fs::remove_all(folder("lynx"));
  EXPECT_EQ(run({"gc", "--dry-run"}), kExitOk) << err_;
  EXPECT_NE(out_.find("would remove 1 row of runs that are gone from the catalog\n3.0 KiB would be freed.\n"),
            std::string::npos)
      << out_;
  EXPECT_TRUE(fs::exists(old));
  EXPECT_EQ(run({"gc", "--json"}), kExitOk) << err_;
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->int_or("bytes", 0), 3072);
  EXPECT_EQ(document->int_or("catalog_rows", 0), 1);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young) && fs::exists(mine));
  EXPECT_TRUE(trash_is_empty());
  EXPECT_EQ(run({"gc"}), kExitOk);
  EXPECT_EQ(out_, "Nothing to remove.\n");
}

TEST_F(RemoveTest, GcFinishesARemovalThatWasKilledBehindItsRename) {
  const std::string moved = builder_.path() + "/trash/0123456789abcdef.moved";
  fs::create_directories(builder_.path() + "/trash");
  fs::rename(folder("otter"), moved);
  EXPECT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_TRUE(trash_is_empty());
}

TEST_F(RemoveTest, GcPutsARunBackThatSomebodyWrites) {
  const WriterBuilder writer = begin_live_run();
  fs::create_directories(builder_.path() + "/trash");
  fs::rename(folder("live"), builder_.path() + "/trash/0123456789abcdef.moved");
  EXPECT_EQ(run({"gc"}), kExitFailed);
  EXPECT_NE(err_.find("was restored"), std::string::npos) << err_;
  EXPECT_TRUE(fs::exists(folder("live") + "/run.json"));
}

}  // namespace
}  // namespace tracker::internal
