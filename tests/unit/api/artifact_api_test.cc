// SPDX-License-Identifier: MIT
// Goal: artifacts through the C ABI and the C++ header do what their comments say, and misuse is answered by a code and
// a line. Method: through the shared library, in a store of their own.
#include <gtest/gtest.h>
#include <tracker/tracker.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/store_builder.h"

namespace {

using tracker::Artifact;
using tracker::Code;
constexpr int64_t kLongMs = 120'000;

class ArtifactApiTest : public testing::Test {
 protected:
  ArtifactApiTest() {
    std::filesystem::create_directories(data_ + "/sub");
    std::ofstream(data_ + "/one") << "one";
    std::ofstream(data_ + "/sub/two") << "two";
  }
  tracker::Run open(const std::string& mode = "") {
    return tracker::init({.project = "p", .mode = mode, .dir = dir_, .quiet = true});
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  tracker::internal::TempFolder folder_;
  const std::string dir_ = folder_.path() + "/store", data_ = folder_.path() + "/data";
};

TEST_F(ArtifactApiTest, WhatOneRunLogsAnotherUsesAndDownloads) {
  const tracker::Run first = open();
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk) << data.error();
  EXPECT_EQ(data.add_file(data_ + "/one", "again/"), Code::kOk);
  EXPECT_EQ(data.remove("sub/"), Code::kOk);
  EXPECT_EQ(data.describe("numbers"), Code::kOk);
  EXPECT_EQ(data.set_metadata("rows", 3), Code::kOk);
  EXPECT_EQ(data.files(), 2u);
  EXPECT_EQ(data.bytes(), 6u);
  EXPECT_EQ(data.version(), -1);
  ASSERT_EQ(first.log_artifact(data, {.aliases = {"best"}, .tags = {"small"}}), Code::kOk) << data.error();
  ASSERT_EQ(data.wait(), Code::kOk) << data.error();
  EXPECT_EQ(data.version(), 0);
  EXPECT_EQ(data.digest().size(), 64u);
  EXPECT_TRUE(first.wait_artifacts(std::chrono::milliseconds(kLongMs)));
  EXPECT_EQ(first.status().artifacts_stored, 1u);

  const tracker::Run second = open();
  Artifact used = second.use_artifact("data:best", "train");
  ASSERT_TRUE(used.ok()) << used.error();
  EXPECT_EQ(used.digest(), data.digest());
  ASSERT_EQ(used.download(folder_.path() + "/out"), Code::kOk) << used.error();
  EXPECT_EQ(content(folder_.path() + "/out/again/one"), "one");
  std::string where;
  ASSERT_EQ(used.download({}, &where), Code::kOk) << used.error();
  EXPECT_EQ(content(where + "/one"), "one");
  EXPECT_NE(used.add_file(data_ + "/one"), Code::kOk) << "a stored version was changed";
  Artifact missing = second.use_artifact("dada");
  EXPECT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(missing.error().find("did you mean data?"), std::string::npos) << missing.error();
}

// Bug: the copy was written into the store past max_disk.
TEST_F(ArtifactApiTest, ADownloadThatFindsNoRoomInTheStoreIsRefusedAndSaysWhatToDo) {
  std::ofstream(data_ + "/large") << std::string(15u << 20, 'x');
  const tracker::Run run = tracker::init({.project = "p", .dir = dir_, .quiet = true, .max_disk = "32MiB"});
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk) << data.error();
  ASSERT_EQ(run.log_artifact(data), Code::kOk) << data.error();
  ASSERT_EQ(data.wait(), Code::kOk) << data.error();
  Artifact used = run.use_artifact("data");
  for (Artifact* each : {&data, &used}) {
    EXPECT_EQ(each->download(), Code::kLimit);
    EXPECT_NE(each->error().find("max_disk (33554432 bytes) has room for"), std::string::npos) << each->error();
    EXPECT_NE(each->error().find("name a folder of your own elsewhere"), std::string::npos) << each->error();
  }
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/downloads"));
  EXPECT_EQ(used.download(folder_.path() + "/out"), Code::kOk) << used.error();
}

TEST_F(ArtifactApiTest, MistakesAreSaidAtOnceInOneLine) {
  Artifact bad("a/b", "t");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.code(), Code::kInvalid);
  EXPECT_EQ(bad.add_file(data_ + "/one"), Code::kInvalid);
  Artifact good("a", "t");
  EXPECT_EQ(good.add_file("/dev/null"), Code::kInvalid);
  EXPECT_NE(good.error().find("a device"), std::string::npos) << good.error();
  EXPECT_EQ(good.add_file(data_ + "/none"), Code::kNotFound);
  EXPECT_EQ(good.add_file(data_ + "/one"), Code::kOk);
  EXPECT_TRUE(good.error().empty());
  EXPECT_EQ(good.add_file(data_ + "/one"), Code::kExists);
  EXPECT_EQ(good.wait(), Code::kInvalid) << "it was never logged";
  EXPECT_EQ(good.download(), Code::kInvalid);
  const tracker::Run run = open();
  EXPECT_EQ(run.log_artifact(good, {.aliases = {"v3"}}), Code::kInvalid);
}

TEST_F(ArtifactApiTest, ADisabledRunTakesEveryCall) {
  const tracker::Run run = open("disabled");
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk);
  EXPECT_EQ(run.log_artifact(data), Code::kOk);
  EXPECT_EQ(data.wait(), Code::kOk);
  EXPECT_EQ(data.version(), -1);
  EXPECT_FALSE(run.use_artifact("data").ok());
  EXPECT_FALSE(std::filesystem::exists(dir_));
}

TEST_F(ArtifactApiTest, NullIsNeverFollowedAndOlderStructsAreReadAsFarAsTheyReach) {
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_artifact_new(nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error.code, TRK_INVALID);
  EXPECT_EQ(trk_artifact_add_file(nullptr, nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_wait(nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_wait_artifacts(nullptr, 0), TRK_INVALID);
  EXPECT_EQ(trk_artifact_get_info(nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_use_artifact(nullptr, "a", nullptr, nullptr), nullptr);
  trk_artifact_free(nullptr);
  const tracker::Run run = open();
  trk_artifact* artifact = trk_artifact_new("a", "t", nullptr);
  EXPECT_EQ(trk_log_artifact(run.c_run(), nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log_artifact(nullptr, artifact, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_add_reference(artifact, "s3://b/c", nullptr, nullptr, nullptr), TRK_OK);
  trk_artifact_options options = TRK_ARTIFACT_OPTIONS_INIT;
  options.size = offsetof(trk_artifact_options, ttl_s);
  options.ttl_s = -5;  // beyond what this caller knows
  ASSERT_EQ(trk_log_artifact(run.c_run(), artifact, &options, nullptr), TRK_OK);
  ASSERT_EQ(trk_artifact_wait(artifact, kLongMs, &error), TRK_OK) << error.message;
  trk_artifact_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.size = offsetof(trk_artifact_info, bytes);
  EXPECT_EQ(trk_artifact_get_info(artifact, &info), TRK_OK);
  EXPECT_EQ(info.version, 0);
  EXPECT_EQ(info.digest[0], 0x5a) << "written beyond what the caller has";
  char small[4];
  EXPECT_EQ(trk_artifact_download(artifact, nullptr, small, sizeof small, &error), TRK_INVALID);
  trk_artifact_free(artifact);
}

}  // namespace
