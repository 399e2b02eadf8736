// SPDX-License-Identifier: MIT
// Goal: a wrong command line, a missing store and a newer store are each one clear line and a documented exit code.
// Method: command lines as a person would mistype them.
#include "base/fs.h"
#include "model/value.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

using CommandLineTest = CliTest;

TEST_F(CommandLineTest, AnUnknownCommandNamesTheCommands) {
  EXPECT_EQ(run({"shwo"}), kExitUsage);
  EXPECT_EQ(err_,
            "tracker: unknown command \"shwo\"; did you mean show? "
            "(commands: init, ls, show, tail, stop, login, sync, export, import, verify, gc, rm, artifact, doctor, "
            "server, ui, "
            "version)\n");
}

TEST_F(CommandLineTest, AnUnknownOptionNamesTheNearest) {
  EXPECT_EQ(run({"export", "otter", "--fromat", "csv"}), kExitUsage);
  EXPECT_EQ(err_,
            "tracker: unknown option --fromat; did you mean --format? (tracker export --help shows the options)\n");
}

// Bug: the help of `tracker artifact`, which has no such options, was named.
TEST_F(CommandLineTest, AnUnknownOptionOfACommandWithinACommandNamesTheHelpOfThatOne) {
  EXPECT_EQ(run({"artifact", "get", "ck:e3", "-o", "out"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: unknown option -o (tracker artifact get --help shows the options)\n");
  EXPECT_EQ(run({"artifact", "put", "x", "--alais", "best"}), kExitUsage);
  EXPECT_EQ(err_,
            "tracker: unknown option --alais; did you mean --alias? (tracker artifact put --help shows the options)\n");
  EXPECT_EQ(run({"artifact", "get"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: NAME is required (tracker artifact get --help shows the options)\n");
}

TEST_F(CommandLineTest, AMissingOrWrongArgumentIsSaid) {
  EXPECT_EQ(run({"show"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: RUN is required (tracker show --help shows the options)\n");
  EXPECT_EQ(run({"ls", "--limit", "many"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: --limit many: expected a whole number from 0\n");
  for (const char* count : {"-3", "99999999999999999999999", "1.5", ""}) {
    EXPECT_EQ(run({"show", "otter", "--plot", count}), kExitUsage) << count;
    EXPECT_NE(err_.find("expected a whole number from 0"), std::string::npos) << err_;
  }
  EXPECT_EQ(run({"export", "otter", "--format", "cvs"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: unknown format cvs; did you mean csv? (formats: csv, jsonl, tensorboard, parquet)\n");
  EXPECT_EQ(run({"export", "otter", "-o", ""}), kExitUsage);
  EXPECT_NE(err_.find("expected the name of a file"), std::string::npos) << err_;
  EXPECT_EQ(run({"export", "otter", "--bundle", ""}), kExitUsage);
  EXPECT_EQ(run({"ls", "--project", ""}), kExitUsage);
  EXPECT_EQ(run({"import", "/tmp", "--project", ""}), kExitUsage);
  EXPECT_EQ(run({"rm", "--project", "", "--where", "state = finished", "--yes"}), kExitUsage);
  EXPECT_NE(err_.find("expected the name of a project"), std::string::npos) << err_;
  EXPECT_EQ(run({"show", "otter", "--losses", "--console"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: --losses and --console exclude each other: each shows that alone\n");
  EXPECT_EQ(run({"ls", "--json=maybe"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: --json takes no value (tracker ls --help shows the options)\n");
  EXPECT_EQ(run({"ls", "--limit", "1", "--limit", "2"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: --limit was given more than once (tracker ls --help shows the options)\n");
  EXPECT_EQ(run_command_line(console_, {"ls", "--limit"}), kExitUsage);
  EXPECT_NE(err_.find("--limit needs a value"), std::string::npos) << err_;
  EXPECT_EQ(run({"ls", "extra"}), kExitUsage);
  EXPECT_EQ(err_, "tracker: \"extra\" was not expected (tracker ls --help shows what is)\n");
}

TEST_F(CommandLineTest, HelpHasExamplesForEveryCommand) {
  for (const char* command : {"ls", "show", "tail", "export", "verify", "gc", "rm", "doctor"}) {
    EXPECT_EQ(run({command, "--help"}), kExitOk);
    EXPECT_NE(out_.find(std::string("Examples:\n  tracker ") + command), std::string::npos) << out_;
  }
  EXPECT_EQ(run({"--help"}), kExitOk);
  EXPECT_NE(out_.find("Examples:"), std::string::npos);
}

TEST_F(CommandLineTest, NoCommandShowsTheHelpAsAUsageError) {
  EXPECT_EQ(run({}), kExitUsage);
  EXPECT_NE(err_.find("tracker COMMAND --help"), std::string::npos);
}

TEST_F(CommandLineTest, TheVersionIsPrintedEitherWay) {
  EXPECT_EQ(run({"version"}), kExitOk);
  const std::string version = out_;
  EXPECT_EQ(run({"--version"}), kExitOk);
  EXPECT_EQ(out_, version);
  EXPECT_EQ(run({"version", "--json"}), kExitOk);
  EXPECT_TRUE(from_json(out_).ok());
}

TEST_F(CommandLineTest, AFolderWithoutAStoreIsAnErrorWithAHint) {
  TempFolder empty;
  EXPECT_EQ(run({"--version"}), kExitOk);  // needs no store; sets up the console
  EXPECT_EQ(run_command_line(console_, {"ls", "--dir", empty.path()}), kExitFailed);
  EXPECT_EQ(err_, "tracker: no store at " + empty.path() +
                      " (--dir or TRACKER_DIR says where it is; the first run makes it)\n");
}

TEST_F(CommandLineTest, AStoreFileThatIsNoJsonIsNamedInWordsOfOurs) {
  const std::string file = builder_.path() + "/store.json";
  ASSERT_TRUE(write_file_atomic(file, "{\"format\": \x1b").ok());
  EXPECT_EQ(run({"ls"}), kExitDamaged);
  EXPECT_EQ(err_.rfind("tracker: " + file + ": no valid JSON: a mistake at line 1, column 12", 0), 0u) << err_;
  EXPECT_EQ(err_.find("exception"), std::string::npos) << err_;
}

TEST_F(CommandLineTest, AStoreOfANewerVersionHasAnExitCodeOfItsOwn) {
  const std::string file = builder_.path() + "/store.json";
  std::string text = *read_file(file, 1 << 16);
  const std::string version = "\"version\": " + std::to_string(kStoreVersion);
  ASSERT_NE(text.find(version), std::string::npos) << text;
  text.replace(text.find(version), version.size(), "\"version\": 999");
  ASSERT_TRUE(write_file_atomic(file, text).ok());
  EXPECT_EQ(run({"ls"}), kExitVersion);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
}

TEST_F(CommandLineTest, WhatWasRecoveredIsSaidInOneLineWhateverTheNumberOfWriters) {
  RecoveryReport report;
  EXPECT_EQ(recovery_text(report), "");
  for (const char* id : {"a", "a", "b", "c", "d", "e"}) {
    RecoveredWriter writer;
    writer.identity.run.project = "mnist";
    writer.identity.run.id = id;
    writer.folder = std::string("/store/runs/mnist/") + id;
    writer.points = 1000;
    report.recovered.push_back(writer);
    if (report.recovered.size() == 1) {
      EXPECT_EQ(recovery_text(report),
                "recovered 1,000 points of mnist/a, whose process ended before they were stored");
    }
  }
  EXPECT_EQ(
      recovery_text(report),
      "recovered 6,000 points of mnist/a, mnist/b, mnist/c and 2 more, whose process ended before they were stored");
}

TEST_F(CommandLineTest, AnAmbiguousIdNamesTheCandidates) {
  builder_.run("mnist", "otter");
  builder_.run("speech", "otter");
  EXPECT_EQ(run({"show", "otter"}), kExitUsage);
  EXPECT_NE(err_.find("mnist/otter"), std::string::npos) << err_;
  EXPECT_NE(err_.find("speech/otter"), std::string::npos) << err_;
}

}  // namespace
}  // namespace tracker::internal
