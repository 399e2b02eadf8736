// SPDX-License-Identifier: MIT
// Goal: artifacts through the C ABI and the C++ header do what their comments say, and misuse returns a code and a
// line. Method: through the shared library, in a store of their own.
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

TEST_F(ArtifactApiTest, AVersionSaysItsFilesFetchesOneAndIsVerified) {
  const tracker::Run run = open();
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk);
  ASSERT_EQ(data.add_reference("s3://bucket/big.tar", "big", "etag:1"), Code::kOk);
  EXPECT_TRUE(data.list_files().empty());
  EXPECT_EQ(data.code(), Code::kInvalid) << "it is not stored";
  EXPECT_EQ(data.verify(), Code::kInvalid);
  ASSERT_EQ(run.log_artifact(data), Code::kOk);
  ASSERT_EQ(data.wait(), Code::kOk) << data.error();
  Artifact used = run.use_artifact("data");
  for (Artifact* each : {&data, &used}) {
    const auto files = each->list_files();
    ASSERT_EQ(each->code(), Code::kOk) << each->error();
    ASSERT_EQ(files.size(), 3u);
    EXPECT_EQ(files[0].path, "big");
    EXPECT_EQ(files[0].uri, "s3://bucket/big.tar");
    EXPECT_EQ(files[0].checksum, "etag:1");
    EXPECT_TRUE(files[0].digest.empty());
    EXPECT_EQ(files[2].path, "sub/two");
    EXPECT_EQ(files[2].bytes, 3u);
    EXPECT_EQ(files[2].digest.size(), 64u);
    const std::string two = each->get_path("sub/two");
    EXPECT_EQ(content(two), "two") << each->error();
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(two).parent_path().parent_path() / "one"));
    EXPECT_EQ(each->get_path("none"), "");
    EXPECT_EQ(each->code(), Code::kNotFound);
    EXPECT_EQ(each->get_path("big"), "");
    EXPECT_NE(each->error().find("s3://bucket/big.tar"), std::string::npos) << each->error();
    EXPECT_EQ(each->verify(), Code::kOk) << each->error();
    std::filesystem::remove_all(dir_ + "/downloads");
  }
  int shown = 0;
  const auto one_is_enough = [](const trk_artifact_file*, void* count) { return ++*static_cast<int*>(count); };
  EXPECT_EQ(trk_artifact_visit_files(used.c_artifact(), one_is_enough, &shown, nullptr), TRK_OK);
  EXPECT_EQ(shown, 1);
  const std::string digest = used.list_files()[1].digest;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/blobs")) {
    if (!entry.is_regular_file() || entry.path().string().find(digest.substr(2, 8)) == std::string::npos) continue;
    std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
    std::ofstream(entry.path()) << "onE";
  }
  EXPECT_EQ(used.verify(), Code::kCorrupt) << "a changed byte was not seen";
  EXPECT_NE(used.error().find("one"), std::string::npos) << used.error();
}

TEST_F(ArtifactApiTest, RunsAndVersionsNameEachOther) {
  tracker::Run maker = open();
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk);
  ASSERT_EQ(maker.log_artifact(data), Code::kOk);
  ASSERT_EQ(data.wait(), Code::kOk) << data.error();
  const tracker::Run user = tracker::init({.project = "other", .dir = dir_, .quiet = true});
  Artifact used = user.use_artifact("p/data", "train");
  ASSERT_TRUE(used.ok()) << used.error();
  ASSERT_TRUE(maker.flush(std::chrono::milliseconds(kLongMs)));
  ASSERT_TRUE(user.flush(std::chrono::milliseconds(kLongMs)));
  const auto outputs = maker.outputs(), inputs = user.inputs();
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_TRUE(maker.inputs().empty());
  EXPECT_TRUE(user.outputs().empty());
  EXPECT_EQ(outputs[0].name, "p/data:v0");
  EXPECT_FALSE(outputs[0].is_input);
  EXPECT_EQ(outputs[0].run_uid, maker.uid());
  EXPECT_EQ(inputs[0].name, "p/data:v0");
  EXPECT_EQ(inputs[0].type, "dataset");
  EXPECT_EQ(inputs[0].use_as, "train");
  EXPECT_EQ(inputs[0].digest, data.digest());
  EXPECT_GT(inputs[0].time.count(), 1'700'000'000'000'000);
  for (Artifact* each : {&data, &used}) {
    const auto made = each->logged_by(), users = each->used_by();
    ASSERT_EQ(each->code(), Code::kOk) << each->error();
    ASSERT_EQ(made.size(), 1u);
    ASSERT_EQ(users.size(), 1u);
    EXPECT_EQ(made[0].run_id, maker.id());
    EXPECT_EQ(users[0].run_project, "other");
    EXPECT_EQ(users[0].run_uid, user.uid());
  }
}

// Found by the fuzzer of the C ABI: text that is not UTF-8 became the key of an event, and readers reported the table
// of config and summary as damaged.
TEST_F(ArtifactApiTest, ThePartThatAnInputPlaysIsALabelOrTheCallSaysSo) {
  const tracker::Run run = open();
  Artifact data("data", "dataset");
  ASSERT_EQ(data.add_dir(data_), Code::kOk);
  ASSERT_EQ(run.log_artifact(data), Code::kOk);
  ASSERT_EQ(data.wait(), Code::kOk) << data.error();
  for (const std::string& bad : {std::string("\xff\xfe"), std::string("a\nb"), std::string(257, 'x')}) {
    const Artifact used = run.use_artifact("data", bad);
    EXPECT_EQ(used.code(), Code::kInvalid);
    EXPECT_NE(used.error().find("use_as"), std::string::npos) << used.error();
    Artifact again("data", "dataset");
    ASSERT_EQ(again.add_dir(data_), Code::kOk);
    EXPECT_EQ(run.log_artifact(again, {.use_as = bad}), Code::kInvalid);
  }
  EXPECT_TRUE(run.use_artifact("data", std::string(256, 'x')).ok());
  ASSERT_TRUE(run.flush(std::chrono::milliseconds(kLongMs)));
  EXPECT_EQ(run.inputs().size(), 1u);
}

