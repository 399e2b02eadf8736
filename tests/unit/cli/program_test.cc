// SPDX-License-Identifier: MIT
// Goal: the program itself works without a terminal, in a pipe whose reader leaves, and keeps stdout for its output.
// Method: the built program is run through the shell.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "cli/command.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;
};

Outcome shell(const std::string& command) {
  Outcome out;
  std::FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer{};
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    auto writer = builder_.writer(builder_.run("mnist", "otter"));
    for (int i = 0; i < 100'000; ++i) writer.log("loss", i, 0.5 + i);
    writer.end(RunState::kFinished).finish();
  }
  std::string program() const { return std::string(TRACKER_PROGRAM) + " --dir " + builder_.path() + " "; }

  StoreBuilder builder_;
};

TEST_F(ProgramTest, PipedOutputHasNoEscapes) {
  const Outcome outcome = shell(program() + "show otter --plot 1");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos);
  EXPECT_NE(outcome.output.find("100,000"), std::string::npos);
}

TEST_F(ProgramTest, AReaderThatLeavesEndsItQuietly) {
  const Outcome outcome = shell(program() + "export otter | head -n 2");
  EXPECT_EQ(outcome.output, "metric,step,time,value,rank,attempt\nloss,0,1700000001.000000,0.5,0,1\n");
  // The same where SIGPIPE is ignored, as in a Python process.
  EXPECT_EQ(shell("trap '' PIPE; " + program() + "export otter | head -n 2").output, outcome.output);
}

TEST_F(ProgramTest, AReaderThatLeavesIsNoFailure) {
  const std::string pipe = "bash -o pipefail -c '" + program() + "export otter | head -n 1'";
  EXPECT_EQ(shell(pipe).exit_code, kExitOk);
}

TEST_F(ProgramTest, ErrorsGoToStderrAloneWithTheirExitCode) {
  const Outcome outcome = shell(program() + "show nothing 2>/dev/null");
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_EQ(outcome.output, "");
}

TEST_F(ProgramTest, AFullDiskUnderStdoutIsAnError) {
  const Outcome outcome = shell(program() + "ls > /dev/full");
  EXPECT_EQ(outcome.exit_code, kExitFailed);
  EXPECT_NE(outcome.output.find("No space left"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace tracker::internal
