// SPDX-License-Identifier: MIT
// Goal: doctor explains store, journal and machine, gives a line of advice a problem, masks secrets and makes nothing.
// Method: environments with one thing wrong each.
#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "cli/commands/doctor.h"
#include "model/value.h"
#include "model/variables.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class DoctorCommandTest : public CliTest {
 protected:
  ~DoctorCommandTest() override {
    for (const char* name :
         {"TRACKER_TOKEN", "TRACKER_PROJCT", "SLURM_PROCID", "SLURM_NTASKS", "TRACKER_STORE_FILES", "TRACKER_RANK"})
      ::unsetenv(name);
  }
  Value document(int code = kExitOk) {
    EXPECT_EQ(run({"doctor", "--json"}), code) << out_ << err_;
    auto value = from_json(out_);
    EXPECT_TRUE(value.ok()) << out_;
    return value.ok() ? *value : Value::map();
  }
  static bool advises(const Value& document, std::string_view text) {
    for (const Value& item : *document.find("advice")->as_list())
      if (item.text_or("problem", "").find(text) != std::string::npos) {
        EXPECT_NE(item.text_or("to_do", ""), "");
        return true;
      }
    return false;
  }
  // In sandbox_.store(), whose database has none of its 7 points.
  void make_dead_run() const {
    const int killed = run_child([] {
      trk_run* run = open_run("r");
      trk_metric* x = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
      CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
      for (int64_t step = 0; step < 7; ++step) CHILD_CHECK(trk_metric_log_i64(x, step, step) == TRK_OK);
      ::raise(SIGKILL);
      return 0;
    });
    ASSERT_EQ(exit_code_of(killed), -1 - SIGKILL);
  }
  // The one journal that doctor lists for the store at `path`.
  Value listed(const std::string& path) {
    EXPECT_EQ(run_on(path, {"doctor", "--json"}), kExitOk) << err_;
    const auto report = from_json(out_);
    const Value* journals = report.ok() ? report->find("unrecovered") : nullptr;
    if (journals == nullptr || journals->as_map()->size() != 1) {
      ADD_FAILURE() << out_;
      return Value::map();
    }
    return journals->as_map()->begin()->second;
  }

  Sandbox sandbox_;
};

TEST_F(DoctorCommandTest, ItSaysWhatItSees) {
  builder_.run("mnist", "otter");
  const Value report = document();
  EXPECT_EQ(report.find("store")->text_or("path", ""), builder_.path());
  EXPECT_EQ(report.find("store")->text_or("from", ""), "--dir");
  EXPECT_EQ(report.find("store")->int_or("runs", 0), 1);
  EXPECT_GT(report.find("store")->int_or("free_bytes", 0), 0);
  EXPECT_EQ(report.find("journal")->text_or("kind", ""), "shm");
  EXPECT_NE(report.find("journal")->text_or("guarantees", ""), "");
  EXPECT_NE(report.find("versions")->text_or("sqlite", ""), "");
  EXPECT_NE(report.find("versions")->text_or("zstd", ""), "");
  EXPECT_EQ(report.find("versions")->find("formats")->int_or("store", 0), kStoreVersion);
  EXPECT_NE(report.find("machine")->find("open_files"), nullptr);
  EXPECT_EQ(report.find("journals")->find("waiting")->int_or("count", -1), 0);
  EXPECT_EQ(run({"doctor"}), kExitOk);
  for (const char* title : {"Versions\n", "Store\n", "Journal\n", "Limits\n", "Machine\n", "Launch\n"})
    EXPECT_NE(out_.find(title), std::string::npos) << title << out_;
}

TEST_F(DoctorCommandTest, ItMakesNothing) {
  const std::string shm = sandbox_.journals();
  EXPECT_FALSE(std::filesystem::exists(shm));
  (void)document();
  EXPECT_FALSE(std::filesystem::exists(shm));
  TempFolder empty;
  EXPECT_EQ(run_command_line(console_, {"doctor", "--dir", empty.path() + "/none"}), kExitOk);
  EXPECT_FALSE(std::filesystem::exists(empty.path() + "/none"));
  EXPECT_NE(out_.find("there is no store at"), std::string::npos) << out_;
}

TEST_F(DoctorCommandTest, SecretsAreMasked) {
  ::setenv("TRACKER_TOKEN", "hunter2hunter2", 1);
  const Value report = document();
  EXPECT_EQ(out_.find("hunter2"), std::string::npos) << out_;
  EXPECT_EQ(report.find("environment")->text_or("TRACKER_TOKEN", ""), "[redacted]");
}

TEST_F(DoctorCommandTest, AVariableThatNobodyReadsIsNamed) {
  ::setenv("TRACKER_PROJCT", "x", 1);
  EXPECT_TRUE(advises(document(), "tracker does not read TRACKER_PROJCT; did you mean TRACKER_PROJECT")) << out_;
}

