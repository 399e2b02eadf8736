// SPDX-License-Identifier: MIT
// Goal: the artifacts of a run go with its bundle into another store, whole and checked, or the bundle is refused.
// Method: command lines on a store with one run and one artifact, then on an empty one; blobs damaged in between.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "artifact/artifact_store.h"
#include "artifact/artifact_writer.h"
#include "artifact/lineage.h"
#include "artifact/reference.h"
#include "artifact/registry_documents.h"
#include "cli/commands/bundle_artifacts.h"
#include "support/kill_at_call.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class BundleArtifactsTest : public CliTest {
 protected:
  BundleArtifactsTest() {
    fs::create_directories(files_ + "/sub");
    std::ofstream(files_ + "/one") << "one";
    std::ofstream(files_ + "/sub/two") << std::string(300'000, '2');
    EXPECT_EQ(run({"artifact", "put", files_, "--name", "p/data", "--type", "dataset"}), kExitOk) << err_;
    const auto found = find_artifact(*Store::open(builder_.path()), "data", "p");
    version_ = found->version;
    LineageEdge edge;
    edge.project = "p";
    edge.name = "data";
    edge.type = "dataset";
    edge.number = version_.number;
    edge.content = version_.content;
    edge.manifest = version_.manifest;
    auto writer = builder_.writer(builder_.run("p", "r"), {.attempt = 1});
    writer.log("loss", 0, 1.0).event(EventType::kArtifact, {}, 0, artifact_event(edge));
    writer.end(RunState::kFinished, 0, "", kBuilderStartUs + kSecondUs).finish();
  }
  int export_run() { return run({"export", "p/r", "--bundle", bundle_, "--artifacts"}); }
  int import(std::vector<std::string> more = {}) {
    out_.clear();
    err_.clear();
    std::vector<std::string> arguments{"import", bundle_, "--dir", target_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command_line(console_, arguments);
  }
  std::string blob(const Digest& digest) const { return BlobStore(builder_.path()).path_of(digest); }
  Digest two() const { return sha256(std::string(300'000, '2')); }
  static void overwrite(const std::string& path, const std::string& content) {
    fs::permissions(path, fs::perms::owner_all);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  TempFolder folder_;
  const std::string files_ = folder_.path() + "/files", bundle_ = folder_.path() + "/r.trkb",
                    target_ = folder_.path() + "/target";
  ArtifactVersion version_;
  int calls_ = 0;
};

TEST_F(BundleArtifactsTest, AManifestThatIsTooLargeForABundleIsLeftOutByName) {
  const std::string path = blob(version_.manifest);
  fs::permissions(path, fs::perms::owner_all);
  fs::resize_file(path, kBundleManifestBytesMax + 1);  // no blocks, and nothing of it is read
  ASSERT_EQ(export_run(), kExitOk) << err_;
  EXPECT_NE(err_.find("left out: p/data:v0: its manifest is too large for a bundle"), std::string::npos) << err_;
  fs::remove(bundle_);
  fs::resize_file(path, kBundleManifestBytesMax);
  ASSERT_EQ(export_run(), kExitOk) << err_;
  EXPECT_NE(err_.find("left out: p/data:v0: "), std::string::npos) << err_;
  EXPECT_EQ(err_.find("too large"), std::string::npos) << err_;
}

// All documents were read for each version, so that thousands of them took minutes.
TEST_F(BundleArtifactsTest, AnImportReadsEachVersionOnceHoweverManyThereAre) {
  const Store store = *Store::open(builder_.path());
  const ArtifactRegistry here(store);
  int made = 0;
  const auto calls_for = [&](int versions) {  // so many more of "many" in a run of its own
    ASSERT_TRUE(here.create("p", fmt::format("many{}", versions), "dataset").ok());
    const std::string name = fmt::format("many{}", versions);
    auto writer = ArtifactWriter::open(here, "p", name);
    auto run_writer = builder_.writer(builder_.run("p", name), {.attempt = 1});
    for (int i = 0; i < versions; ++i) {
      ManifestWriter manifest;
      ManifestEntry entry;
      entry.kind = EntryKind::kReference;
      entry.path = "a";
      entry.uri = fmt::format("s3://bucket/{}", ++made);
      ASSERT_TRUE(manifest.add(entry).ok());
      NewVersion version;
      version.totals = manifest.finish();
      const std::string bytes = manifest.take();
      version.manifest = sha256(bytes);
      fs::create_directories(fs::path(blob(version.manifest)).parent_path());
      std::ofstream(blob(version.manifest)) << bytes;
      bool is_new = false;
      const auto added = writer->add(version, &is_new);
      ASSERT_TRUE(added.ok() && is_new);
      ArtifactMark mark;
      mark.of = added->number;
      mark.aliases_added = {fmt::format("alias {}", i)};
      ASSERT_TRUE(writer->mark(mark).ok());
      LineageEdge edge;
      edge.use = ArtifactUse::kOutput;
      edge.project = "p";
      edge.name = name;
      edge.type = "dataset";
      edge.number = added->number;
      edge.content = added->content;
      edge.manifest = added->manifest;
      run_writer.event(EventType::kArtifact, {}, i, artifact_event(edge));
    }
    run_writer.log("loss", 0, 1.0).end(RunState::kFinished, 0, "", kBuilderStartUs + kSecondUs).finish();
    fs::remove(bundle_);
    ASSERT_EQ(run({"export", "p/" + name, "--bundle", bundle_, "--artifacts"}), kExitOk) << err_;
    calls_ = calls_of([this] { return import(); });
    const auto there = ArtifactRegistry(*Store::open(target_)).read("p", name);
    ASSERT_TRUE(there.ok());
    ASSERT_EQ(there->versions.size(), static_cast<size_t>(versions));
    EXPECT_EQ((*there->find("alias 1"))->content, (*here.read("p", name)->find("alias 1"))->content);
  };
  calls_for(10);
  const int few = calls_;
  calls_for(40);
  std::printf("%d system calls for 10 versions, %d for 40\n", few, calls_);
  EXPECT_LT(calls_, 4 * few);  // each costs the same, and the first import makes the store
}

TEST_F(BundleArtifactsTest, WhatIsSaidOfAVersionGoesAlongAndMovesNoAliasThere) {
  const ArtifactRegistry here(*Store::open(builder_.path()));
  ArtifactMark said;
  said.aliases_added = {"best", "prod"};
  said.tags_added = {"clean"};
  said.ttl_s = 3600;
  ASSERT_TRUE(here.mark("p", "data", said).ok());
  for (int i = 0; i < 2; ++i) {  // more than a mark holds
    said = {};
    for (int k = 0; k < 50; ++k) said.tags_added.push_back("t" + std::to_string(100 * i + k));
    ASSERT_TRUE(here.mark("p", "data", said).ok());
  }
  const ArtifactVersion was = here.read("p", "data")->versions[0];
  // There "prod" is another version already.
  const auto store = Store::open_or_create(target_);
  const ArtifactRegistry there(*store);
  ASSERT_TRUE(there.create("p", "data", "dataset").ok());
  bool is_new = false;
  ASSERT_TRUE(there.add("p", "data", {}, &is_new).ok());
  said = {};
  said.aliases_added = {"prod"};
  ASSERT_TRUE(there.mark("p", "data", said).ok());

  ASSERT_EQ(export_run(), kExitOk) << err_;
  EXPECT_EQ(err_.find("left out"), std::string::npos) << err_;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(import(), kExitOk) << err_;
    EXPECT_NE(err_.find("left out: 1 aliases that name another version here"), std::string::npos) << err_;
    const auto info = there.read("p", "data");
    ASSERT_EQ(info->versions.size(), 2u);
    EXPECT_EQ(info->versions[0].aliases, std::vector<std::string>{"prod"});
    EXPECT_EQ(info->versions[1].aliases, (std::vector<std::string>{"best", "latest"}));
    EXPECT_EQ(info->versions[1].tags, was.tags);
    EXPECT_EQ(was.tags.size(), 101u);
    EXPECT_LE(std::abs(*info->versions[1].expires_us - *was.expires_us), 1'000'000);
    EXPECT_EQ(info->marks.size(), 3u) << "the second import says nothing new";
  }
}

TEST_F(BundleArtifactsTest, AnArtifactGoesWithItsRunIntoAnotherStore) {
  ASSERT_EQ(export_run(), kExitOk) << err_;
  ASSERT_EQ(import(), kExitOk) << err_;
  EXPECT_NE(out_.find("artifact p/data:v0\n"), std::string::npos) << out_;
  const auto store = Store::open(target_);
  const auto found = find_artifact(*store, "data", "p");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->version.content, version_.content);
  EXPECT_EQ(found->info.type, "dataset");
  EXPECT_TRUE(verify_artifact(*store, found->version, true)->empty());
  const std::string out = folder_.path() + "/out";
  ASSERT_TRUE(download_artifact(*store, found->version, out).ok());
  std::stringstream two;
  two << std::ifstream(out + "/sub/two").rdbuf();
  EXPECT_EQ(two.str(), std::string(300'000, '2'));
  const auto folder = store->find_run("p", "r");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(edges_of_run(*folder).size(), 1u);
  EXPECT_FALSE(fs::exists(folder->path + "/blobs") || fs::exists(folder->path + "/artifacts"));
}

// Bug: it was searched for by the number that it had where the run was recorded, and left out as if it was not there.
TEST_F(BundleArtifactsTest, AnArtifactThatHasAnotherNumberThereGoesOnFromThatStoreToo) {
  const auto store = Store::open_or_create(target_);
  const ArtifactRegistry there(*store);
  ASSERT_TRUE(there.create("p", "data", "dataset").ok());
  bool is_new = false;
  ASSERT_TRUE(there.add("p", "data", {}, &is_new).ok());
  ASSERT_EQ(export_run(), kExitOk) << err_;
  ASSERT_EQ(import(), kExitOk) << err_;
  const auto artifacts = artifacts_for_bundle(*store, *store->find_run("p", "r"));
  ASSERT_TRUE(artifacts.ok());
  EXPECT_TRUE(artifacts->left_out.empty()) << artifacts->left_out.front();
  EXPECT_EQ(artifacts->names, std::vector<std::string>{"p/data:v1"});
}

TEST_F(BundleArtifactsTest, ASecondImportAddsNothingAndOneBehindARunAloneAddsTheArtifacts) {
  ASSERT_EQ(run({"export", "p/r", "--bundle", bundle_}), kExitOk) << err_;
  ASSERT_EQ(import(), kExitOk) << err_;
  EXPECT_FALSE(find_artifact(*Store::open(target_), "data", "p").ok());
  ASSERT_EQ(export_run(), kExitOk) << err_;
  ASSERT_EQ(import(), kExitOk) << err_;
  EXPECT_NE(out_.find("artifact p/data:v0\n"), std::string::npos) << out_;
  ASSERT_EQ(import({"--json"}), kExitOk) << err_;
  EXPECT_NE(out_.find("\"artifacts\": []"), std::string::npos) << out_;
  EXPECT_EQ(find_artifact(*Store::open(target_), "data", "p")->info.versions.size(), 1u);
}

TEST_F(BundleArtifactsTest, ABlobOfOtherBytesThanItsDigestLeavesTheStoreAsItWas) {
  overwrite(blob(two()), std::string(300'000, '3'));
  ASSERT_EQ(export_run(), kExitOk) << err_;
  EXPECT_EQ(import(), kExitDamaged);
  EXPECT_NE(err_.find(two().hex()), std::string::npos) << err_;
  EXPECT_FALSE(fs::exists(target_ + "/blobs") || fs::exists(target_ + "/artifacts"));
  EXPECT_TRUE(Store::open(target_)->list_runs().empty());
}

TEST_F(BundleArtifactsTest, WhatIsNotInTheStoreAnyMoreIsNamedAndLeftOut) {
  fs::remove(blob(two()));
  ASSERT_EQ(export_run(), kExitOk);
  EXPECT_NE(err_.find("left out: p/data:v0: sub/two is not whole"), std::string::npos) << err_;
  ASSERT_EQ(import(), kExitOk) << err_;
  EXPECT_FALSE(find_artifact(*Store::open(target_), "data", "p").ok());
}

// Bug: exit code 3, which says that the bundle is damaged.
TEST_F(BundleArtifactsTest, ANameThatHasAnotherTypeThereIsAProblemAndTheRunIsStored) {
  ASSERT_EQ(export_run(), kExitOk) << err_;
  const auto store = Store::open_or_create(target_);
  ASSERT_TRUE(ArtifactRegistry(*store).create("p", "data", "model").ok());
  EXPECT_EQ(import(), kExitFailed);
  EXPECT_NE(err_.find("p/data was left out"), std::string::npos) << err_;
  EXPECT_TRUE(store->find_run("p", "r").has_value());
}

TEST_F(BundleArtifactsTest, DocumentsThatDoNotFitTheirManifestAreRefused) {
  const auto artifacts =
      artifacts_for_bundle(*Store::open(builder_.path()), *Store::open(builder_.path())->find_run("p", "r"));
  ASSERT_TRUE(artifacts.ok());
  const RunFolder run_folder = *Store::open(builder_.path())->find_run("p", "r");
  const auto without = [&](const std::string& part) {
    std::vector<BundleExtra> files;
    for (const BundleExtra& file : artifacts->files)
      if (file.name.find(part) == std::string::npos) files.push_back(file);
    EXPECT_EQ(files.size() + 1, artifacts->files.size()) << part;
    EXPECT_TRUE(export_bundle(run_folder, bundle_, files).ok());
    return import();
  };
  EXPECT_EQ(without(version_.manifest.hex()), kExitDamaged);
  EXPECT_EQ(without(two().hex()), kExitDamaged);
  EXPECT_EQ(without("-v0.json"), kExitDamaged);
  EXPECT_EQ(without("artifacts/0.json"), kExitDamaged);
  EXPECT_FALSE(fs::exists(target_ + "/blobs") || fs::exists(target_ + "/artifacts"));
}

TEST_F(BundleArtifactsTest, ARunOfAsManyVersionsAsTheLimitHasABundleAndOneOfMoreIsRefused) {
  const auto store = Store::open(builder_.path());
  ArtifactVersion version = version_;
  auto writer = builder_.writer(*store->find_run("p", "r"), {.attempt = 2});
  const auto make = [&](int64_t number) {  // without the fsyncs of a registry
    version.number = number;
    version.content.bytes[0] = static_cast<uint8_t>(number);
    version.content.bytes[1] = static_cast<uint8_t>(number >> 8);
    version.content.bytes[2] = 1;
    std::ofstream(fmt::format("{}/artifacts/p/data/v{}.json", store->path(), number)) << version_document(version);
    LineageEdge edge;
    edge.project = "p";
    edge.name = "data";
    edge.number = number;
    edge.content = version.content;
    edge.manifest = version.manifest;
    writer.event(EventType::kArtifact, {}, 0, artifact_event(edge));
  };
  for (size_t i = 1; i < kBundleArtifactsMax; ++i) make(static_cast<int64_t>(i));
  writer.commit();
  auto artifacts = artifacts_for_bundle(*store, *store->find_run("p", "r"));
  ASSERT_TRUE(artifacts.ok()) << artifacts.status().to_string();
  EXPECT_EQ(artifacts->names.size(), kBundleArtifactsMax);
  make(kBundleArtifactsMax);
  writer.finish();
  EXPECT_EQ(artifacts_for_bundle(*store, *store->find_run("p", "r")).status().code(), Code::kLimit);
  EXPECT_EQ(export_run(), kExitFailed);
  EXPECT_NE(err_.find("more than 10000 versions"), std::string::npos) << err_;
  EXPECT_FALSE(fs::exists(bundle_));
}

// Bug: a bundle of one more was let in.
TEST_F(BundleArtifactsTest, ABundleThatSaysMoreVersionsThanTheLimitIsRefused) {
  const std::string below = folder_.path() + "/new/artifacts";
  fs::create_directories(below);
  const auto add = [&below](size_t i) {
    std::ofstream(fmt::format("{}/{}.json", below, i)) << artifact_document("p", "data", "dataset", kBuilderStartUs);
  };
  const auto said = [&] {
    ImportReport report;
    return take_bundled_artifacts(*Store::open(builder_.path()), folder_.path() + "/new", {}, &report).to_string();
  };
  for (size_t i = 0; i < kBundleArtifactsMax; ++i) add(i);
  EXPECT_NE(said().find("is no artifact with a version"), std::string::npos) << said();  // it was read to its end
  add(kBundleArtifactsMax);
  EXPECT_NE(said().find("too many of them"), std::string::npos) << said();
}

TEST_F(BundleArtifactsTest, ArtifactsAloneAreNoBundle) {
  EXPECT_EQ(run({"export", "p/r", "--artifacts"}), kExitUsage);
  EXPECT_NE(err_.find("--bundle"), std::string::npos) << err_;
}

}  // namespace
}  // namespace tracker::internal
