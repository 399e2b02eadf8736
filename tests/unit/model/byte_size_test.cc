// SPDX-License-Identifier: MIT
// Numbers of bytes are read as people write them, and nothing else is.
#include "model/byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

TEST(ByteSizeTest, NumbersAndUnits) {
  const std::pair<const char*, uint64_t> good[] = {{"0", 0},
                                                   {"1048576", 1048576},
                                                   {"10GB", 10'000'000'000},
                                                   {"10 GB", 10'000'000'000},
                                                   {"10gb", 10'000'000'000},
                                                   {"512MiB", 536870912},
                                                   {"1.5GiB", 1610612736},
                                                   {"2k", 2000},
                                                   {"2Ki", 2048},
                                                   {"3T", 3'000'000'000'000},
                                                   {"7 b", 7},
                                                   {"8TB", 8'000'000'000'000}};
  for (const auto& [text, bytes] : good) {
    const auto read = parse_byte_size("max_disk", text);
    ASSERT_TRUE(read.ok()) << text << ": " << read.status().to_string();
    EXPECT_EQ(*read, bytes) << text;
  }
}

TEST(ByteSizeTest, AnythingElseIsRefusedWithItsName) {
  for (const char* text :
       {"", "GB", "-1", "nan", "inf", "1e3", "10 apples", "10G B", "0x10", "99999999999TB", "1..5"}) {
    const auto read = parse_byte_size("max_disk", text);
    EXPECT_EQ(read.status().code(), Code::kInvalid) << text;
    EXPECT_THAT(read.status().message(), ::testing::StartsWith("max_disk=\"")) << text;
  }
}

}  // namespace
}  // namespace tracker::internal
