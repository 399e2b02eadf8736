// SPDX-License-Identifier: MIT
// Goal: a document says which rows of a dead process it lacks because another process still recovers them.
// Method: a killed run whose journal a child holds for longer than a command waits.
// Bug: stderr alone said it, and a program that reads --json took half of a run for all of it.
#include <gtest/gtest.h>

#include <atomic>

#include "cli/command.h"
#include "model/value.h"
#include "support/child.h"
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
    EXPECT_NE(problems[0].find(" points and 0 texts of p/r wait in the journal"), std::string::npos) << problems[0];
  }
  EXPECT_TRUE(problems_of({"ls", "--project", "another"}).empty()) << "runs of which are not listed";
}

}  // namespace
}  // namespace tracker::internal
