// SPDX-License-Identifier: MIT
// Goal: what is read of a repository is read up to its bounds, and beyond them nothing is guessed. Method: repositories
// and an index of so many bytes and entries, written here.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "monitor/host/text_files.h"
#include "monitor/source/git.h"
#include "monitor/source/git_diff.h"
#include "monitor/source/sha1.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class GitLimitsTest : public ::testing::Test {
 protected:
  GitLimitsTest() {
    write(".git/HEAD", "ref: refs/heads/trunk\n");
    write(".git/refs/heads/trunk", kCommit);
  }
  void write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::string fact(const std::string& name) {
    uint64_t redacted = 0;
    const Value all = git_facts(folder_.path(), &redacted);
    const Value* value = all.find(name);
    return value == nullptr ? "none" : to_display(*value);
  }

  const std::string kCommit = std::string(40, 'c');
  const TempFolder folder_;
};

std::string u32(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

// An entry of an index of version 2: a file of no bytes. One that is assumed unchanged is not checked.
std::string entry(const std::string& name, std::string_view object, uint32_t size, bool assumed) {
  std::string out = std::string(24, '\0') + u32(0100644) + std::string(8, '\0') + u32(size) + std::string(object);
  const uint32_t flags = (assumed ? 0x8000u : 0u) | static_cast<uint32_t>(name.size());
  out += {static_cast<char>(flags >> 8), static_cast<char>(flags)};
  out += name;
  return out + std::string(8 - out.size() % 8, '\0');
}

// With a cached tree that is valid; `bytes` in all where they are more.
std::string index_of(uint32_t count, const std::string& entries, size_t bytes = 0) {
  std::string out = "DIRC" + u32(2) + u32(count) + entries + "TREE" + u32(6) + std::string("\0001 0\n", 6);
  const size_t whole = out.size() + 8 + 20;
  if (bytes > whole) out += "XTRA" + u32(static_cast<uint32_t>(bytes - whole)) + std::string(bytes - whole, '\0');
  return out + std::string(20, '\0');
}

TEST_F(GitLimitsTest, ARepositoryIsFoundSoManyFoldersUpward) {
  std::string below;
  for (size_t i = 1; i < kGitFoldersUp; ++i) below += "/d";
  std::filesystem::create_directories(folder_.path() + below + "/d");
  ASSERT_TRUE(find_git(folder_.path() + below).has_value());
  EXPECT_EQ(find_git(folder_.path() + below)->work, real_path(folder_.path()));
  EXPECT_FALSE(find_git(folder_.path() + below + "/d").has_value());
}

TEST_F(GitLimitsTest, SoManyRefsThatNameOneAnotherAreFollowed) {
  constexpr int kDepthMax = 5;  // kRefDepthMax
  const auto write_refs = [this](int count) {
    for (int i = 0; i < count; ++i)
      write("/.git/refs/heads/" + (i == 0 ? "trunk" : std::to_string(i)),
            i + 1 == count ? kCommit : "ref: refs/heads/" + std::to_string(i + 1));
  };
  write_refs(kDepthMax);
  EXPECT_EQ(fact("commit"), kCommit);
  write_refs(kDepthMax + 1);
  EXPECT_EQ(fact("commit"), "none");
}

// Bug: the start of a line that the bound cuts was taken for the name of another ref.
TEST_F(GitLimitsTest, PackedRefsAreReadUpToTheLimit) {
  std::filesystem::remove(folder_.path() + "/.git/refs/heads/trunk");
  const auto write_refs = [this](const std::string& name, size_t bytes) {
    const std::string line = kCommit + " refs/heads/" + name + "\n", other = std::string(40, 'd') + " refs/heads/d\n";
    std::string text = "# pack-refs with: peeled\n";
    text += "#" + std::string(bytes - text.size() - line.size() - 2, 'x') + "\n";
    write(".git/packed-refs", text + line + other);
  };
  write_refs("trunk", kGitPackedRefsBytesMax);
  EXPECT_EQ(fact("commit"), kCommit);
  write_refs("trunk", kGitPackedRefsBytesMax + 1);
  EXPECT_EQ(fact("commit"), "none");
  write_refs("trunk-2", kGitPackedRefsBytesMax + 3);
  EXPECT_EQ(fact("commit"), "none");
}

TEST_F(GitLimitsTest, AnIndexUpToTheLimitSaysWhetherSomethingWasChanged) {
  const std::string one = entry("a", std::string(20, '\0'), 0, true);
  write(".git/index", index_of(1, one, kGitIndexBytesMax));
  EXPECT_EQ(fact("dirty"), "false");
  write(".git/index", index_of(1, one, kGitIndexBytesMax + 1));
  EXPECT_EQ(fact("dirty"), "unknown");
}

TEST_F(GitLimitsTest, SoManyEntriesOfAnIndexAreLookedAt) {
  const std::string one = entry("a", std::string(20, '\0'), 0, true);
  std::string entries;
  for (size_t i = 0; i < kGitEntriesMax; ++i) entries += one;
  write(".git/index", index_of(kGitEntriesMax, entries));
  EXPECT_EQ(fact("dirty"), "false");
  write(".git/index", index_of(kGitEntriesMax + 1, entries + one));
  EXPECT_EQ(fact("dirty"), "unknown");
}

TEST_F(GitLimitsTest, AFileOfOtherTimesIsComparedUpToTheLimit) {
  for (const size_t bytes : {kGitFileBytesMax, kGitFileBytesMax + 1}) {
    const std::string content(bytes, 'x');
    Sha1 hash;
    hash.add("blob " + std::to_string(bytes) + std::string(1, '\0'));
    hash.add(content);
    const Sha1Digest digest = hash.finish();
    const std::string_view object(reinterpret_cast<const char*>(digest.data()), digest.size());
    write("a", content);
    write(".git/index", index_of(1, entry("a", object, static_cast<uint32_t>(bytes), false)));
    EXPECT_EQ(fact("dirty"), bytes == kGitFileBytesMax ? "false" : "unknown");
  }
}

std::chrono::nanoseconds g_since_begin{0};
bool g_has_begun = false;

TEST_F(GitLimitsTest, TheComparisonHasSoLongAndThenNothingIsKnown) {
  Sha1 hash;
  hash.add("blob 1" + std::string(1, '\0') + "x");
  const Sha1Digest digest = hash.finish();
  const std::string_view object(reinterpret_cast<const char*>(digest.data()), digest.size());
  write("a", "x");
  write(".git/index", index_of(1, entry("a", object, 1, false)));
  const auto clock = [] {
    const std::chrono::steady_clock::time_point begin{};
    return std::exchange(g_has_begun, true) ? begin + g_since_begin : begin;
  };
  const auto where = find_git(folder_.path());
  ASSERT_TRUE(where.has_value());
  for (const auto late : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(1)}) {
    g_has_begun = false;
    g_since_begin = kGitIndexTimeMax + late;
    const auto dirty = git_is_dirty(*where, clock);
    EXPECT_EQ(dirty.has_value(), late.count() == 0);
    EXPECT_FALSE(dirty.value_or(false));
  }
}

