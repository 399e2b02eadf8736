// SPDX-License-Identifier: MIT
// Goal: what runs made and used is found from their files alone, both ways and across projects. Method: two runs in two
// projects, one makes what the other uses; the graph from either end.
#include "artifact/lineage.h"

#include <gtest/gtest.h>

#include "artifact/registry.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

LineageEdge edge(ArtifactUse use, const std::string& name, int64_t number) {
  LineageEdge out;
  out.use = use;
  out.project = "data";
  out.name = name;
  out.type = "dataset";
  out.number = number;
  out.content = sha256(name + std::to_string(number));
  out.manifest = sha256("manifest");
  out.aliases = {"latest"};
  return out;
}

class LineageTest : public ::testing::Test {
 protected:
  void record(const RunFolder& run, const std::vector<LineageEdge>& edges, bool compact = false) {
    WriterBuilder writer = builder_.writer(run);
    for (const LineageEdge& each : edges) writer.event(EventType::kArtifact, {}, 0, artifact_event(each));
    writer.log("loss", 0, 1).commit();
    if (compact) writer.compact();
    writer.end(RunState::kFinished).finish();
  }
  StoreBuilder builder_;
};

TEST_F(LineageTest, AnEventSaysWhatItWasMadeOf) {
  LineageEdge made = edge(ArtifactUse::kInput, "mnist", 3);
  made.use_as = "train";
  const Value event = artifact_event(made);
  EXPECT_EQ(event.text_or("key", ""), "input data/mnist:v3 as train");
  const auto again = edge_of_event(*event.find("value"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->use, made.use);
  EXPECT_EQ(again->version_name(), "data/mnist:v3");
  EXPECT_EQ(again->content, made.content);
  EXPECT_EQ(again->manifest, made.manifest);
  EXPECT_EQ(again->aliases, made.aliases);
  EXPECT_EQ(again->use_as, "train");
  EXPECT_FALSE(edge_of_event(Value::Map{{"use", "other"}}).ok());
  EXPECT_FALSE(edge_of_event(Value(3)).ok());
}

TEST_F(LineageTest, RunsAndVersionsAreFoundFromEachOtherAcrossProjects) {
  const RunFolder maker = builder_.run("prepare", "clean"), user = builder_.run("train", "fit");
  record(maker, {edge(ArtifactUse::kOutput, "mnist", 0)}, true);
  record(user, {edge(ArtifactUse::kInput, "mnist", 0), edge(ArtifactUse::kOutput, "model", 0)});
  const Lineage lineage = read_lineage(builder_.store());
  EXPECT_TRUE(lineage.problems.empty());
  ASSERT_EQ(lineage.edges.size(), 3u);
  const VersionId mnist{"data", "mnist", sha256("mnist0")};
  const auto made = edges_of_version(lineage, mnist, ArtifactUse::kOutput);
  const auto used = edges_of_version(lineage, mnist, ArtifactUse::kInput);
  ASSERT_EQ(made.size(), 1u);
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(made[0].run.id, "clean");
  EXPECT_EQ(used[0].run.id, "fit");
  EXPECT_EQ(edges_of_run(user).size(), 2u);
  EXPECT_EQ(edges_of_run(user)[0].version_name(), "data/mnist:v0");
}

// A process that was killed between the two events has recorded by its naming event which version is its own.
TEST_F(LineageTest, AsManyUsesAsTheLimitSaysAreLookedAt) {
  record(builder_.run("p", "a"), {edge(ArtifactUse::kInput, "mnist", 0), edge(ArtifactUse::kOutput, "model", 0)});
  record(builder_.run("p", "b"), {edge(ArtifactUse::kInput, "model", 0)});
  const Lineage all = read_lineage(builder_.store(), "", 3), cut = read_lineage(builder_.store(), "", 2);
  EXPECT_EQ(all.edges.size(), 3u);
  EXPECT_FALSE(all.cut);
  EXPECT_EQ(cut.edges.size(), 2u);
  EXPECT_TRUE(cut.cut);
  static_assert(kLineageEdgesMax == 100'000);  // the default
}

TEST_F(LineageTest, ANamingWithoutItsEventIsAnEdgeOnlyOfAVersionThatItNamed) {
  const ArtifactRegistry registry(builder_.store());
  ASSERT_TRUE(registry.create("data", "mnist", "dataset").ok());
  NewVersion version;
  version.totals.content = sha256("mnist0");
  version.manifest = sha256("manifest");
  version.now_us = 1000;
  bool is_new = false;
  ASSERT_TRUE(registry.add("data", "mnist", version, &is_new).ok());
  const auto edges_of_naming = [&](const std::string& run, const std::string& content, int64_t named_us, bool said) {
    LineageEdge naming = edge(ArtifactUse::kOutput, "mnist", 0);
    naming.content = sha256(content);
    naming.time_us = named_us;
    const RunFolder folder = builder_.run("train", run);
    WriterBuilder writer = builder_.writer(folder);
    writer.event(EventType::kArtifact, {}, 0, naming_event(naming));
    if (said) writer.event(EventType::kArtifact, {}, 0, artifact_event(naming));
    writer.log("loss", 0, 1).commit();
    std::vector<Status> problems;
    std::vector<LineageEdge> out = edges_of_run(folder, &problems);
    EXPECT_TRUE(problems.empty()) << problems.front().to_string();
    return out;
  };
  const auto named = edges_of_naming("named", "mnist0", 1000, false);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].version_name(), "data/mnist:v0");
  EXPECT_EQ(named[0].time_us, 1000);
  EXPECT_EQ(edges_of_naming("again", "mnist0", 2000, false).size(), 1u);   // the same content, logged again
  EXPECT_EQ(edges_of_naming("earlier", "mnist0", 999, false).size(), 0u);  // another run named it
  EXPECT_EQ(edges_of_naming("other", "mnist1", 2000, false).size(), 0u);   // it died before
  EXPECT_EQ(edges_of_naming("said", "mnist0", 1000, true).size(), 1u);
}

