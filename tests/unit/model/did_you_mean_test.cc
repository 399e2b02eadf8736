// SPDX-License-Identifier: MIT
// Suggestions for mistyped names: near ones are named, the closest first, and far ones are not.
#include "model/did_you_mean.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

TEST(CloseNamesTest, TheClosestComesFirst) {
  EXPECT_EQ(close_names("brisk-ottr", {"brisk-otters", "brisk-otter", "calm-heron"}, 2),
            (std::vector<std::string>{"brisk-otter", "brisk-otters"}));
}

TEST(CloseNamesTest, NothingNearGivesNothing) {
  EXPECT_TRUE(close_names("loss", {"accuracy", "lr"}).empty());
  EXPECT_EQ(did_you_mean("loss", {"accuracy"}), "");
}

TEST(CloseNamesTest, ANameThatHoldsTheGivenOneIsNear) {
  EXPECT_EQ(did_you_mean("loss", {"train/loss", "val/loss", "lr"}), "; did you mean val/loss or train/loss?");
}

TEST(CloseNamesTest, ANameThatOnlyBeginsAlikeIsFar) {
  EXPECT_TRUE(close_names("config", {"console_lines_of_every_rank"}).empty());
  EXPECT_EQ(did_you_mean("batchsize", {"batch_size_of_validation", "batch_size"}), "; did you mean batch_size?");
}

TEST(CloseNamesTest, DoublesAreNamedOnce) { EXPECT_EQ(close_names("a1", {"a2", "a2"}).size(), 1u); }

TEST(CloseNamesTest, VeryLongNamesAreComparedByTheirBeginning) {
  const std::string name(100'000, 'x');
  EXPECT_EQ(close_names(name, {name + "y"}).size(), 1u);
}

}  // namespace
}  // namespace tracker::internal
