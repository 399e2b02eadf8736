// SPDX-License-Identifier: MIT
// Goal: every name that a user writes for a version means one version, or gives an error with the expected form.
// Method: names of each form against a store with three versions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "artifact/reference.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest() : home_(*Store::open_or_create(folder_.path() + "/store")) {
    for (const char* content : {"one", "two", "three"}) put("p", "data", content);
    put("q", "other", "four");
  }
  void put(const std::string& project, const std::string& name, const std::string& content) {
    const std::string file = folder_.path() + "/file";
    std::ofstream(file) << content;
    ArtifactDraft draft = *ArtifactDraft::make(name, "dataset");
    ASSERT_TRUE(draft.add_file(file).ok());
    StoreArtifactOptions options;
    if (content == "two") options.aliases = {"best"};
    options.free_bytes_min = 1;
    const auto stored = store_artifact(home_, project, draft, options);
    ASSERT_TRUE(stored.ok());
    if (content == "one") first_ = stored->version.content.hex();
  }
  std::string found(const std::string& text) {
    const auto out = find_artifact(home_, text, "p");
    return out.ok() ? out->info.project + "/" + out->info.name + ":" + out->version.name() : out.status().to_string();
  }
  TempFolder folder_;
  const Store home_;
  std::string first_;
};

TEST_F(ReferenceTest, EachFormNamesItsVersion) {
  EXPECT_EQ(found("data"), "p/data:v2");
  EXPECT_EQ(found("data:latest"), "p/data:v2");
  EXPECT_EQ(found("data:best"), "p/data:v1");
  EXPECT_EQ(found("p/data:v0"), "p/data:v0");
  EXPECT_EQ(found("data@" + first_), "p/data:v0");
  EXPECT_EQ(found("data@" + first_.substr(0, 8)), "p/data:v0");
  EXPECT_EQ(found("q/other"), "q/other:v0");
}

TEST_F(ReferenceTest, WhatNamesNothingSaysWhatWasExpectedOrWhatThereIs) {
  for (const char* bad : {"", "p/", ":v1", "data:", "data@", "/data"})
    EXPECT_NE(found(bad).find("expected \"name:alias\""), std::string::npos) << bad << ": " << found(bad);
  EXPECT_NE(found("data@best").find("is no digest"), std::string::npos);
  EXPECT_NE(found("dato").find("did you mean data?"), std::string::npos) << found("dato");
  EXPECT_NE(found("data:bist").find("did you mean best?"), std::string::npos) << found("data:bist");
  EXPECT_NE(found("data@ffffff").find("no version"), std::string::npos) << found("data@ffffff");
}

}  // namespace
}  // namespace tracker::internal
