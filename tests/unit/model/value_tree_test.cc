// SPDX-License-Identifier: MIT
// Goal: a ValueTree makes the same map as Value::set_path, key by key. Method: random paths and values into both.
#include "model/value_tree.h"

#include <gtest/gtest.h>

#include <random>

namespace tracker::internal {
namespace {

TEST(ValueTreeTest, RandomPathsGiveWhatSetPathGives) {
  const char* const paths[] = {"a", "b", "a/b", "a/b/c", "b/a", "/a", "a/", "a//b", "", "/", "c/d/e", "c/d", "c"};
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    Value plain = Value::map();
    ValueTree tree;
    for (int i = 0; i < 20; ++i) {
      const std::string_view path = paths[random() % std::size(paths)];
      Value value = i;
      if (random() % 4 == 0) value = Value::Map{{"b", i}, {"x", Value::Map{}}};
      plain.set_path(path, value);
      tree.set_path(path, value);
    }
    EXPECT_EQ(to_json(tree.value()), to_json(plain)) << "seed " << seed;
    plain.set("a/b", "no path");
    tree.set("a/b", "no path");
    EXPECT_EQ(to_json(tree.take()), to_json(plain)) << "seed " << seed;
  }
}

TEST(ValueTreeTest, AMergeKeepsWhatLiesBesideItsLeavesAndNamesWhatItGivesTwice) {
  ValueTree tree(Value::Map{{"x", Value::Map{{"z", 1}}}});
  tree.merge(Value::Map{{"x", Value::Map{{"y", 2}}}, {"a/b", 3}});
  EXPECT_EQ(tree.given_twice(), "");
  tree.merge(Value::Map{{"x", Value::Map{{"y", 4}}}, {"x/y", 5}});
  EXPECT_EQ(tree.given_twice(), "x/y");
  EXPECT_EQ(to_json(tree.value()), R"({"x":{"z":1,"y":5},"a":{"b":3}})");
  EXPECT_EQ(tree.values_lost(), 1u);
  tree.merge(Value::Map{{"a", Value::Map{{"b", 3}}}});
  EXPECT_EQ(tree.given_twice(), "") << "of the last merge";
  EXPECT_EQ(tree.values_lost(), 0u);
  EXPECT_EQ(to_json(tree.take()), R"({"x":{"z":1,"y":5},"a":{"b":3}})");
}

TEST(ValueTreeTest, EachValueThatAMergeTakesBackIsCounted) {
  ValueTree tree(Value::Map{{"m", Value::Map{{"old", 0}}}});
  tree.merge(Value::Map{{"m/a", 1}, {"m/b/c", 2}, {"m", "text"}, {"n", 3}, {"n/x", 4}});
  EXPECT_EQ(tree.given_twice(), "m");
  EXPECT_EQ(tree.values_lost(), 3u) << "m/a, m/b/c and n, and not m/old, which an earlier call gave";
  tree.set_path("n", 5);
  EXPECT_EQ(tree.values_lost(), 0u) << "a value that is set again";
  tree.set_path("n/y", 6);
  EXPECT_EQ(tree.given_twice(), "n");
  EXPECT_EQ(tree.values_lost(), 1u);
}

TEST(ValueTreeTest, OfRepeatedKeysTheLastValueStandsAtTheFirstPlace) {
  Value::Map map{{"a", 1}, {"b", 2}, {"a", 3}};
  drop_repeated_keys(&map);
  EXPECT_EQ(to_json(map), R"({"a":3,"b":2})");
}

TEST(ValueTreeTest, LeavesAtPathsThatNoKeyMayHaveAreTakenAwayWithTheMapsThatTheyLeaveEmpty) {
  const std::string half(512, 'h'), rest(511, 'r'), more(512, 'm');
  Value value = Value::Map{{std::string(1024, 'k'), 1},
                           {std::string(1025, 'k'), 2},
                           {half, Value::Map{{rest, 3}, {more, 4}}},
                           {more, Value::Map{{more, Value::Map{}}}},
                           {"x", Value::Map{}}};
  std::string first;
  EXPECT_EQ(drop_long_paths(0, value.as_map(), &first), 3u);
  EXPECT_EQ(first, std::string(1025, 'k'));
  const Value left = Value::Map{{std::string(1024, 'k'), 1}, {half, Value::Map{{rest, 3}}}, {"x", Value::Map{}}};
  EXPECT_EQ(to_json(value), to_json(left));
  EXPECT_EQ(drop_long_paths(0, value.as_map(), &first), 0u);
  EXPECT_EQ(drop_long_paths(1, value.as_map(), &first), 2u) << "below a key of one byte both are too long";
  EXPECT_EQ(first, std::string(1024, 'k'));
  EXPECT_EQ(to_json(value), R"({"x":{}})");
  Value deep = Value::Map{{"a", Value::Map{{more, Value::Map{{more, 5}}}}}};
  EXPECT_EQ(drop_long_paths(0, deep.as_map(), &first), 1u);
  EXPECT_EQ(first, "a/" + more + "/" + more);
  EXPECT_EQ(to_json(deep), "{}");
}

}  // namespace
}  // namespace tracker::internal
