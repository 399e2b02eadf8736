// SPDX-License-Identifier: MIT
// Goal: doctor explains store, journal and machine, gives a line of advice a problem, masks secrets and makes nothing.
// Method: environments with one thing wrong each.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "model/value.h"
#include "model/variables.h"
#include "storage/recovery/lost_journals.h"
#include "support/child.h"
#include "support/said.h"
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
  EXPECT_TRUE(advises(document(), "nobody reads TRACKER_PROJCT; did you mean TRACKER_PROJECT")) << out_;
}

// Bug: TRACKER_CAPTURE, TRACKER_MAX_DISK and three others were said to be read by nobody.
TEST_F(DoctorCommandTest, AVariableThatIsReadIsNotAdvisedAgainstAndTheNearestNameIsSaid) {
  for (const std::string_view name : kVariables)
    ::setenv((std::string(kVariablePrefix) + std::string(name)).c_str(), "", 1);
  ::setenv("TRACKER_MAXDISK", "1GB", 1);
  const Value report = document();
  for (const std::string_view name : kVariables) {
    EXPECT_FALSE(advises(report, "nobody reads " + (std::string(kVariablePrefix) + std::string(name)))) << out_;
    ::unsetenv((std::string(kVariablePrefix) + std::string(name)).c_str());
  }
  EXPECT_TRUE(advises(report, "nobody reads TRACKER_MAXDISK; did you mean TRACKER_MAX_DISK?")) << out_;
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

// A store that was deleted whole and is not made anew left its journals in shared memory for ever.
TEST_F(DoctorCommandTest, AJournalWhoseStoreIsGoneIsListedAndRemovedOnDemandOnlyAndNeverALiveOne) {
  Shared<std::atomic<int>> logged;
  const pid_t child = start_child([&]() -> int {
    trk_run* run = open_run("r");
    trk_metric* x = trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr);
    for (int64_t step = 0; step < 7; ++step) CHILD_CHECK(trk_metric_log_i64(x, step, step) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    logged->store(1);
    for (;;) ::pause();
  });
  while (logged->load() == 0) sleep_ms(1);
  ::kill(child, SIGSTOP);  // else it would make the store anew
  EXPECT_FALSE(advises(document(), "whose store is gone"));
  std::filesystem::remove_all(sandbox_.store());
  ASSERT_EQ(sandbox_.journal_folders().size(), 1u);
  const std::string dir = sandbox_.journal_folders()[0];
  EXPECT_EQ(run({"gc", "--lost-journals"}), kExitOk) << err_;
  EXPECT_TRUE(path_exists(dir)) << "its process lives";
  ::kill(child, SIGKILL);
  wait_child(child);
  const Value report = document();
  EXPECT_TRUE(advises(report, "1 journal of dead processes whose store is gone")) << out_;
  EXPECT_FALSE(advises(report, "of other stores"));
  ASSERT_EQ(report.find("lost")->as_map()->size(), 1u);
  const Value& lost = report.find("lost")->as_map()->begin()->second;
  EXPECT_EQ(lost.text_or("path", ""), dir);
  EXPECT_EQ(lost.text_or("store", ""), sandbox_.store());
  EXPECT_EQ(lost.text_or("id", ""), "r");
  EXPECT_EQ(lost.int_or("points", 0), 7);
  EXPECT_GT(lost.int_or("begun_us", 0), 0);
  std::vector<std::string> copies;
  for (size_t i = 0; i < kLostJournalsListed; ++i) {  // one more than are listed
    copies.push_back(fmt::format("{}/{:032x}", parent_path(dir), i + 1));
    std::filesystem::create_directory(copies.back());
    std::filesystem::copy_file(dir + "/defs", copies.back() + "/defs");
  }
  EXPECT_TRUE(advises(document(), fmt::format("{} journals of dead processes whose store is gone", copies.size() + 1)));
  console_.width = 0;  // else lines are cut
  EXPECT_EQ(run({"doctor"}), kExitOk);
  size_t listed = 0;
  for (size_t at = 0; (at = out_.find("  begun ", at)) != std::string::npos; ++at) ++listed;
  EXPECT_EQ(listed, kLostJournalsListed);
  for (const std::string& copy : copies) std::filesystem::remove_all(copy);
  EXPECT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_NE(out_.find("kept lost journal  " + dir), std::string::npos) << out_;
  EXPECT_EQ(run({"gc", "--lost-journals", "--dry-run"}), kExitOk) << err_;
  EXPECT_NE(out_.find("would remove lost journal  " + dir), std::string::npos) << out_;
  EXPECT_TRUE(path_exists(dir));
  EXPECT_EQ(run({"gc", "--lost-journals"}), kExitOk) << err_;
  EXPECT_NE(out_.find("removed lost journal  " + dir), std::string::npos) << out_;
  EXPECT_FALSE(path_exists(dir));
}

// Commands said "no store", doctor called it gone, and gc --lost-journals removed the only copy.
TEST_F(DoctorCommandTest, AJournalWhoseStoreCouldNeverBeMadeIsNotLostAndTheNextCommandStoresIt) {
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
  ASSERT_EQ(sandbox_.journal_folders().size(), 1u);
  const std::string dir = sandbox_.journal_folders()[0];
  const Value report = document();
  EXPECT_TRUE(advises(report, "1 journal of dead processes whose store could not be made")) << out_;
  EXPECT_FALSE(advises(report, "whose store is gone"));
  EXPECT_FALSE(path_exists(sandbox_.store())) << "doctor makes nothing";
  TempFolder other;
  EXPECT_EQ(run_command_line(console_, {"gc", "--lost-journals", "--dir", other.path() + "/none"}), kExitOk) << err_;
  EXPECT_TRUE(path_exists(dir)) << "the only copy";
  const auto there = [this](std::vector<std::string> words) {
    words.insert(words.end(), {"--dir", sandbox_.store()});
    return run_command_line(console_, words);
  };
  EXPECT_EQ(there({"gc", "--dry-run"}), kExitFailed);
  EXPECT_FALSE(path_exists(sandbox_.store())) << "nor does a dry run";
  EXPECT_EQ(there({"ls"}), kExitOk) << err_;
  EXPECT_NE(err_.find("recovered 7 points"), std::string::npos) << err_;
  EXPECT_FALSE(path_exists(dir));
  EXPECT_EQ(there({"show", "r"}), kExitOk) << err_;
}

TEST_F(DoctorCommandTest, AnInitInAStoreMadeAnewSaysThatJournalsOfTheFormerOneAreThere) {
  const auto record = [this](bool quiet, const std::string& said) {
    return run_child([&, quiet]() -> int {
      redirect_stderr(said);
      trk_init_options options = TRK_INIT_OPTIONS_INIT;
      options.project = "p";
      options.quiet = quiet ? 1 : 0;
      trk_run* run = nullptr;
      CHILD_CHECK(trk_init(&options, &run, nullptr) == TRK_OK);
      const int64_t deadline = now_ns() + (quiet ? 1'000'000'000 : 20'000'000'000);
      const auto says = [&said] {
        for (const std::string& line : lines_of(said))
          if (line.find("1 journal of a former store at ") != std::string::npos) return true;
        return false;
      };
      while (!says() && now_ns() < deadline) sleep_ms(10);
      return says() ? 1 : 0;
    });
  };
  const int killed = run_child([] {
    trk_run* run = open_run("r");
    CHILD_CHECK(trk_metric_log_i64(trk_metric_open(run, "x", TRK_NUL_TERMINATED, nullptr), 1, 1) == TRK_OK);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    ::raise(SIGKILL);
    return 0;
  });
  ASSERT_EQ(exit_code_of(killed), -1 - SIGKILL);
  std::filesystem::remove_all(sandbox_.store());
  EXPECT_EQ(exit_code_of(record(true, sandbox_.shm() + "/quiet")), 0);
  EXPECT_EQ(exit_code_of(record(false, sandbox_.shm() + "/said")), 1);
}

}  // namespace
}  // namespace tracker::internal
