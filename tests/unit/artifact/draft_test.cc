// SPDX-License-Identifier: MIT
// Goal: a draft holds what was added, and reports at once what it cannot hold. Method: folders with devices, pipes,
// sockets, links of every kind, odd names; the order of what is visited.
#include "artifact/draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "artifact/source_files.h"
#include "storage/store/store.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DraftTest : public ::testing::Test {
 protected:
  std::string make(const std::string& path, const std::string& content = "x") {
    const std::string whole = folder_.path() + "/" + path;
    fs::create_directories(fs::path(whole).parent_path());
    std::ofstream(whole) << content;
    return whole;
  }
  ArtifactDraft draft() { return *ArtifactDraft::make("data", "dataset"); }
  static std::vector<std::string> paths(const ArtifactDraft& draft) {
    std::vector<std::string> out;
    EXPECT_TRUE(
        draft.visit([&out](const ArtifactDraft::Item& item) { return out.push_back(item.entry.path), Status(); }).ok());
    return out;
  }
  TempFolder folder_;
};

TEST_F(DraftTest, FilesFoldersAndReferencesComeInOrderOfTheirPaths) {
  for (const char* path : {"d/a/x", "d/a-b", "d/a.b", "d/b", "d/a/deep/er/y"}) make(path);
  ArtifactDraft art = draft();
  ASSERT_TRUE(art.add_folder(folder_.path() + "/d", "in").ok());
  ASSERT_TRUE(art.add_file(make("model.pt", "four")).ok());
  ASSERT_TRUE(art.add_file(make("other"), "in/a.a").ok());
  ASSERT_TRUE(art.add_file(make("third"), "in/").ok());
  ASSERT_TRUE(art.add_reference("s3://bucket/train.bin", "").ok());
  EXPECT_THAT(paths(art), ElementsAre("in/a-b", "in/a.a", "in/a.b", "in/a/deep/er/y", "in/a/x", "in/b", "in/third",
                                      "model.pt", "train.bin"));
  EXPECT_EQ(art.files(), 9u);
  EXPECT_EQ(art.bytes(), 11u);
  EXPECT_TRUE(art.contains("in/a/x"));
  EXPECT_FALSE(art.contains("in/a"));
}

TEST_F(DraftTest, APathIsTakenOnceAndCanBeRemoved) {
  make("d/a");
  make("d/sub/b");
  ArtifactDraft art = draft();
  ASSERT_TRUE(art.add_folder(folder_.path() + "/d").ok());
  EXPECT_EQ(art.add_file(make("a"), "a").code(), Code::kExists);
  EXPECT_EQ(art.add_folder(folder_.path() + "/d/sub", "sub").code(), Code::kExists);
  EXPECT_EQ(art.add_reference("u", "a").code(), Code::kExists);
  ASSERT_TRUE(art.remove("a").ok());
  EXPECT_EQ(art.remove("a").code(), Code::kNotFound);
  EXPECT_TRUE(art.add_file(make("a"), "a").ok());
  ASSERT_TRUE(art.remove("sub/").ok());
  EXPECT_THAT(paths(art), ElementsAre("a"));
}

// Bug: "q" and "q/r" were accepted, and such a version could never be downloaded.
TEST_F(DraftTest, AFileIsNoFolderOfAnotherWhicheverComesFirst) {
  make("d/q/r");
  make("e/q");
  make("e/a");
  const std::string file = make("file");
  const auto refused = [&](const Status& status) {
    EXPECT_EQ(status.code(), Code::kExists);
    EXPECT_THAT(status.message(), HasSubstr("\"q"));
    EXPECT_FALSE(status.hint().empty());
  };
  for (const bool single : {true, false}) {
    ArtifactDraft below = draft(), above = draft();
    ASSERT_TRUE((single ? above.add_file(file, "q") : above.add_folder(folder_.path() + "/e")).ok());
    ASSERT_TRUE((single ? below.add_file(file, "q/r") : below.add_folder(folder_.path() + "/d")).ok());
    const uint64_t files = above.files();
    refused(above.add_file(file, "q/r"));
    refused(above.add_file(file, "q/deep/er"));
    refused(above.add_reference("s3://b/c", "q/r"));
    refused(above.add_folder(folder_.path() + "/d"));
    refused(above.add_folder(folder_.path() + "/e", "q/more"));
    refused(below.add_file(file, "q"));
    refused(below.add_reference("s3://b/c", "q"));
    refused(below.add_folder(folder_.path() + "/e"));
    EXPECT_EQ(above.files(), files);
    EXPECT_EQ(below.files(), 1u);
    EXPECT_TRUE(above.add_file(file, "q-x").ok());
    EXPECT_TRUE(below.add_file(file, "q-x").ok());
    ASSERT_TRUE(below.remove("q/").ok());
    EXPECT_TRUE(below.add_file(file, "q").ok());
  }
  ArtifactDraft prefixed = draft();
  ASSERT_TRUE(prefixed.add_folder(folder_.path() + "/e", "q/more").ok());
  refused(prefixed.add_file(file, "q"));
  EXPECT_EQ(prefixed.add_file(file, "q/more").code(), Code::kExists);
}

