// SPDX-License-Identifier: MIT
// Goal: the catalog answers any filter as the filter itself does. Method: random filters over runs of every kind.
#include <gtest/gtest.h>

#include <random>

#include "query/runs/run_record.h"
#include "support/child.h"
#include "support/runs_query_test.h"

namespace tracker::internal {
namespace {

// SQLite decides what it can; whatever it decides must be what Filter::matches() says.
class RandomFilterTest : public RunsQueryTest {
 protected:
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  std::string test() {
    const std::string op = one_of({"=", "!=", "<", "<=", ">", ">="});
    switch (random_() % 8) {
      case 0: return "state " + one_of<std::string>({"=", "!="}) + " " + one_of<std::string>({"finished", "failed"});
      case 1: return "created " + op + " " + one_of<std::string>({"2023-11-14", "2023-11-14T22:13:25", "now-1d"});
      case 2: return "duration " + op + " " + one_of<std::string>({"100s", "1.5", "97", "0.5m"});
      case 3:
        return one_of<std::string>({"name ", "id ", "project ", "group "}) + op + " " +
               one_of<std::string>({"run3", "\"Net\"", "p0", "g1"});
      case 4: return "missing(" + one_of<std::string>({"group", "finished", "config.lr", "name"}) + ")";
      case 5: return "config.lr " + op + " " + one_of<std::string>({"0.3", "1", "text"});
      case 6: return one_of<std::string>({"points ", "lost "}) + op + " " + one_of<std::string>({"0", "2", "1.5"});
      default: return one_of<std::string>({"net", "name contains \"et\"", "group in [g0, g2]", "finished < now"});
    }
  }
  std::string filter(int depth) {
    const auto kind = random_() % (depth > 0 ? 5 : 1);
    if (kind == 1) return "not (" + filter(depth - 1) + ")";
    if (kind == 2) return "(" + filter(depth - 1) + " and " + filter(depth - 1) + ")";
    if (kind == 3) return "(" + filter(depth - 1) + " or " + filter(depth - 1) + ")";
    return test();
  }

  std::mt19937_64 random_;
};

TEST_F(RandomFilterTest, TheCatalogAnswersAsTheFilterDoes) {
  const uint64_t seed = test_seed("RandomFilterTest");
  random_.seed(seed);
  for (int i = 0; i < 12; ++i) {
    const RunFolder folder =
        builder_.run("p" + std::to_string(i % 2), "run" + std::to_string(i), kBuilderStartUs + i * kSecondUs);
    auto writer = builder_.writer(folder);
    if (i % 3 != 0) writer.set(EventType::kConfig, "lr", i % 4 == 0 ? Value("text") : Value(0.1 * i));
    if (i % 2 == 0) writer.set(EventType::kAttribute, "group", "g" + std::to_string(i % 3));
    if (i % 5 == 0) writer.set(EventType::kAttribute, "name", "Net" + std::to_string(i));
    for (int row = 0; row < i % 4; ++row) writer.log("loss", row, row);
    if (i % 6 != 5)
      writer.end(i % 4 == 1 ? RunState::kFailed : RunState::kFinished, 0, "", kBuilderStartUs + 100 * kSecondUs);
    writer.finish();
  }
  list();
  auto catalog = Catalog::open(builder_.store(), Catalog::Place::kMemory);
  ASSERT_TRUE(catalog.ok());
  // In less than a minute: then the runs without an end are no longer believed to be running.
  for (int turn = 0; turn < 300 / kSlowDown; ++turn) {
    const RunsQuery asked = query(filter(3));
    const auto parsed = Filter::parse(asked.where, asked.now_us);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    auto rows = catalog->db().prepare("SELECT " + std::string(kCatalogColumns) + ", " + std::string(kCatalogDocuments) +
                                      " FROM runs JOIN documents USING(id) ORDER BY created_us DESC, folder");
    ASSERT_TRUE(rows.ok());
    std::string expected;
    const VersionNames as_they_are = [](const std::string& name) { return name; };
    const CatalogRow view(*rows, true, asked.now_us, as_they_are);
    while (*rows->step())
      if (parsed->matches(view)) expected += (expected.empty() ? "" : " ") + std::string(rows->bytes_at(kColumnId));
    ASSERT_EQ(ids(list(asked)), expected) << asked.where << "\nseed " << seed;
  }
}

std::string repeated(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

// SQLite has a stack of 100 for what it parses and a depth of 1,000 for expressions; the limits of filters are others.
TEST_F(RandomFilterTest, FiltersAtTheirLimitsAreAnswered) {
  three_runs();
  const auto values = [](size_t n) { return repeated("none,", n - 1) + "two"; };
  EXPECT_EQ(ids(list("id in [" + values(kFilterListMax) + "]")), "two");
  EXPECT_EQ(ids(list("not id in [" + values(kFilterListMax) + "]")), "three one");
  EXPECT_EQ(ids(list("project = a and id in [" + values(kFilterListMax) + "] and id != one")), "two");
  for (const size_t tests : {kFilterTestsMax / 2, kFilterTestsMax}) {
    EXPECT_EQ(ids(list(repeated("id=two or ", tests - 1) + "id=one")), "two one") << tests;
    EXPECT_EQ(ids(list(repeated("id!=two and ", tests - 1) + "id!=one")), "three") << tests;
  }
  EXPECT_EQ(ids(list(repeated("missing(name) or ", 900) + "id=none")), ids(list("missing(name)")));
  for (const size_t depth : {kFilterDepthMax / 4, kFilterDepthMax / 2, kFilterDepthMax}) {
    EXPECT_EQ(ids(list(repeated("not ", depth) + "id=two")), "two") << depth;
    EXPECT_EQ(ids(list(repeated("(id=one or ", depth) + "id=two" + repeated(")", depth))), "two one") << depth;
    EXPECT_EQ(ids(list(repeated("(id!=one and ", depth) + "id!=two" + repeated(")", depth))), "three") << depth;
    EXPECT_EQ(ids(list(repeated("not (id=none or ", depth / 2) + "id=two" + repeated(")", depth / 2))), "two") << depth;
  }
}

}  // namespace
}  // namespace tracker::internal
