// SPDX-License-Identifier: MIT
// Goal: tracker artifact brings files into a store and out of it, names and traces them; show, verify and gc know of
// them. Method: command lines on a store of their own, runs written by hand.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "artifact/artifact_store.h"
#include "artifact/lineage.h"
#include "cli/commands/artifact_command.h"
#include "cli/commands/verify_media.h"
#include "storage/verify/verify.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;

class ArtifactCommandTest : public CliTest {
 protected:
  ArtifactCommandTest() {
    fs::create_directories(files_ + "/sub");
    write("one", "one");
    write("sub/two", "two");
    console_.now_us = 0;  // as the program's own
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    console_.now_us = now.tv_sec * kSecondUs;
  }
  void write(const std::string& name, const std::string& content) { std::ofstream(files_ + "/" + name) << content; }
  int put(const std::string& name = "data") {
    return run({"artifact", "put", files_, "--name", "p/" + name, "--type", "dataset", "--alias", "best"});
  }
  LineageEdge edge(ArtifactUse use, const std::string& name) {
    LineageEdge out;
    const auto store = Store::open(builder_.path());
    const auto found = find_artifact(*store, name, "p");
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    out.use = use;
    out.project = found->info.project;
    out.name = found->info.name;
    out.type = found->info.type;
    out.number = found->version.number;
    out.content = found->version.content;
    out.manifest = found->version.manifest;
    return out;
  }
  void write_run(const std::string& id, const std::vector<LineageEdge>& edges) {
    const RunFolder folder = builder_.run("p", id);
    auto writer = builder_.writer(folder, {.attempt = 1});
    for (const LineageEdge& each : edges) writer.event(EventType::kArtifact, {}, 0, artifact_event(each));
    writer.end(RunState::kFinished, 0, "", kBuilderStartUs + kSecondUs).finish();
  }
  TempFolder folder_;
  const std::string files_ = folder_.path() + "/files";
};

TEST_F(ArtifactCommandTest, WhatIsPutIsListedShownAndGot) {
  ASSERT_EQ(put(), kExitOk) << err_;
  EXPECT_EQ(out_, "p/data:v0  2 files, 6 B\n");
  ASSERT_EQ(put(), kExitOk);
  EXPECT_NE(out_.find("this content was there already"), std::string::npos);
  ASSERT_EQ(run({"artifact", "ls"}), kExitOk);
  EXPECT_NE(out_.find("p/data    v0       dataset  best, latest      2   6 B"), std::string::npos) << out_;
  ASSERT_EQ(run({"artifact", "show", "p/data:best"}), kExitOk);
  EXPECT_NE(out_.find("sub/two"), std::string::npos) << out_;
  // A name alone is found in the one project that has it.
  ASSERT_EQ(run({"artifact", "get", "data", folder_.path() + "/out"}), kExitOk) << err_;
  EXPECT_TRUE(fs::exists(folder_.path() + "/out/sub/two"));
  ASSERT_EQ(run({"artifact", "verify", "data", "--deep"}), kExitOk);
  EXPECT_EQ(out_, "p/data:v0 is intact: every byte was read.\n");
  ASSERT_EQ(run({"artifact", "ls", "p/data", "--json"}), kExitOk);
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("versions")->as_list()->size(), 1u);
}

// Bug: metadata was one line of JSON, cut at the terminal's edge or longer than it.
TEST_F(ArtifactCommandTest, MetadataIsShownALineAValueInAColumn) {
  const auto store = Store::open_or_create(builder_.path());
  ArtifactDraft draft = *ArtifactDraft::make("data", "dataset");
  ASSERT_TRUE(draft.add_file(files_ + "/one", "").ok());
  draft.metadata =
      Value::Map{{"rows", 60000}, {"split", Value::Map{{"train", 0.9}, {"test", "x\x1b[31m"}}}, {"long_name", "y"}};
  StoreArtifactOptions options;
  options.free_bytes_min = 1;
  ASSERT_TRUE(store_artifact(*store, "p", draft, options).ok());
  ASSERT_EQ(run({"artifact", "show", "p/data"}), kExitOk) << err_;
  EXPECT_NE(out_.find("Metadata\n  rows       60000\n  split\n    train  0.9\n    test   x"), std::string::npos)
      << out_;
  EXPECT_NE(out_.find("\n  long_name  y\n"), std::string::npos) << out_;
  EXPECT_EQ(out_.find('\x1b'), std::string::npos);
  EXPECT_EQ(out_.find('{'), std::string::npos) << out_;
}

