// SPDX-License-Identifier: MIT
// A table of items by name: each is found under its name and under no other, in the order added, however often the
// table has grown. Method: random names against a plain map.
#include "base/name_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tracker::internal {
namespace {

TEST(NameTableTest, FindsEachItemUnderItsNameInTheOrderAdded) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::string> names(1);  // by item; 0 is none
  std::map<std::string, std::vector<uint32_t>> expected;
  NameTable<uint32_t> table;
  EXPECT_EQ(table.find("x", [](uint32_t) { return true; }), 0U);
  for (uint32_t item = 1; item <= 5000; ++item) {
    names.push_back("metric/" + std::to_string(random() % 2000));
    table.make_room([&](uint32_t i) { return std::string_view(names[i]); });
    table.add(names[item], item);
    expected[names[item]].push_back(item);
  }
  for (const auto& each : expected) {
    const std::string& name = each.first;  // clang 14 captures no structured binding
    std::vector<uint32_t> found;
    const uint32_t none = table.find(name, [&](uint32_t i) {
      if (names[i] == name) found.push_back(i);
      return false;
    });
    EXPECT_EQ(none, 0U);
    EXPECT_EQ(found, each.second) << name;
  }
  EXPECT_EQ(table.find("metric/none", [&](uint32_t i) { return names[i] == "metric/none"; }), 0U);
}

}  // namespace
}  // namespace tracker::internal