TEST_F(LineageTest, TheGraphGoesTheWayOfTheDataAndEndsAtItsDepth) {
  const RunFolder maker = builder_.run("p", "maker"), user = builder_.run("p", "user"), far = builder_.run("p", "far");
  record(maker, {edge(ArtifactUse::kOutput, "a", 0)});
  record(user, {edge(ArtifactUse::kInput, "a", 0), edge(ArtifactUse::kOutput, "b", 0)});
  record(far, {edge(ArtifactUse::kInput, "b", 0)});
  const Lineage lineage = read_lineage(builder_.store());
  VersionNumbers numbers(builder_.store());
  const Value all = lineage_graph(lineage, &numbers);
  EXPECT_EQ(all.find("nodes")->as_list()->size(), 5u);
  EXPECT_EQ(all.find("edges")->as_list()->size(), 4u);
  const std::string start = "run " + maker.identity.uid.hex();
  const Value one = lineage_graph(lineage, &numbers, start, 1);
  ASSERT_EQ(one.find("edges")->as_list()->size(), 1u);
  const Value& only = one.find("edges")->as_list()->front();
  EXPECT_EQ(only.text_or("from", ""), start);
  EXPECT_EQ(only.text_or("to", ""), "version data/a@" + sha256("a0").hex());
  EXPECT_EQ(lineage_graph(lineage, &numbers, start, 2).find("edges")->as_list()->size(), 2u);
  EXPECT_EQ(lineage_graph(lineage, &numbers, "run absent", 2).find("edges")->as_list()->size(), 0u);
}