TEST_F(ArtifactCommandTest, AliasesMoveAndTagsComeAndGo) {
  ASSERT_EQ(put(), kExitOk);
  write("one", "changed");
  ASSERT_EQ(run({"artifact", "put", files_, "--name", "p/data"}), kExitOk) << err_;
  ASSERT_EQ(run({"artifact", "alias", "p/data:v1", "best"}), kExitOk) << err_;
  EXPECT_EQ(out_, "p/data:v1  aliases: best, latest\n");
  ASSERT_EQ(run({"artifact", "tag", "p/data:v0", "old"}), kExitOk);
  EXPECT_EQ(out_, "p/data:v0  tags: old\n");
  ASSERT_EQ(run({"artifact", "tag", "p/data:v0", "--remove", "old"}), kExitOk);
  EXPECT_EQ(out_, "p/data:v0  tags: \n");
  EXPECT_EQ(run({"artifact", "alias", "p/data"}), kExitUsage);
  EXPECT_EQ(run({"artifact", "alias", "p/data", "v7"}), kExitUsage);
}

TEST_F(ArtifactCommandTest, WhatIsWrongIsSaidWithItsExitCode) {
  ASSERT_EQ(put(), kExitOk);
  EXPECT_EQ(run({"artifact", "show", "p/dato"}), kExitFailed);
  EXPECT_NE(err_.find("did you mean data?"), std::string::npos) << err_;
  EXPECT_EQ(run({"artifact", "show", "p/data:"}), kExitUsage);
  EXPECT_EQ(run({"artifact", "put", "/dev/null", "--name", "n"}), kExitUsage);
  EXPECT_EQ(run({"artifact"}), kExitUsage);
  EXPECT_EQ(run({"artifact", "nonsense"}), kExitUsage);
  EXPECT_EQ(run({"artifact", "lineage", "nothing"}), kExitFailed);
  ASSERT_EQ(run({"artifact", "put", files_, "--name", "q/data"}), kExitOk) << err_;
  EXPECT_EQ(run({"artifact", "show", "data"}), kExitUsage);
  EXPECT_NE(err_.find("is in the projects p, q"), std::string::npos) << err_;
}

TEST_F(ArtifactCommandTest, ADamagedFileIsFoundByEachThatLooks) {
  ASSERT_EQ(put(), kExitOk);
  for (const auto& entry : fs::recursive_directory_iterator(builder_.path() + "/blobs/sha256"))
    if (entry.is_regular_file() && entry.file_size() == 3) {
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
      std::ofstream(entry.path()) << "bad";
    }
  EXPECT_EQ(run({"artifact", "verify", "p/data"}), kExitOk) << out_;
  EXPECT_EQ(run({"artifact", "verify", "p/data", "--deep"}), kExitDamaged);
  EXPECT_EQ(run({"artifact", "get", "p/data", folder_.path() + "/out"}), kExitDamaged);
  EXPECT_EQ(run({"verify"}), kExitOk) << out_;
  EXPECT_NE(out_.find("1 artifact"), std::string::npos) << out_;
  EXPECT_EQ(run({"verify", "--deep"}), kExitDamaged);
  EXPECT_NE(out_.find("damage artifact  p/data:v0"), std::string::npos) << out_;
}

// They were dropped without a word, so that an artifact without any of its files had "10000 damages".
TEST_F(ArtifactCommandTest, FindingsOfOneVersionBeyondTheLimitAreCounted) {
  const Store store = *Store::open_or_create(builder_.path());
  ManifestWriter writer;
  NewVersion version;
  for (size_t i = 0; i < kFindingsMax + 5; ++i) {
    ManifestEntry entry;
    entry.path = fmt::format("{:06}", i);
    entry.bytes = 1;
    entry.digest = sha256(entry.path);
    ASSERT_TRUE(writer.add(entry).ok());
  }
  version.totals = writer.finish();
  const std::string manifest = writer.take();
  version.manifest = sha256(manifest);
  const std::string path = BlobStore(store.path()).path_of(version.manifest);
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << manifest;
  const ArtifactRegistry registry(store);
  ASSERT_TRUE(registry.create("p", "data", "dataset").ok());
  bool is_new = false;
  ASSERT_TRUE(registry.add("p", "data", version, &is_new).ok());

  EXPECT_EQ(run({"artifact", "verify", "p/data", "--json"}), kExitDamaged) << err_;
  auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("findings")->as_list()->size(), kFindingsMax);
  EXPECT_EQ(json->int_or("left_out", -1), 5);
  EXPECT_EQ(run({"artifact", "verify", "p/data"}), kExitDamaged);
  EXPECT_TRUE(out_.ends_with("\n5 more findings not shown.\n")) << out_.substr(out_.size() - 100);

  EXPECT_EQ(run({"verify", "--json"}), kExitDamaged) << err_;
  json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("findings")->as_list()->size(), kFindingsMax);
  EXPECT_EQ(json->int_or("left_out", -1), 5);
  EXPECT_EQ(json->int_or("damages", -1), kFindingsMax + 5);
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_NE(out_.find("\n5 more findings not shown.\n10,005 damages found;"), std::string::npos)
      << out_.substr(out_.size() - 200);
}

