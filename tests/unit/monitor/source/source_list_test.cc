// SPDX-License-Identifier: MIT
// Goal: the source of a program is its texts, and never a key, an environment or more than a bound. Method: folders
// made here.
#include "monitor/source/source_list.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class SourceListTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text = "x = 1\n") {
    const std::filesystem::path whole = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  SourceList list(const std::string& leave = "") {
    return list_source(folder_.path(), leave, [] { return true; });
  }
  std::string paths() {
    std::string out;
    for (const SourceFile& file : list().files) out += file.path + " ";
    return out;
  }

  TempFolder folder_;
};

TEST_F(SourceListTest, TextsAreTakenFromTheRootDown) {
  for (const char* path : {"b/deep/z.py", "b/m.py", "train.py", "Makefile"}) write(path);
  EXPECT_EQ(paths(), "Makefile train.py b/m.py b/deep/z.py ");
}

TEST_F(SourceListTest, RulesOfTheFolderAndOurOwnLeaveFilesOutAndMayTakeThemBack) {
  write(".gitignore", "data/\n!train.log\n");
  write("sub/.trackerignore", "*.txt\n");
  for (const char* path : {"data/a.py", "train.log", "other.log", "sub/a.txt", "a.txt", "__pycache__/x.py", ".git/HEAD",
                           "node_modules/a.js", "my-env/pyvenv.cfg", "my-env/a.py", "conda/conda-meta/history"})
    write(path);
  EXPECT_EQ(paths(), ".gitignore a.txt train.log sub/.trackerignore ");
  EXPECT_EQ(list().left_out.ignored, 7u);
}

// Promise P12: A copy of the source holds no key, no secret and no data.
TEST_F(SourceListTest, NoRuleTakesAKeyBack) {
  write(".gitignore", "!*\n!.env\n!.ssh/\n");
  for (const char* path : {".env", ".env.local", "id_rsa", "deploy/ID_ED25519.pub", "server.PEM", ".netrc",
                           ".ssh/config", "credentials.json", "prod.tfstate", "train.py"})
    write(path);
  EXPECT_EQ(paths(), ".gitignore train.py ");
  EXPECT_EQ(list().left_out.secret, 9u);
}

TEST_F(SourceListTest, LinksAndWhatIsNoFileAreNotFollowed) {
  write("train.py");
  ASSERT_EQ(::symlink("/etc/passwd", (folder_.path() + "/link.py").c_str()), 0);
  ASSERT_EQ(::symlink(folder_.path().c_str(), (folder_.path() + "/loop").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe.py").c_str(), 0600), 0);
  EXPECT_EQ(paths(), "train.py ");
  EXPECT_EQ(list().left_out.special, 3u);
}

TEST_F(SourceListTest, TheStoreIsNoPartOfIt) {
  write("train.py");
  write("runs/store.json");
  EXPECT_EQ(list(folder_.path() + "/runs").files.size(), 1u);
}

TEST_F(SourceListTest, ItIsBoundedAndCountsWhatIsBeyond) {
  write("large.py", std::string(kSourceFileBytesMax + 1, 'x'));
  write("exact.py", std::string(kSourceFileBytesMax, 'x'));
  for (size_t i = 0; i <= kSourceFilesMax; ++i) write("many/" + std::to_string(i) + ".py", "");
  std::string deep;
  for (size_t i = 0; i <= kSourceDepthMax; ++i) deep += "d/";
  write(deep + "deep.py");
  const SourceList found = list();
  EXPECT_EQ(found.files.size(), kSourceFilesMax);
  EXPECT_EQ(found.left_out.large, 1u);
  EXPECT_EQ(found.left_out.beyond, 3u);  // two files, and the folder below kSourceDepthMax
  EXPECT_FALSE(found.cut);
}

TEST_F(SourceListTest, AllTogetherHaveABound) {
  for (uint64_t i = 0; i <= kSourceBytesMax / kSourceFileBytesMax; ++i)
    write(std::to_string(i) + ".py", std::string(kSourceFileBytesMax, 'x'));
  EXPECT_EQ(list().bytes, kSourceBytesMax);
  EXPECT_EQ(list().left_out.beyond, 1u);
}

TEST_F(SourceListTest, ALookThatIsEndedSaysSo) {
  for (int i = 0; i < 10; ++i) write(std::to_string(i) + ".py");
  int looks = 0;
  const SourceList found = list_source(folder_.path(), "", [&] { return ++looks < 5; });
  EXPECT_TRUE(found.cut);
  EXPECT_EQ(found.files.size(), 4u);
  EXPECT_LT(found.files.size(), kSourceEntriesMax);
}

TEST_F(SourceListTest, TheRootIsTheRepositoryAndNeverAHomeFolder) {
  write("sub/train.py");
  EXPECT_EQ(source_root(folder_.path() + "/sub"), folder_.path() + "/sub");
  write(".git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(source_root(folder_.path() + "/sub"), folder_.path());
  EXPECT_EQ(source_root("/"), "");
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::setenv("HOME", folder_.path().c_str(), 1);
  EXPECT_EQ(source_root(folder_.path()), "");
  EXPECT_EQ(source_root(folder_.path() + "/sub"), folder_.path() + "/sub");
  if (home != nullptr) ::setenv("HOME", before.c_str(), 1);
  else ::unsetenv("HOME");
}

}  // namespace
}  // namespace tracker::internal
