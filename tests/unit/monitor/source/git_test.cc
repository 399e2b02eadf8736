// SPDX-License-Identifier: MIT
// Goal: what we read of a repository is what git says of it. Method: repositories that git makes, in each state; where
// there is no git the test is skipped.
#include "monitor/source/git.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "monitor/source/git_diff.h"
#include "support/conditions.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class GitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WHERE(std::system("git --version >/dev/null 2>&1") != 0, kGit);
    std::filesystem::create_directory(work());
    git("init -q -b trunk");
    write("a.txt", "one\n");
    write("sub/b.txt", "two\n");
    git("add .");
    git("commit -q -m first");
  }
  std::string work() const { return folder_.path() + "/work"; }
  void git(const std::string& arguments) const {
    const std::string all = "cd '" + work() +
                            "' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -c user.name=n -c "
                            "user.email=e@x -c gc.auto=0 " +
                            arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(all.c_str()), 0) << arguments;
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(work() + "/" + name).parent_path());
    std::ofstream(work() + "/" + name) << text;
  }
  Value facts(const std::string& below = "") { return git_facts(work() + below, &redacted_); }
  // "true", "false" or "unknown".
  std::string dirty(const std::string& below = "") {
    const Value all = facts(below);
    const Value* value = all.find("dirty");
    return value == nullptr ? "none" : to_display(*value);
  }
  TempFolder folder_;
  uint64_t redacted_ = 0;
};

TEST_F(GitTest, ACommitIsCleanAndAChangedFileIsDirtyAtTheSameSizeToo) {
  EXPECT_EQ(dirty(), "false");
  EXPECT_EQ(dirty("/sub"), "false") << "from a folder below";
  write("a.txt", "0ne\n");
  EXPECT_EQ(dirty(), "true");
  write("a.txt", "one\n");
  EXPECT_EQ(dirty(), "false") << "other times, the same content";
  write("a.txt", "longer than before\n");
  EXPECT_EQ(dirty(), "true");
}