TEST_F(ArtifactCommandTest, VerifySaysHowFarItIsWithArtifactsAndMedia) {
  using Step = std::pair<uint64_t, uint64_t>;
  ASSERT_EQ(put("data") + put("other"), kExitOk) << err_;
  for (const bool deep : {false, true}) {
    std::vector<Step> steps;
    VerifyReport report;
    uint64_t versions = 0;
    verify_artifacts(builder_.path(), deep, &report, &versions,
                     [&steps](uint64_t done, uint64_t total) { steps.emplace_back(done, total); });
    ASSERT_GE(steps.size(), 4u);
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
    EXPECT_EQ(steps.back(), deep ? Step(12, 12) : Step(4, 4)) << "bytes, or files";
  }
  const RunFolder folder = builder_.run("p", "r");
  for (const char* name : {"aa", "bb"}) {
    fs::create_directories(folder.path + "/media/" + name);
    std::ofstream(folder.path + "/media/" + name + "/file.png") << name;
  }
  std::vector<Step> files;
  VerifyReport report;
  verify_media(folder.path, &report, [&files](uint64_t done, uint64_t total) { files.emplace_back(done, total); });
  EXPECT_EQ(files, (std::vector<Step>{{1, 2}, {2, 2}}));
}

TEST_F(ArtifactCommandTest, ALineageIsATreeBothWays) {
  ASSERT_EQ(put("data"), kExitOk);
  write("one", "a model");
  ASSERT_EQ(put("model"), kExitOk);
  LineageEdge used = edge(ArtifactUse::kInput, "data");
  used.use_as = "train";
  write_run("trainer", {used, edge(ArtifactUse::kOutput, "model")});
  write_run("tester", {edge(ArtifactUse::kInput, "model")});
  ASSERT_EQ(run({"artifact", "lineage", "p/model:best"}), kExitOk) << err_;
  EXPECT_EQ(out_, "p/model:v0\n  made by p/trainer\n    used p/data:v0 as train\n  used by p/tester\n");
  ASSERT_EQ(run({"artifact", "lineage", "trainer"}), kExitOk);
  EXPECT_EQ(out_, "p/trainer\n  used p/data:v0 as train\n  made p/model:v0\n    used by p/tester\n");
  ASSERT_EQ(run({"artifact", "lineage", "trainer", "--json"}), kExitOk);
  EXPECT_EQ(from_json(out_)->find("edges")->as_list()->size(), 3u) << out_;
  ASSERT_EQ(run({"show", "p/trainer"}), kExitOk);
  EXPECT_NE(out_.find("Artifacts\n  used  p/data:v0  dataset, as train\n  made  p/model:v0  dataset\n"),
            std::string::npos)
      << out_;
  ASSERT_EQ(run({"show", "p/trainer", "--json"}), kExitOk);
  EXPECT_EQ(from_json(out_)->find("inputs")->as_list()->size(), 1u);
}

TEST_F(ArtifactCommandTest, ATreeOfManyUsesIsCutAndSaysSo) {
  ASSERT_EQ(put("data"), kExitOk);
  std::vector<LineageEdge> edges;
  for (size_t i = 0; i < kLineageTreeLinesMax + 5; ++i) {
    edges.push_back(edges.empty() ? edge(ArtifactUse::kInput, "data") : edges.front());
    edges.back().use_as = std::to_string(i);
  }
  write_run("user", edges);
  ASSERT_EQ(run({"artifact", "lineage", "user"}), kExitOk);
  EXPECT_NE(out_.find("and 5 lines more; --json has all\n"), std::string::npos) << out_.substr(out_.size() - 100);
}

