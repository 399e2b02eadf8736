// SPDX-License-Identifier: MIT
// Goal: a document says which rows of a dead process it lacks because another process still recovers them.
// Method: a killed run whose journal a child holds for longer than a command waits.
// Bug: stderr alone said it, and a program that reads --json took half of a run for all of it.
#include <gtest/gtest.h>

#include <atomic>

#include "cli/commands/command.h"
#include "model/value.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/mounts.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

class UnfinishedTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(exit_code_of(run_child([] {
                trk_run* run = open_run("r");
                for (int64_t step = 0; step < 3000; ++step)
                  CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
                CHILD_CHECK(trk_flush(run, 60'000) == TRK_OK);
                for (int64_t step = 3000; step < 3005; ++step)
                  CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step) == TRK_OK);
                ::raise(SIGKILL);
                return 0;
              })),
              -1 - SIGKILL);
    const std::string dir = sandbox_.journal_folders().at(0);
    holder_ = start_child([&] {
      auto journal = DeadJournal::open(dir);
      CHILD_CHECK(journal.ok());
      holds_->store(1);
      sleep_ms(600'000);
      return 0;
    });
    while (holds_->load() == 0) ::usleep(1000);
  }
  void TearDown() override {
    if (holder_ <= 0) return;
    ::kill(holder_, SIGKILL);
    wait_child(holder_);
  }

  // The problems of the document that a command writes.
  std::vector<std::string> problems_of(std::vector<std::string> arguments) {
    Console console;
    std::string out;
    console.write_out = [&out](std::string_view text) {
      out.append(text);
      return Status();
    };
    console.write_err = [](std::string_view) {};
    arguments.insert(arguments.end(), {"--json", "--dir", sandbox_.store()});
    EXPECT_EQ(run_command_line(console, arguments), kExitOk);
    const auto document = from_json(out);
    EXPECT_TRUE(document.ok()) << out;
    std::vector<std::string> lines;
    const Value* problems = document.ok() ? document->find("problems") : nullptr;
    if (problems == nullptr) return lines;
    for (const Value& line : *problems->as_list()) lines.push_back(*line.as_text());
    return lines;
  }

  Sandbox sandbox_;
  Shared<std::atomic<int>> holds_;
  pid_t holder_ = 0;
};

TEST_F(UnfinishedTest, EachDocumentNamesTheRowsThatItLacksAmongItsProblems) {
  const std::string file = sandbox_.folder() + "/out.jsonl";
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"show", "p/r"},
                                                                                       {"show", "p/r", "--console"},
                                                                                       {"export", "p/r"},
                                                                                       {"export", "p/r", "-o", file},
                                                                                       {"ls"},
                                                                                       {"ls", "--project", "p"}}) {
    const std::vector<std::string> problems = problems_of(command);
    ASSERT_EQ(problems.size(), 1u) << command.front();
    EXPECT_NE(problems[0].find(" points of p/r wait in the journal"), std::string::npos) << problems[0];
  }
  EXPECT_TRUE(problems_of({"ls", "--project", "another"}).empty()) << "runs of which are not listed";
}

// Bug: "damaged data was found" (3), though nothing was damaged.
TEST(ReadOnlyStoreTest, PointsThatWaitForADiskThatTakesNothingAreNoDamage) {
  Sandbox sandbox;
  const int code = exit_code_of(run_child([&] {
    if (!mount_tmpfs(sandbox.folder(), "64m")) return kNoMounts;
    const int died = exit_code_of(run_child([] {
      trk_run* run = open_run("r");
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 0, 0) == TRK_OK && trk_flush(run, 60'000) == TRK_OK);
      CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
      ::raise(SIGKILL);
      return 0;
    }));
    CHILD_CHECK(died == -1 - SIGKILL);
    CHILD_CHECK(::mount("tmpfs", sandbox.folder().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64m") == 0);
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"ls"},
                                               {"tail", "p/r"},
                                               {"export", "p/r"},
                                               {"export", "p/r", "--bundle", sandbox.shm() + "/r.trkb"},
                                               {"rm", "p/r", "--yes"}}) {
      Console console;
      std::string err;
      console.write_out = [](std::string_view) { return Status(); };
      console.write_err = [&err](std::string_view text) { err += text; };
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--dir", sandbox.store()});
      EXPECT_EQ(run_command_line(console, arguments), kExitFailed) << command.front() << ": " << err;
    }
    return ::testing::Test::HasFailure() ? 1 : 0;
  }));
  SKIP_WHERE(code == kNoMounts, kMounts);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace tracker::internal