TEST_F(ArtifactApiTest, ANewFileIsWrittenIntoTheStoreAndIsAsItIsWhenTheArtifactIsLogged) {
  const tracker::Run run = open();
  const std::string staging = dir_ + "/staging";
  Artifact model("model", "model");
  const std::string weights = model.new_file(run, "net/weights.bin");
  ASSERT_FALSE(weights.empty()) << model.error();
  EXPECT_EQ(weights.compare(0, staging.size(), staging), 0) << weights;
  EXPECT_EQ(model.new_file(run, "net/weights.bin"), "");
  EXPECT_EQ(model.code(), Code::kExists);
  EXPECT_EQ(model.new_file(run, "net/"), "");
  EXPECT_EQ(model.code(), Code::kInvalid);
  EXPECT_EQ(model.new_file(run, "../out"), "");
  const std::string dropped = model.new_file(run, "dropped");
  EXPECT_EQ(model.files(), 2u);
  EXPECT_EQ(model.remove("dropped"), Code::kOk) << model.error();
  EXPECT_FALSE(std::filesystem::exists(dropped));
  ASSERT_EQ(model.add_file(data_ + "/one"), Code::kOk);
  std::ofstream(weights) << "weights";
  EXPECT_EQ(run.log_artifact(model, {.aliases = {"v3"}}), Code::kInvalid) << "no such alias; it may be logged again";
  ASSERT_EQ(run.log_artifact(model), Code::kOk) << model.error();
  ASSERT_EQ(model.wait(), Code::kOk) << model.error();
  EXPECT_EQ(content(model.get_path("net/weights.bin")), "weights") << model.error();
  EXPECT_EQ(model.files(), 2u);
  EXPECT_FALSE(std::filesystem::exists(weights)) << "the copy of it was left";
  EXPECT_EQ(run.log_artifact(model), Code::kInvalid);
  EXPECT_EQ(model.new_file(run, "more"), "");
}

TEST_F(ArtifactApiTest, NewFilesOfAnArtifactThatIsNeverStoredGoWithIt) {
  const tracker::Run run = open(), disabled = open("disabled");
  for (const tracker::Run* each : {&run, &disabled}) {
    std::string file;
    {
      Artifact model("model", "model");
      file = model.new_file(*each, "weights");
      ASSERT_TRUE(std::filesystem::exists(file)) << model.error();
      if (each == &disabled) {
        EXPECT_EQ(each->log_artifact(model), Code::kOk) << model.error();
      }
    }
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(file).parent_path()));
  }
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
  const auto no_file = [](const trk_artifact_file*, void*) { return int32_t{0}; };
  const auto no_use = [](const trk_artifact_use*, void*) { return int32_t{0}; };
  EXPECT_EQ(trk_artifact_visit_files(nullptr, no_file, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_visit_runs(nullptr, no_use, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_run_visit_artifacts(nullptr, no_use, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_get_path(nullptr, nullptr, nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_verify(nullptr, 1, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_new_file(nullptr, nullptr, nullptr, nullptr, 0, nullptr), TRK_INVALID);
  trk_artifact_free(nullptr);
  const tracker::Run run = open();
  trk_artifact* artifact = trk_artifact_new("a", "t", nullptr);
  EXPECT_EQ(trk_log_artifact(run.c_run(), nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log_artifact(nullptr, artifact, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_add_reference(artifact, "s3://b/c", nullptr, nullptr, nullptr), TRK_OK);
  trk_artifact_options options = TRK_ARTIFACT_OPTIONS_INIT;
  options.size = offsetof(trk_artifact_options, ttl_s);
  options.ttl_s = -5;  // after the last field that this caller knows
  ASSERT_EQ(trk_log_artifact(run.c_run(), artifact, &options, nullptr), TRK_OK);
  ASSERT_EQ(trk_artifact_wait(artifact, kLongMs, &error), TRK_OK) << error.message;
  trk_artifact_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.size = offsetof(trk_artifact_info, bytes);
  EXPECT_EQ(trk_artifact_get_info(artifact, &info), TRK_OK);
  EXPECT_EQ(info.version, 0);
  EXPECT_EQ(info.digest[0], 0x5a) << "written beyond what the caller has";
  EXPECT_EQ(trk_artifact_visit_files(artifact, nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_run_visit_artifacts(run.c_run(), nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_artifact_get_path(artifact, nullptr, nullptr, 0, nullptr), TRK_NOT_FOUND);
  trk_artifact* made = trk_artifact_new("b", "t", nullptr);
  EXPECT_EQ(trk_artifact_new_file(run.c_run(), made, "x", nullptr, 99, &error), TRK_INVALID);
  EXPECT_EQ(trk_artifact_new_file(run.c_run(), made, nullptr, error.message, 8, &error), TRK_INVALID);
  trk_artifact_free(made);
  char small[4];
  EXPECT_EQ(trk_artifact_download(artifact, nullptr, small, sizeof small, &error), TRK_INVALID);
  trk_artifact_free(artifact);
}

}  // namespace