TEST_F(GitLimitsTest, OfASmallFileTheBeginCounts) {
  const std::string url = "[remote \"origin\"]\nurl = https://x/y\n";
  const auto write_config = [&](size_t bytes) { write(".git/config", "#" + std::string(bytes - 2, 'x') + "\n" + url); };
  write_config(kMonitorFileBytesMax - url.size());
  EXPECT_EQ(fact("remote"), "https://x/y");
  write_config(kMonitorFileBytesMax);
  EXPECT_EQ(fact("remote"), "none");
}

TEST_F(GitLimitsTest, AGitThatHangsIsEndedAndThatIsSaid) {
  const std::string before = std::getenv("PATH");
  write("bin/git", "#!/bin/sh\necho so far\nexec sleep 600\n");
  std::filesystem::permissions(folder_.path() + "/bin/git", std::filesystem::perms::owner_all);
  ::setenv("PATH", (folder_.path() + "/bin:" + before).c_str(), 1);
  uint64_t redacted = 0;
  const auto begun = std::chrono::steady_clock::now();
  const Value diff = git_diff(folder_.path(), &redacted, std::chrono::milliseconds(300));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5 * std::chrono::milliseconds(kGitDiffTimeMax));
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(to_display(*diff.find("timeout")), "true");
  EXPECT_EQ(diff.text_or("text", ""), "so far\n");
}

}  // namespace
}  // namespace tracker::internal
