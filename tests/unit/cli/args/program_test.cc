// SPDX-License-Identifier: MIT
// Goal: the program itself works without a terminal, in a pipe whose reader leaves, and keeps stdout for its output.
// Method: the built program is run through the shell.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands/command.h"
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

// One of each row of the table in docs/cli.md.
TEST_F(ProgramTest, EveryExitCodeIsThatOfTheTable) {
  EXPECT_EQ(shell(program() + "verify").exit_code, kExitOk);
  EXPECT_EQ(shell(program() + "gc").exit_code, kExitOk);
  EXPECT_EQ(shell(program() + "doctor").exit_code, kExitOk);
  EXPECT_EQ(shell(program() + "tail otter -f").exit_code, kExitOk);
  for (const char* command : {"ls", "show otter", "tail otter", "export otter", "verify", "gc", "rm otter --yes"})
    EXPECT_EQ(shell(std::string(TRACKER_PROGRAM) + " " + command + " --dir /nowhere").exit_code, kExitFailed)
        << command;
  for (const char* command : {"show absent", "tail absent", "export absent", "verify absent", "rm absent --yes"})
    EXPECT_EQ(shell(program() + command).exit_code, kExitFailed) << command;
  for (const char* command : {"", "show", "tail", "rm", "rm otter < /dev/null", "gc extra", "doctor extra",
                              "tail otter --since never", "rm --where 'state ='"})
    EXPECT_EQ(shell(program() + command).exit_code, kExitUsage) << command;
  const std::string db = builder_.store().find_run("mnist", "otter")->writer_dbs().front();
  const std::string sound = *read_file(db, 64 << 20);
  overwrite_start(db, "rubbish rubbish");
  for (const char* command : {"ls", "show otter", "tail otter", "verify", "verify otter", "export otter"})
    EXPECT_EQ(shell(program() + command).exit_code, kExitDamaged) << command;
  std::string newer = sound;
  newer[63] = 9;  // user_version
  ASSERT_TRUE(write_file_atomic(db, newer).ok());
  for (const char* command : {"ls", "show otter", "tail otter", "verify", "verify otter"})
    EXPECT_EQ(shell(program() + command).exit_code, kExitVersion) << command;
  ASSERT_TRUE(write_file_atomic(db, sound).ok());
  EXPECT_EQ(shell(program() + "rm otter --yes").exit_code, kExitOk);
}

TEST_F(ProgramTest, CtrlCEndsAFollowingTailAsItEndsEveryProgram) {
  BuilderOptions options;
  options.started_us = realtime_us();
  auto writer = builder_.writer(builder_.run("mnist", "live", options.started_us), options);
  writer.log("loss", 0, 1).commit().heartbeat(realtime_us());
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execl(TRACKER_PROGRAM, "tracker", "tail", "live", "-f", "--dir", builder_.path().c_str(), nullptr);
    ::_exit(99);
  }
  char first = 0;
  ASSERT_EQ(::read(pipe[0], &first, 1), 1);  // it has shown what there is
  ::kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;  // 130 to a shell
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(ProgramTest, OnATerminalRmAsksThere) {
  for (const char* answer : {"n\n", "y\n"}) {
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::execl(TRACKER_PROGRAM, "tracker", "rm", "otter", "--dir", builder_.path().c_str(), nullptr);
      ::_exit(99);
    }
    std::string seen;
    char buffer[512];
    for (ssize_t n; seen.find("[y/N] ") == std::string::npos && (n = ::read(terminal, buffer, sizeof buffer)) > 0;)
      seen.append(buffer, static_cast<size_t>(n));
    EXPECT_NE(seen.find("Remove 1 run ("), std::string::npos) << seen;
    EXPECT_EQ(::write(terminal, answer, 2), 2);
    while (::read(terminal, buffer, sizeof buffer) > 0) {}
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(terminal);
    const bool agreed = answer[0] == 'y';
    EXPECT_EQ(WEXITSTATUS(status), agreed ? kExitOk : kExitFailed);
    EXPECT_EQ(builder_.store().find_run("mnist", "otter").has_value(), !agreed);
  }
}

TEST_F(ProgramTest, JsonOfEveryCommandIsReadByOthers) {
  for (const char* command :
       {"ls", "show otter", "verify", "gc", "gc --dry-run", "doctor", "version", "tail otter -n 1", "rm otter --yes"}) {
    const Outcome outcome = shell(program() + command + " --json 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, kExitOk) << command << outcome.output;
    EXPECT_TRUE(from_json(outcome.output).ok()) << command << outcome.output;
  }
}

}  // namespace
}  // namespace tracker::internal