TEST_F(DraftTest, PathsReferencesAndFilesHaveABound) {
  ArtifactDraft art = draft();
  const std::string part(kArtifactPathPartBytesMax, 'x');
  EXPECT_TRUE(art.add_reference("u", part).ok());
  EXPECT_EQ(art.add_reference("u", part + "x").code(), Code::kInvalid);
  std::string path;
  while (path.size() + 2 <= kArtifactPathBytesMax) path += "x/";
  EXPECT_TRUE(art.add_reference("u", path.substr(0, kArtifactPathBytesMax - 2) + "xx").ok());
  EXPECT_EQ(art.add_reference("u", path + "xx").code(), Code::kLimit);
  EXPECT_TRUE(art.add_reference(std::string(kReferenceBytesMax, 'u'), "long").ok());
  EXPECT_EQ(art.add_reference(std::string(kReferenceBytesMax + 1, 'u'), "longer").code(), Code::kLimit);
  for (size_t i = art.files(); i < kDraftFilesMax; ++i)
    ASSERT_TRUE(art.add_reference("u", "many/" + std::to_string(i)).ok());
  EXPECT_EQ(art.add_reference("u", "one-more").code(), Code::kLimit);
}

TEST_F(DraftTest, AFolderThatIsTooDeepIsRefused) {
  std::string path = folder_.path() + "/d";
  for (int i = 0; i <= kFolderDepthMax; ++i) path += "/d";
  fs::create_directories(path);
  std::ofstream(path + "/file") << "x";
  ArtifactDraft art = draft();
  EXPECT_EQ(art.add_folder(folder_.path() + "/d").code(), Code::kInvalid);
  EXPECT_TRUE(art.add_folder(path, "below").ok());
}

TEST_F(DraftTest, WhatIsNoFileIsNamedAtOnce) {
  make("d/fine");
  const std::string at = folder_.path() + "/d/odd";
  const auto expect = [&](const char* what) {
    ArtifactDraft art = draft();
    const Status folder = art.add_folder(folder_.path() + "/d");
    EXPECT_EQ(folder.code(), Code::kInvalid) << what;
    EXPECT_THAT(folder.message(), HasSubstr(what));
    EXPECT_THAT(folder.message(), HasSubstr(at));
    EXPECT_EQ(art.files(), 0u) << "all or nothing";
    fs::remove_all(at);
  };
  ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0);
  EXPECT_EQ(draft().add_file(at).code(), Code::kInvalid);
  expect("a pipe");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(at.size(), sizeof address.sun_path);
  std::copy(at.begin(), at.end(), address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  expect("a socket");
  fs::create_symlink("odd", at);
  EXPECT_EQ(draft().add_file(at).code(), Code::kInvalid);
  expect("a loop of links");
  fs::create_symlink("nowhere", at);
  expect("a link to nothing");
  fs::create_symlink("/dev/null", at);
  expect("leads out of the folder");
  fs::create_symlink("../../" + fs::path(make("outside")).filename().string(), at);
  fs::remove(at);
  fs::create_symlink(folder_.path() + "/outside", at);
  expect("leads out of the folder");
  fs::create_symlink(".", at);
  expect("a link to a folder");
  EXPECT_THAT(draft().add_file("/dev/null").message(), HasSubstr("a device"));
  EXPECT_EQ(draft().add_file(folder_.path()).code(), Code::kInvalid);
  EXPECT_EQ(draft().add_file(folder_.path() + "/gone").code(), Code::kNotFound);
  EXPECT_EQ(draft().add_folder(folder_.path() + "/gone").code(), Code::kNotFound);
  EXPECT_EQ(draft().add_folder(folder_.path() + "/outside").code(), Code::kInvalid);
}

