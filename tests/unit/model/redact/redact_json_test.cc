// SPDX-License-Identifier: MIT
// Goal: secrets in the strings of a JSON document go, and the document stays one, whatever its strings hold.
// Method: documents by hand, and random ones of pieces of secrets and of syntax, by a seed that is printed.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "model/redact/redact.h"

namespace tracker::internal {
namespace {

std::string clean_json(std::string_view text, uint64_t* count = nullptr) {
  uint64_t found = 0;
  std::string out = redact_json(text, count != nullptr ? count : &found);
  return out;
}

// Bug: as prose the value took the closing quote with it, and a PEM header all that follows.
TEST(RedactJsonTest, ASecretEndsWithItsString) {
  uint64_t count = 0;
  EXPECT_EQ(clean_json(R"({"a":["use api_key=abc","-----BEGIN PRIVATE KEY-----","hello"], "b" : 0.50})", &count),
            R"({"a":["use api_key=[redacted]","[redacted]","hello"], "b" : 0.50})");
  EXPECT_EQ(count, 2u);
}

TEST(RedactJsonTest, EscapesOfJsonHideNothing) {
  EXPECT_EQ(clean_json(R"(["https:\u002f\u002fu:pw@host", "\u001b[31mhf_Ab3Ab3Ab3Ab3Ab3Ab3Ab3\u001b[0m"])"),
            R"(["https://[redacted]@host", "\u001b[31m[redacted]\u001b[0m"])");
  EXPECT_EQ(clean_json(R"(["half of a pair \ud800 stays", "token \"x\""])"),
            R"(["half of a pair \ud800 stays", "token \"x\""])");
  EXPECT_EQ(clean_json(R"(["half of a pair \ud800 hf_Ab3Ab3Ab3Ab3Ab3Ab3Ab3"])"), R"(["[redacted]"])");
}

TEST(RedactJsonTest, TheValueOfASecretMemberGoesWhole) {
  uint64_t count = 0;
  EXPECT_EQ(clean_json(R"({"mapbox":{"accesstoken":"pk.x"},"api_key":{"a":["x",1,{"b":"y"}]},"after":"z","token":"t"})",
                       &count),
            R"({"mapbox":{"accesstoken":"[redacted]"},"api_key":{"a":["[redacted]",1,{"b":"[redacted]"}]},)"
            R"("after":"z","token":"t"})");
  EXPECT_EQ(count, 3u);
}

// Bug: a table of tokens and their tags lost the tokens.
TEST(RedactJsonTest, ATablesColumnGoesByItsNameUnlessThatIsAWordOfLanguageModels) {
  EXPECT_EQ(clean_json(R"({"columns":[{"name":"token","values":["Paris"]},{"name":"api_key","values":["x",null,""]},)"
                       R"({"name":"note","values":["plain"]}]})"),
            R"({"columns":[{"name":"token","values":["Paris"]},{"name":"api_key","values":["[redacted]",null,""]},)"
            R"({"name":"note","values":["plain"]}]})");
}

TEST(RedactJsonTest, WhatIsNoJsonIsRedactedAsAText) {
  uint64_t count = 0;
  EXPECT_EQ(clean_json("no json: api_key=abc", &count), "no json: api_key=[redacted]");
  EXPECT_EQ(clean_json(R"(["open: api_key=abc)", &count), R"(["open: api_key=[redacted])");
  EXPECT_EQ(count, 2u);
}

// Promise P12: Of a table and a figure each text is redacted by itself and counted, and the document stays readable.
TEST(RedactJsonTest, ARandomDocumentStaysJsonWithoutItsSecrets) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  const std::vector<std::string> pieces{
      "api_key=", "S3CRET",  "\"",   "\\",  "password: ", "-----BEGIN PRIVATE KEY-----",
      "hf_",      "\n",      "\x1b", "é",   "https://u:", "@host",
      "Bearer ",  "ghp_",    "{",    "]",   ":",          ",",
      " ",        "Cookie:", "'",    "\\u", "?token=",    "\x01"};
  for (int i = 0; i < 3000; ++i) {
    Value::List cells;
    for (size_t cell = below(5) + 1; cell > 0; --cell) {
      std::string text;
      for (size_t piece = below(8); piece > 0; --piece) text += pieces[below(pieces.size())];
      cells.emplace_back(text + " - AKIAIOSFODNN7EXAMPLE");
    }
    cells.emplace_back("the last one");
    const Value document = Value::Map{{"columns", Value::List{Value::Map{{"name", "n"}, {"values", cells}}}}};
    const std::string text = clean_json(to_json(document));
    const Result<Value> read = from_json(text);
    ASSERT_TRUE(read.ok()) << text;
    const Value::List& values = *(*read->find("columns")->as_list())[0].find("values")->as_list();
    ASSERT_EQ(values.size(), cells.size()) << text;
    EXPECT_EQ(values.back(), Value("the last one")) << text;
    EXPECT_EQ(text.find("AKIAIOS"), std::string::npos) << text;
  }
}

TEST(RedactJsonTest, ADocumentBehindAByteOrderMarkStaysOne) {
  const std::string text = clean_json("\xef\xbb\xbf{\"api_key\": \"abcdefghijkl\", \"lr\": 1}");
  const Result<Value> read = from_json(text);
  ASSERT_TRUE(read.ok()) << text;
  EXPECT_EQ(*read->find("api_key"), Value("[redacted]"));
  EXPECT_EQ(*read->find("lr"), Value(int64_t{1}));
}

}  // namespace
}  // namespace tracker::internal