TEST_F(ArtifactCommandTest, ATreeEndsAtItsDepth) {
  const int longest = kLineageTreeDepth / 2 + 2;
  for (int i = 0; i < longest; ++i) {
    write("one", std::to_string(i));
    const std::string name = "a" + std::to_string(i);
    ASSERT_EQ(put(name), kExitOk);
    std::vector<LineageEdge> edges{edge(ArtifactUse::kOutput, name)};
    if (i > 0) edges.push_back(edge(ArtifactUse::kInput, "a" + std::to_string(i - 1)));
    write_run("r" + std::to_string(i), edges);
  }
  ASSERT_EQ(run({"artifact", "lineage", "p/a" + std::to_string(longest - 1)}), kExitOk);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 1 + kLineageTreeDepth) << out_;
}

TEST_F(ArtifactCommandTest, GcRemovesWhatNothingRefersTo) {
  ASSERT_EQ(put(), kExitOk);
  const std::string lost = builder_.path() + "/blobs/sha256/ab/" + std::string(62, 'c');
  fs::create_directories(fs::path(lost).parent_path());
  std::ofstream(lost) << "lost";
  const std::string staged = builder_.path() + "/staging/artifact-12345678";
  fs::create_directories(staged);
  std::ofstream(staged + "/file-1") << "of a dead process";
  std::ofstream(builder_.path() + "/staging/lock") << "";  // which that process held a byte of
  ASSERT_EQ(run({"gc"}), kExitOk);
  EXPECT_TRUE(fs::exists(staged + "/file-1")) << "it may be written now";
  console_.now_us += 2 * 86'400 * kSecondUs;
  ASSERT_EQ(run({"gc", "--dry-run"}), kExitOk) << err_;
  EXPECT_NE(out_.find("would remove blob"), std::string::npos) << out_;
  ASSERT_TRUE(fs::exists(lost));
  ASSERT_EQ(run({"gc"}), kExitOk) << err_;
  EXPECT_FALSE(fs::exists(lost));
  EXPECT_FALSE(fs::exists(staged));
  ASSERT_EQ(run({"artifact", "verify", "p/data", "--deep"}), kExitOk) << out_;
}

TEST_F(ArtifactCommandTest, GcSaysHowFarItIsWithBlobsManifestsAndTheRunsThatMayGo) {
  ASSERT_EQ(put(), kExitOk);
  write_run("r", {});
  console_.now_us += 2 * 86'400 * kSecondUs;
  console_.progress = true;
  console_.progress_after_ns = 0;
  ASSERT_EQ(run({"gc", "--max-disk", "1", "--unsynced"}), kExitFailed) << out_ << "the artifact stays";
  for (const char* const bar : {"listing blobs, folders [", "reading manifests [", "making room, runs ["})
    EXPECT_NE(err_.find(bar), std::string::npos) << bar << err_;
  EXPECT_TRUE(err_.ends_with("\r\033[K")) << err_;
}