// Bug: TRACKER_CAPTURE, TRACKER_MAX_DISK and three others were said not to be read.
TEST_F(DoctorCommandTest, AVariableThatIsReadIsNotAdvisedAgainstAndTheNearestNameIsSaid) {
  for (const std::string_view name : kVariables)
    ::setenv((std::string(kVariablePrefix) + std::string(name)).c_str(), "", 1);
  ::setenv("TRACKER_MAXDISK", "1GB", 1);
  const Value report = document();
  for (const std::string_view name : kVariables) {
    const std::string whole = std::string(kVariablePrefix) + std::string(name);
    EXPECT_FALSE(advises(report, "tracker does not read " + whole)) << out_;
    ::unsetenv((std::string(kVariablePrefix) + std::string(name)).c_str());
  }
  EXPECT_TRUE(advises(report, "tracker does not read TRACKER_MAXDISK; did you mean TRACKER_MAX_DISK?")) << out_;
  ::unsetenv("TRACKER_MAXDISK");
}

TEST_F(DoctorCommandTest, TheLauncherAndTheRankAreSaid) {
  ::setenv("SLURM_PROCID", "3", 1);
  ::setenv("SLURM_NTASKS", "8", 1);
  const Value report = document();
  EXPECT_EQ(report.find("launch")->text_or("launcher", ""), "SLURM_PROCID");
  EXPECT_EQ(report.find("launch")->int_or("rank", 0), 3);
  EXPECT_EQ(report.find("launch")->int_or("world_size", 0), 8);
  ::setenv("TRACKER_RANK", "many", 1);
  EXPECT_TRUE(advises(document(), "TRACKER_RANK")) << out_;
}

TEST_F(DoctorCommandTest, AJournalThatIsNotSharedMemoryIsExplained) {
  ::setenv("TRACKER_SHM_DIR", "/nowhere", 1);
  const Value report = document();
  EXPECT_EQ(report.find("journal")->text_or("kind", ""), "disk");
  EXPECT_TRUE(advises(report, "the journal is \"disk\"")) << out_;
}