// Bug: versions with the same content were one node, and had each other's runs: all that had no files.
TEST_F(LineageTest, TheSameContentUnderAnotherNameOrProjectIsAnotherArtifact) {
  LineageEdge made = edge(ArtifactUse::kOutput, "card-a", 0), other = made, elsewhere = made, used = made;
  other.name = "card-b";
  elsewhere.project = "q";
  used.use = ArtifactUse::kInput;
  used.number = 7;  // of a run that came from another store, where it has this number
  record(builder_.run("p", "maker"), {made, other});
  record(builder_.run("q", "other"), {elsewhere});
  record(builder_.run("p", "user"), {used});
  const Lineage lineage = read_lineage(builder_.store());
  const auto runs = [&](const LineageEdge& of, ArtifactUse use) {
    std::string out;
    for (const LineageEdge& each : edges_of_version(lineage, of.version(), use)) out += each.run.id + " ";
    return out;
  };
  EXPECT_EQ(runs(made, ArtifactUse::kInput), "user ");
  EXPECT_EQ(runs(made, ArtifactUse::kOutput), "maker ");
  EXPECT_EQ(runs(other, ArtifactUse::kInput), "");
  EXPECT_EQ(runs(elsewhere, ArtifactUse::kOutput), "other ");
  VersionNumbers numbers(builder_.store());
  const Value graph = lineage_graph(lineage, &numbers, other.version().node(), 1);
  ASSERT_EQ(graph.find("edges")->as_list()->size(), 1u);
  const Value whole = lineage_graph(lineage, &numbers);
  for (const Value& node : *whole.find("nodes")->as_list())
    EXPECT_EQ(node.int_or("number", -1), -1) << "it is not in this store";
  EXPECT_EQ(whole.find("nodes")->as_list()->size(), 6u);
}

// Bug: the number that a version had in another store named another content here.
TEST_F(LineageTest, AVersionIsCalledAsTheStoreCallsIt) {
  const ArtifactRegistry registry(builder_.store());
  for (const std::string project : {"p", "a/b@c"}) {
    ASSERT_TRUE(registry.create(project, "data", "dataset").ok());
    std::vector<VersionId> ids;
    for (const char* content : {"first", "second"}) {
      NewVersion version;
      version.totals.content = sha256(project + content);
      version.now_us = 1;
      bool is_new = false;
      ASSERT_TRUE(registry.add(project, "data", version, &is_new).ok());
      ids.push_back({project, "data", version.totals.content});
    }
    VersionNumbers numbers(builder_.store());
    for (const int64_t said : {-1, 0, 1, 7}) {
      EXPECT_EQ(numbers.name_of(ids[0], said), project + "/data:v0");
      EXPECT_EQ(numbers.name_of(ids[1], said), project + "/data:v1");
    }
    const VersionId gone{project, "data", sha256("gone")}, absent{project, "absent", sha256("gone")};
    const std::string digits = sha256("gone").hex();
    EXPECT_EQ(numbers.name_of(gone, 0), project + "/data@" + digits.substr(0, 12));
    EXPECT_EQ(numbers.name_of(absent, 0), project + "/absent@" + digits.substr(0, 12));
    EXPECT_EQ(numbers.name_of(project + "/data:v7@" + ids[1].content.hex()), project + "/data:v1");
    EXPECT_EQ(numbers.name_of(project + "/data:v7@" + digits), project + "/data@" + digits.substr(0, 12));
    EXPECT_EQ(numbers.name_of(project + "/data:v3"), project + "/data:v3");
  }
  VersionNumbers numbers(builder_.store());
  for (const std::string name : {"", "@", "a@b/c:v1", "data", "x/data@zz"}) EXPECT_EQ(numbers.name_of(name), name);
}

TEST_F(LineageTest, OneNumberOfTwoStoresIsTwoEdges) {
  const RunFolder run = builder_.run("p", "r");
  LineageEdge other = edge(ArtifactUse::kInput, "a", 0);
  other.content = sha256("of another store");
  record(run, {other});
  record(run, {edge(ArtifactUse::kInput, "a", 0)});
  EXPECT_EQ(edges_of_run(run).size(), 2u);
}

TEST_F(LineageTest, TheSameUseSaidTwiceIsOneEdge) {
  const RunFolder run = builder_.run("p", "r");
  record(run, {edge(ArtifactUse::kInput, "a", 0), edge(ArtifactUse::kInput, "a", 0)});
  EXPECT_EQ(edges_of_run(run).size(), 1u);
}

// Bug: a run that was imported and continued here had one version with the numbers of both stores, twice.
TEST_F(LineageTest, OneVersionWithTheNumbersOfTwoStoresIsOneEdgeOfEachUse) {
  const RunFolder run = builder_.run("p", "r");
  LineageEdge there = edge(ArtifactUse::kInput, "a", 0), here = there;
  here.number = 4;
  LineageEdge named = here;
  named.use_as = "train";
  record(run, {there});
  record(run, {here, named});
  EXPECT_EQ(edges_of_run(run).size(), 2u);
}

}  // namespace
}  // namespace tracker::internal