TEST_F(DraftTest, ALinkWithinTheFolderIsTheFileItLeadsTo) {
  make("d/epoch-5.pt", "weights");
  fs::create_symlink("epoch-5.pt", folder_.path() + "/d/latest.pt");
  ArtifactDraft art = draft();
  ASSERT_TRUE(art.add_folder(folder_.path() + "/d").ok());
  EXPECT_EQ(art.bytes(), 14u);
  const auto opened = open_source(folder_.path() + "/d", "latest.pt");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(opened->stamp.bytes, 7u);
  // A link that was added to the folder after the check leads to no other file.
  make("secret");
  fs::remove(folder_.path() + "/d/latest.pt");
  fs::create_symlink("../secret", folder_.path() + "/d/latest.pt");
  EXPECT_EQ(open_source(folder_.path() + "/d", "latest.pt").status().code(), Code::kInvalid);
}

TEST_F(DraftTest, FilesThatOthersNamedAreTakenFromTheirFolderAlone) {
  make("q/b");
  make("q/a");
  fs::create_symlink("a", folder_.path() + "/q/link");
  ArtifactDraft draft = *ArtifactDraft::make("d", "t");
  ASSERT_TRUE(draft.add_files_below(folder_.path() + "/q", {"b", "a", "b"}).ok());
  EXPECT_EQ(draft.files(), 2u);
  EXPECT_EQ(draft.add_files_below(folder_.path() + "/q", {"a"}).code(), Code::kInvalid) << "a second time";
  for (const char* path : {"../outside", "/etc/passwd", "", "a/../b", "link", "a\\b"}) {
    ArtifactDraft other = *ArtifactDraft::make("d", "t");
    EXPECT_EQ(other.add_files_below(folder_.path() + "/q", {"a", path}).code(), Code::kInvalid) << path;
    EXPECT_EQ(other.files(), 0u);
  }
  ArtifactDraft gone = *ArtifactDraft::make("d", "t");
  EXPECT_EQ(gone.add_files_below(folder_.path() + "/q", {"gone"}).code(), Code::kNotFound);
}

TEST_F(DraftTest, NamesThatNoManifestTakesAreRefusedAtOnce) {
  for (const char* name : {"a\nb", "a\\b", "\xff\xfe"}) {
    make(std::string("d/") + name);
    EXPECT_EQ(draft().add_folder(folder_.path() + "/d").code(), Code::kInvalid) << name;
    fs::remove_all(folder_.path() + "/d");
  }
  EXPECT_EQ(ArtifactDraft::make("a/b", "t").status().code(), Code::kInvalid);
  EXPECT_EQ(ArtifactDraft::make("a:b", "t").status().code(), Code::kInvalid);
  EXPECT_EQ(ArtifactDraft::make("", "t").status().code(), Code::kInvalid);
}

TEST_F(DraftTest, CredentialsInAReferenceAreNotKept) {
  ArtifactDraft art = draft();
  ASSERT_TRUE(art.add_reference("https://me:hunter2secret@host/data.bin", "").ok());
  ASSERT_TRUE(art.visit([](const ArtifactDraft::Item& item) {
                   EXPECT_EQ(item.entry.uri.find("hunter2secret"), std::string::npos) << item.entry.uri;
                   return Status();
                 })
                  .ok());
}

TEST(FileListTest, AMillionFilesStayBelowTheBoundAndAreFound) {
  FileList list;
  for (int i = 0; i < 1'000'000; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "images/%07d.jpg", i);
    list.add({name, 100'000, 1'700'000'000'000'000'000 + i});
  }
  EXPECT_LT(list.memory_bytes(), 40u << 20);
  EXPECT_TRUE(list.contains("images/0777777.jpg"));
  EXPECT_FALSE(list.contains("images/0777777.jp"));
  EXPECT_FALSE(list.contains("zzz"));
  int count = 0;
  for (FileList::Cursor at(list); !at.done(); at.next()) count += at.file().bytes == 100'000 ? 1 : 0;
  EXPECT_EQ(count, 1'000'000);
}

TEST_F(DraftTest, AStoreBelowAFolderIsLeftOutAndNamed) {
  make("d/train.py");
  make("d/shop/store.json", R"({"format": "of somebody else"})");
  const std::string inner = folder_.path() + "/d/sub/.tracker";
  ASSERT_TRUE(Store::open_or_create(inner).ok());
  ArtifactDraft found = draft();
  ASSERT_TRUE(found.add_folder(folder_.path() + "/d").ok());
  EXPECT_THAT(paths(found), ElementsAre("shop/store.json", "train.py"));
  EXPECT_THAT(found.stores_left_out(), ElementsAre(inner));
  ArtifactDraft itself = draft();
  EXPECT_EQ(itself.add_folder(inner).code(), Code::kInvalid) << "it changes while it is copied";
}

}  // namespace
}  // namespace tracker::internal
