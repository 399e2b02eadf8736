// SPDX-License-Identifier: MIT
// Goal: what an artifact holds of its files is bounded, and is released. Method: a draft that holds files of a folder,
// and the content of the staging folder meanwhile.
#include "artifact/held_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "artifact/draft.h"
#include "support/child.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class HeldFilesTest : public ::testing::Test {
 protected:
  HeldFilesTest() : store_(*Store::open_or_create(folder_.path() + "/store")) {}
  ListedFile make(const std::string& name, const std::string& content = "x") {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << content;
    return *look_at_file(path);
  }
  size_t copies() const {
    size_t out = 0;
    const std::string staging = store_.path() + "/staging";
    if (fs::exists(staging))
      for (const auto& entry : fs::recursive_directory_iterator(staging))
        out += entry.path().filename().string().starts_with("held-") ? 1 : 0;
    return out;
  }
  TempFolder folder_;
  Store store_;
};

TEST_F(HeldFilesTest, AFileIsCopiedAndTheCopyIsRemovedWithItsLastHolder) {
  auto files = std::make_unique<HeldFiles>(store_.path());
  auto held = files->hold("", make("file"), HoldBy::kAuto);
  ASSERT_NE(held, nullptr);
  EXPECT_TRUE(held->is_copy());
  EXPECT_EQ(copies(), 1u);
  files.reset();
  EXPECT_EQ(copies(), 1u);
  const int status = run_child([&] {
    held.reset();
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  EXPECT_EQ(copies(), 1u) << "a forked child has removed what is its parent's";
  held.reset();
  EXPECT_EQ(copies(), 0u);
}

TEST_F(HeldFilesTest, WhatIsBeyondTheBytesOfACallIsHeldOpen) {
  HeldFiles files(store_.path());
  const ListedFile large = make("large");
  fs::resize_file(large.path, kCopiedInCallBytesMax + 1);
  const auto open = files.hold("", *look_at_file(large.path), HoldBy::kAuto);
  ASSERT_NE(open, nullptr);
  EXPECT_FALSE(open->is_copy());
  fs::remove(large.path);
  EXPECT_EQ(open->open()->stamp.bytes, kCopiedInCallBytesMax + 1);
  EXPECT_TRUE(files.has_room(0, kCopiedInCallBytesMax));
  ASSERT_TRUE(files.hold("", make("small"), HoldBy::kAuto)->is_copy());
  EXPECT_FALSE(files.has_room(0, kCopiedInCallBytesMax));
}

TEST_F(HeldFilesTest, SoManyFilesAreHeldAndNotOneMore) {
  ArtifactDraft draft = *ArtifactDraft::make("data", "t");
  draft.hold(std::make_shared<HeldFiles>(store_.path()));
  for (uint64_t i = 0; i <= kHeldFilesMax; ++i) ASSERT_TRUE(draft.add_file(make(std::to_string(i)).path).ok());
  EXPECT_EQ(copies(), kHeldFilesMax);
  uint64_t held = 0;
  ASSERT_TRUE(draft.visit([&](const ArtifactDraft::Item& item) { return held += item.held ? 1 : 0, Status(); }).ok());
  EXPECT_EQ(held, kHeldFilesMax);
}

TEST_F(HeldFilesTest, SoManyFilesAreHeldOpenInTheProcessAndNotOneMore) {
  HeldFiles files("");
  std::vector<std::shared_ptr<HeldFile>> held;
  const ListedFile file = make("file");
  for (int i = 0; i < kHeldOpenMax; ++i) {
    held.push_back(files.hold("", file, HoldBy::kAuto));
    ASSERT_NE(held.back(), nullptr) << i;
  }
  EXPECT_EQ(files.hold("", file, HoldBy::kAuto), nullptr);
  held.clear();
  EXPECT_NE(files.hold("", file, HoldBy::kAuto), nullptr);
}

TEST_F(HeldFilesTest, ADescriptorThatOtherCodeHasClosedIsNotReadAndTheFileIsFoundByItsName) {
  const ListedFile file = make("file", "content");
  ArtifactDraft draft = *ArtifactDraft::make("data", "t");
  draft.hold(std::make_shared<HeldFiles>(store_.path()));
  ASSERT_TRUE(draft.add_file(file.path, "", HoldBy::kOpen).ok());
  std::shared_ptr<const HeldFile> held;
  ASSERT_TRUE(draft.visit([&](const ArtifactDraft::Item& item) { return held = item.held, Status(); }).ok());
  ASSERT_NE(held, nullptr);
  ::close(held->file.get());
  const auto stored = store_artifact(store_, "p", draft, {});
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_EQ(stored->version.bytes, 7u);
}

TEST_F(HeldFilesTest, AFolderIsCopiedWholeOrNotAtAll) {
  fs::create_directory(folder_.path() + "/data");
  for (const char* name : {"data/one", "data/two"}) fs::resize_file(make(name).path, kCopiedInCallBytesMax / 2 + 1);
  ArtifactDraft draft = *ArtifactDraft::make("data", "t");
  draft.hold(std::make_shared<HeldFiles>(store_.path()));
  ASSERT_TRUE(draft.add_folder(folder_.path() + "/data").ok());
  EXPECT_EQ(copies(), 0u);
  fs::remove_all(folder_.path() + "/data");
  EXPECT_TRUE(store_artifact(store_, "p", draft, {}).ok());
}

}  // namespace
}  // namespace tracker::internal