// Bug: a line for each of thousands of blobs.
TEST_F(ArtifactCommandTest, GcListsTheFirstOfEachKindAndCountsTheOthers) {
  ASSERT_EQ(put(), kExitOk);
  const std::string folder = builder_.path() + "/blobs/sha256/ab/";
  fs::create_directories(folder);
  for (int i = 0; i < 1'234; ++i) std::ofstream(folder + fmt::format("{:062x}", i)) << "lost";
  const std::string staged = builder_.path() + "/staging/artifact-12345678";
  fs::create_directories(staged);
  std::ofstream(staged + "/file-1") << "of a dead process";
  std::ofstream(builder_.path() + "/staging/lock") << "";
  console_.now_us += 2 * 86'400 * kSecondUs;
  for (const bool dry_run : {true, false}) {
    ASSERT_EQ(run(dry_run ? std::vector<std::string>{"gc", "--dry-run"} : std::vector<std::string>{"gc"}), kExitOk);
    EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 20 + 1 + 1 + 1) << out_;
    const std::string what = dry_run ? "would remove" : "removed";
    EXPECT_NE(out_.find(what + " 1,214 more of blob, 4.7 KiB; --json has all\n"), std::string::npos) << out_;
    EXPECT_NE(out_.find("artifact-12345678"), std::string::npos) << out_;
    if (!dry_run) break;
    ASSERT_EQ(run({"gc", "--dry-run", "--json"}), kExitOk);
    EXPECT_EQ(from_json(out_)->find("removed")->as_list()->size(), 1'235u);
  }
}

// Bug: "run 440d79c0…", though the run is in the store.
TEST_F(ArtifactCommandTest, ShowNamesTheRunThatMadeAVersionAndMovedItsAliases) {
  const RunFolder maker = builder_.run("p", "otter");
  builder_.writer(maker).log("loss", 0, 1).end(RunState::kFinished).finish();
  auto draft = ArtifactDraft::make("model", "model");
  ASSERT_TRUE(draft->add_file(files_ + "/one").ok());
  StoreArtifactOptions how;
  how.run = maker.identity.uid.hex();
  how.aliases = {"best"};
  ASSERT_TRUE(store_artifact(builder_.store(), "p", *draft, how).ok());
  ASSERT_EQ(run({"artifact", "show", "p/model"}), kExitOk) << err_;
  EXPECT_NE(out_.find("  made by   p/otter\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("  best: none -> v0  by p/otter\n"), std::string::npos) << out_;
  fs::remove_all(maker.path);
  ASSERT_EQ(run({"artifact", "show", "p/model"}), kExitOk) << err_;
  EXPECT_NE(out_.find("run " + how.run + ", which is not among those of this store\n"), std::string::npos) << out_;
}

TEST_F(ArtifactCommandTest, GcSaysThatItRemovedNoBlobWhereAnArtifactCannotBeRead) {
  ASSERT_EQ(put(), kExitOk);
  fs::remove(builder_.path() + "/artifacts/p/data/artifact.json");
  console_.now_us += 2 * 86'400 * kSecondUs;
  EXPECT_EQ(run({"gc"}), kExitFailed);
  EXPECT_NE(err_.find("p/data/artifact.json is missing, and mark-1.json is there"), std::string::npos) << err_;
  EXPECT_NE(err_.find("no blob was removed: it could be one of what cannot be read"), std::string::npos) << err_;
  EXPECT_EQ(out_.find("removed blob"), std::string::npos) << out_;
}

// Bug: a run that was copied here named the data that has the same number here.
TEST_F(ArtifactCommandTest, ACopiedRunNamesItsVersionsByTheirContent) {
  ASSERT_EQ(put(), kExitOk);
  LineageEdge moved = edge(ArtifactUse::kInput, "data"), missing = moved;
  moved.number = 7;
  missing.use = ArtifactUse::kOutput;
  missing.content = sha256("of another store");
  write_run("copied", {moved, missing});
  const std::string absent = "p/data@" + missing.content.hex().substr(0, 12) + " (not in this store)";
  for (const char* command : {"show", "lineage"}) {
    const bool shows = command == std::string("show");
    ASSERT_EQ(shows ? run({"show", "p/copied"}) : run({"artifact", "lineage", "p/copied"}), kExitOk) << err_;
    EXPECT_NE(out_.find("p/data:v0"), std::string::npos) << out_;
    EXPECT_EQ(out_.find(":v7"), std::string::npos) << out_;
    EXPECT_NE(out_.find(absent), std::string::npos) << out_;
  }
  // Bug: the JSON of both had the number of the other store.
  ASSERT_EQ(run({"show", "p/copied", "--json"}), kExitOk) << err_;
  const auto shown = from_json(out_);
  std::vector<std::string> versions;
  for (const char* list : {"inputs", "outputs"})
    for (const Value& each : *shown->find(list)->as_list()) versions.push_back(each.text_or("version", "none"));
  std::sort(versions.begin(), versions.end());
  EXPECT_EQ(versions, (std::vector<std::string>{"none", "v0"})) << out_;
  ASSERT_EQ(run({"artifact", "lineage", "p/copied", "--json"}), kExitOk) << err_;
  const auto graph = from_json(out_);
  std::vector<int64_t> numbers;
  for (const Value& node : *graph->find("nodes")->as_list())
    if (node.text_or("kind", "") == "version") numbers.push_back(node.int_or("number", -1));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<int64_t>{-1, 0})) << out_;
}

TEST_F(ArtifactCommandTest, TheSameContentUnderAnotherNameIsShownApart) {
  ASSERT_EQ(put("data"), kExitOk);
  ASSERT_EQ(put("copy"), kExitOk);
  write_run("maker", {edge(ArtifactUse::kOutput, "data"), edge(ArtifactUse::kOutput, "copy")});
  write_run("user", {edge(ArtifactUse::kInput, "data")});
  ASSERT_EQ(run({"artifact", "lineage", "p/copy"}), kExitOk) << err_;
  EXPECT_EQ(out_, "p/copy:v0\n  made by p/maker\n  same content as p/data:v0\n");
}

}  // namespace
}  // namespace tracker::internal