TEST_F(DoctorCommandTest, ANetworkFileSystemAndASmallUlimitAreExplained) {
  set_fs_type_for_testing(builder_.path(), 0x6969);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit small{128, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
  const Value report = document();
  ::setrlimit(RLIMIT_NOFILE, &before);
  set_fs_type_for_testing("", 0);
  EXPECT_EQ(report.find("store")->text_or("file_system", ""), "NFS");
  EXPECT_EQ(report.find("store")->text_or("files", ""), "frames");
  EXPECT_TRUE(advises(report, "the number of open files is limited to 128")) << out_;
}

TEST_F(DoctorCommandTest, AStoreThatCannotBeReadOrIsNewerHasItsExitCode) {
  ASSERT_TRUE(write_file_atomic(builder_.path() + "/store.json", "{").ok());
  (void)document(kExitDamaged);
  ASSERT_TRUE(write_file_atomic(builder_.path() + "/store.json", R"({"format": "tracker-store", "version": 99})").ok());
  (void)document(kExitVersion);
}

TEST_F(DoctorCommandTest, AJournalWhoseDefinitionsAreDamagedIsNamed) {
  const std::string dir = sandbox_.journals() + "/" + std::string(32, 'a');
  std::filesystem::create_directories(dir);
  std::filesystem::permissions(sandbox_.journals(), std::filesystem::perms(0700));
  ASSERT_TRUE(write_file_atomic(dir + "/defs", "rubbish rubbish").ok());
  ASSERT_TRUE(write_file_atomic(dir + "/lock", "").ok());
  EXPECT_TRUE(advises(document(kExitDamaged), "1 journal that cannot be read")) << out_;
  EXPECT_EQ(run({"verify"}), kExitDamaged) << out_;
  EXPECT_NE(out_.find("damage journal-definitions  "), std::string::npos) << out_;
}

TEST_F(DoctorCommandTest, AJournalThatNoCommandHereRecoversIsListedWithWhatToType) {
  make_dead_run();
  const std::string dir = sandbox_.journal_folders().at(0), copy = sandbox_.folder() + "/copy";
  std::filesystem::copy(sandbox_.store(), copy, std::filesystem::copy_options::recursive);
  EXPECT_EQ(listed(builder_.path()).text_or("to_do", ""), "`tracker ls --dir " + sandbox_.store() + "` recovers them");
  EXPECT_EQ(listed(copy).text_or("to_do", ""), "`tracker ls --dir " + sandbox_.store() + "` recovers them");
  std::filesystem::remove_all(sandbox_.store());
  EXPECT_EQ(listed(copy).text_or("to_do", ""),
            "`tracker doctor --recover " + copy + "` recovers them into this copy of it");
  const Value gone = listed(builder_.path());
  EXPECT_EQ(gone.text_or("path", ""), dir);
  EXPECT_EQ(gone.text_or("store", ""), sandbox_.store());
  EXPECT_EQ(gone.text_or("project", ""), "p");
  EXPECT_EQ(gone.text_or("id", ""), "r");
  EXPECT_EQ(gone.int_or("points", 0), 7);
  EXPECT_GT(gone.int_or("bytes", 0), 0);
  EXPECT_GT(gone.int_or("begun_us", 0), 0);
  EXPECT_NE(gone.text_or("to_do", "").find("`tracker doctor --recover DIR` in a copy of it"), std::string::npos);
  EXPECT_TRUE(advises(document(), "1 journal of dead processes of the store " + sandbox_.store() + " (" + dir + ")"));
}

TEST_F(DoctorCommandTest, AtMostTheFirstUnrecoveredJournalsAreListedAndAllAreCounted) {
  make_dead_run();
  const std::string dir = sandbox_.journal_folders().at(0);
  for (size_t i = 0; i < kUnrecoveredListed; ++i) {
    const std::string copy = fmt::format("{}/{:032x}", parent_path(dir), i + 1);
    std::filesystem::create_directory(copy);
    std::filesystem::copy_file(dir + "/defs", copy + "/defs");
  }
  EXPECT_TRUE(advises(document(), fmt::format("{} journals of dead processes of the store", kUnrecoveredListed + 1)));
  console_.width = 0;  // else lines are cut
  EXPECT_EQ(run({"doctor"}), kExitOk);
  size_t lines = 0;
  for (size_t at = 0; (at = out_.find("  begun ", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, kUnrecoveredListed);
}

TEST_F(DoctorCommandTest, OnRequestACopyOfItsStoreRecoversAJournal) {
  make_dead_run();
  const std::string copy = sandbox_.folder() + "/copy";
  std::filesystem::copy(sandbox_.store(), copy, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(copy + "/runs/p");
  EXPECT_EQ(run({"doctor", "--recover", copy}), kExitOk) << err_;
  EXPECT_EQ(out_, "recovered 7 points of p/r, whose process ended before they were stored\n");
  EXPECT_TRUE(sandbox_.journal_folders().empty());
  EXPECT_TRUE(Store::open(copy)->find_run("p", "r").has_value());
  EXPECT_EQ(run({"doctor", "--recover", copy}), kExitOk) << err_;
  EXPECT_EQ(out_, "Nothing to recover.\n");
}

TEST_F(DoctorCommandTest, AStoreOfAnotherIdIsRefusedByName) {
  make_dead_run();
  const std::string dir = sandbox_.journal_folders().at(0);
  EXPECT_EQ(run({"doctor", "--recover", builder_.path()}), kExitFailed);
  EXPECT_NE(err_.find(fmt::format("no journal of a dead process names the store {} ({}): {} names {} ({})",
                                  builder_.path(), builder_.store().id().hex(), dir, sandbox_.store(),
                                  Store::open(sandbox_.store())->id().hex())),
            std::string::npos)
      << err_;
  EXPECT_TRUE(path_exists(dir));
}

// Commands said "no store", and nothing recovered it.
TEST_F(DoctorCommandTest, TheNextCommandMakesAStoreThatCouldNotBeMadeAndRecoversTheJournal) {
  std::filesystem::remove_all(sandbox_.store());
  std::ofstream(sandbox_.store()) << "in the way";
  const int status = run_child([&]() -> int {
    trk_run* run = open_run("r");
    for (int64_t step = 0; step < 7; ++step) CHILD_CHECK(trk_log_f64(run, "x", 1, 1.0, step) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 1) == TRK_TIMEOUT);
    ::_exit(0);
  });
  ASSERT_EQ(status, 0);
  std::filesystem::remove(sandbox_.store());
  EXPECT_EQ(listed(builder_.path()).text_or("to_do", ""),
            "`tracker ls --dir " + sandbox_.store() + "` recovers them, when that store can be made");
  EXPECT_FALSE(path_exists(sandbox_.store())) << "doctor makes nothing";
  EXPECT_EQ(run_on(sandbox_.store(), {"gc", "--dry-run"}), kExitFailed);
  EXPECT_FALSE(path_exists(sandbox_.store())) << "nor does a dry run";
  EXPECT_EQ(run_on(sandbox_.store(), {"ls"}), kExitOk) << err_;
  EXPECT_NE(err_.find("recovered 7 points"), std::string::npos) << err_;
  EXPECT_TRUE(sandbox_.journal_folders().empty());
  EXPECT_EQ(run_on(sandbox_.store(), {"show", "r"}), kExitOk) << err_;
}

}  // namespace
}  // namespace tracker::internal