TEST_F(GitTest, ARemovedAStagedAndANewModeAreChangesAndAnUntrackedFileIsNone) {
  write("new.txt", "untracked\n");
  EXPECT_EQ(dirty(), "false");
  git("add new.txt");
  EXPECT_EQ(dirty(), "true");
  git("commit -q -m second");
  EXPECT_EQ(dirty(), "false");
  std::filesystem::permissions(work() + "/a.txt", std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  EXPECT_EQ(dirty(), "true");
  git("checkout -q -f HEAD -- .");
  git("reset -q --hard");
  std::filesystem::remove(work() + "/sub/b.txt");
  EXPECT_EQ(dirty(), "true");
}

TEST_F(GitTest, EveryVersionOfTheIndexIsRead) {
  for (const char* version : {"2", "3", "4"}) {
    git(std::string("update-index --index-version ") + version);
    git("reset -q --hard");
    EXPECT_EQ(dirty(), "false") << version;
    write("sub/b.txt", "2wo\n");
    EXPECT_EQ(dirty(), "true") << version;
    git("checkout -q -f -- .");
  }
}

TEST_F(GitTest, BranchAndCommitAreReadFromLooseAndPackedRefsAndADetachedHead) {
  const auto text = [this](const char* key) { return facts().text_or(key, ""); };
  const std::string commit = text("commit");
  EXPECT_EQ(commit.size(), 40u);
  EXPECT_EQ(text("branch"), "trunk");
  EXPECT_EQ(text("root"), std::filesystem::canonical(work()).string());
  git("pack-refs --all");
  EXPECT_EQ(text("commit"), commit);
  git("checkout -q --detach");
  EXPECT_EQ(text("commit"), commit);
  EXPECT_EQ(text("branch"), "");
}

// The parents of a path as it is written may be another repository, or none.
TEST_F(GitTest, TheRepositoryIsThatOfTheFolderHoweverItsPathIsWritten) {
  const std::string real = std::filesystem::canonical(work()).string();
  EXPECT_EQ(facts("/.").text_or("root", ""), real);
  EXPECT_EQ(facts("/sub/../sub/.").text_or("root", ""), real);
  std::filesystem::create_directory(folder_.path() + "/plain");
  EXPECT_TRUE(facts("/../plain").as_map()->empty() || facts("/../plain").text_or("root", "") != real);
  std::filesystem::create_directory_symlink(work() + "/sub", folder_.path() + "/plain/link");
  EXPECT_EQ(git_facts(folder_.path() + "/plain/link", &redacted_).text_or("root", ""), real);
}

TEST_F(GitTest, ALinkedWorktreeHasItsOwnHeadAndSharesRefsAndConfig) {
  git("remote add origin https://example.org/x.git");
  git("worktree add -q -b other ../linked");
  const Value value = git_facts(folder_.path() + "/linked", &redacted_);
  EXPECT_EQ(value.text_or("branch", ""), "other");
  EXPECT_EQ(value.text_or("commit", ""), facts().text_or("commit", "-"));
  EXPECT_EQ(value.text_or("remote", ""), "https://example.org/x.git");
  EXPECT_EQ(to_display(*value.find("dirty")), "false");
}

TEST_F(GitTest, WhoIsInAnAddressOfARemoteIsNotRecorded) {
  const auto remote = [this](const std::string& url) {
    git("config remote.origin.url '" + url + "'");
    return facts().text_or("remote", "");
  };
  EXPECT_EQ(remote("https://me:hunter2@host/x.git"), "https://[redacted]@host/x.git");
  EXPECT_EQ(remote("https://sometoken@host/x.git"), "https://[redacted]@host/x.git");
  EXPECT_EQ(remote("git@github.com:a/b.git"), "git@github.com:a/b.git");
  EXPECT_EQ(remote("ssh://git@host:22/b.git"), "ssh://git@host:22/b.git");
  EXPECT_EQ(remote("ssh://git:pw@host/b.git"), "ssh://[redacted]@host/b.git");
  EXPECT_GE(redacted_, 3u);
}

TEST_F(GitTest, WhatIsNoIndexOrNoRepositoryIsNotGuessed) {
  std::ofstream(work() + "/.git/index") << "DIRCnonsense";
  EXPECT_EQ(dirty(), "unknown");
  std::filesystem::remove(work() + "/.git/index");
  EXPECT_EQ(dirty(), "unknown");
  EXPECT_TRUE(git_facts(folder_.path(), &redacted_).as_map()->empty() || !find_git(folder_.path()));
}

TEST_F(GitTest, ACutIndexNeverReadsBeyondItsEnd) {
  std::ifstream in(work() + "/.git/index", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t size = 0; size < whole.size(); size += 3) {
    std::ofstream(work() + "/.git/index", std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    EXPECT_NE(dirty(), "none") << size;
  }
}

TEST_F(GitTest, ADiffIsBoundedAndHoldsNoSecret) {
  write("a.txt", "password = \"hunter2\"\nAKIAIOSFODNN7EXAMPLE\n");
  Value value = git_diff(work(), &redacted_);
  const std::string text = value.text_or("text", "");
  EXPECT_NE(text.find("-one"), std::string::npos) << to_json(value);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(text.find("AKIA"), std::string::npos);
  EXPECT_EQ(redacted_, 2u);
  std::string large;
  while (large.size() < kGitDiffBytesMax + 100'000) large += "a line of the file\n";
  write("a.txt", large);
  value = git_diff(work(), &redacted_);
  EXPECT_EQ(value.text_or("text", "").size(), kGitDiffBytesMax);
  EXPECT_GT(value.int_or("cut", 0), 100'000);
}

// Bug: a diff was cut before it was redacted, and of an address the cut left the password.
TEST_F(GitTest, ASecretThatTheCutOfADiffMeetsIsNotInIt) {
  std::string text;
  while (text.size() < kGitDiffBytesMax / 10 * 9) text += "a line of the file\n";
  write("a.txt", text);
  const auto before = static_cast<size_t>(git_diff(work(), &redacted_).int_or("bytes", 0));
  ASSERT_LT(before, kGitDiffBytesMax - 100);
  const std::string secret = "postgres://admin:hunter2secret@db.example.com/x\n";
  const size_t cut_at = secret.find('@');
  // Each further line has a "+" in front of it.
  write("a.txt", text + std::string(kGitDiffBytesMax - before - cut_at - 3, 'x') + "\n" + secret);
  redacted_ = 0;
  const Value value = git_diff(work(), &redacted_);
  EXPECT_EQ(value.int_or("cut", 0), static_cast<int64_t>(secret.size() - cut_at));
  const std::string shown = value.text_or("text", "");
  EXPECT_TRUE(shown.ends_with("\n+postgres://[redacted]")) << shown.substr(shown.size() - 60);
  EXPECT_EQ(redacted_, 1u);
}

}  // namespace
}  // namespace tracker::internal
