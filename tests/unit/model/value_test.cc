// SPDX-License-Identifier: MIT
// Goal: values survive CBOR bit for bit, and no bytes make the decoder crash, loop or allocate without bound.
// Method: round trips of the edges; every truncation and random bytes (the seed is printed).
#include "model/value.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "model/number.h"

namespace tracker::internal {
namespace {

Value everything() {
  const double odd_nan = std::bit_cast<double>(uint64_t{0x7ff8000000abcdef});
  return Value::Map{{"null", nullptr},
                    {"bools", Value::List{true, false}},
                    {"ints", Value::List{0, 23, 24, -1, INT64_MAX, INT64_MIN, int64_t{1} << 40}},
                    {"floats", Value::List{0.1, -0.0, 5e-324, std::numeric_limits<double>::infinity(), odd_nan}},
                    {"text", "żółw \x01"},
                    {"nested", Value::Map{{"a", Value::Map{{"b", Value::List{}}}}}}};
}

TEST(ValueTest, CborKeepsEveryBit) {
  const auto decoded = decode_cbor(encode_cbor(everything()));
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_TRUE(*decoded == everything());
}

TEST(ValueTest, EveryTruncationIsCorrupt) {
  const std::string bytes = encode_cbor(everything());
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_EQ(decode_cbor(bytes.substr(0, n)).status().code(), Code::kCorrupt);
}

TEST(ValueTest, RandomBytesNeverCrash) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    (void)decode_cbor(bytes).ok();
  }
}

TEST(ValueTest, JsonThatCannotBeReadSaysWhereInWordsOfOurs) {
  EXPECT_EQ(from_json("{\"a\": 1,\n  b}").status().message(), "no valid JSON: a mistake at line 2, column 3");
  EXPECT_EQ(from_json("[1,").status().message(), "no valid JSON: it ends at line 1, column 4");
  EXPECT_EQ(from_json("").status().message(), "no valid JSON: it ends at line 1, column 1");
  EXPECT_EQ(from_json(std::string_view("[1]\0[2]", 7)).status().message(),
            "no valid JSON: a mistake at line 1, column 4");
  EXPECT_EQ(from_json("\"\xff\"").status().message(), "no valid JSON: a mistake at line 1, column 2");
}

TEST(ValueTest, JsonIsWrittenOnOneLineOrIndented) {
  Value inner = Value::map();
  inner.set("quote\"", Value(Value::List{Value(1), Value(-0.5), Value(true), Value(nullptr), Value("a\nb\xff")}));
  Value value = Value::map();
  value.set("a", inner);
  value.set("none", Value::map());
  value.set("empty", Value::list());
  value.set("nan", Value(std::nan("")));
  EXPECT_EQ(
      to_json(value),
      "{\"a\":{\"quote\\\"\":[1,-0.5,true,null,\"a\\nb\xEF\xBF\xBD\"]},\"none\":{},\"empty\":[],\"nan\":\"NaN\"}");
  value.set("a", Value(Value::List{Value(1), Value::map()}));
  EXPECT_EQ(to_json(value, 2),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"none\": {},\n  \"empty\": [],\n  \"nan\": \"NaN\"\n}");
}

TEST(ValueTest, JsonIsReadAsItStandsAndARepeatedKeyHasItsLastValue) {
  auto value = from_json(R"( {"b": [1, 2.5, "x", {"y": null}], "a": 1, "b2": 18446744073709551615, "a": 2, "a": 3} )");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(to_json(*value), R"({"b":[1,2.5,"x",{"y":null}],"a":3,"b2":1.8446744073709552e+19})");
}

TEST(ValueTest, JsonDeeperThanTheLimitIsCutToNull) {
  const auto nested = [](int depth, const std::string& innermost) {
    return std::string(static_cast<size_t>(depth), '[') + innermost + std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_EQ(to_json(*from_json(nested(kValueDepthMax, "7"))), nested(kValueDepthMax, "7"));
  EXPECT_EQ(to_json(*from_json(nested(kValueDepthMax + 1, "7"))), nested(kValueDepthMax + 1, "null"));
  EXPECT_EQ(to_json(*from_json(nested(kValueDepthMax + 3, "7,8"))), nested(kValueDepthMax + 1, "null"));
  EXPECT_TRUE(from_json(nested(1'000'000, "")).ok());
}

TEST(ValueTest, DepthIsBounded) { EXPECT_FALSE(decode_cbor(std::string(100'000, '\x81')).ok()); }

TEST(ValueTest, NumbersReadBackFromTheirText) {
  EXPECT_EQ(number_text(ValueType::kFloat64, bits_of(0.1)), "0.1");
  EXPECT_EQ(number_text(ValueType::kFloat64, bits_of(1.0)), "1.0");
  EXPECT_EQ(number_text(ValueType::kFloat64, bits_of(-0.0)), "-0.0");
  EXPECT_EQ(number_text(ValueType::kFloat32, bits_of(0.1f)), "0.1");
  EXPECT_EQ(number_text(ValueType::kInt64, bits_of(INT64_MAX)), "9223372036854775807");
  EXPECT_EQ(to_double(ValueType::kFloat16, 0x0001), 0x1p-24);
  EXPECT_EQ(to_double(ValueType::kBFloat16, 0x3f80), 1.0);
}

}  // namespace
}  // namespace tracker::internal
