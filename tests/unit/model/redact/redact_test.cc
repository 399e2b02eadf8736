// SPDX-License-Identifier: MIT
// Goal: no secret of a known form is kept, and what only looks like one is.
// Method: texts and keys as people write them.
#include "model/redact/redact.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

std::string clean(std::string_view text) {
  uint64_t count = 0;
  return redact_text(text, &count);
}

TEST(RedactTest, CredentialsInUrlsGoWhateverThePasswordHolds) {
  EXPECT_EQ(clean("https://u:pass@host/x"), "https://[redacted]@host/x");
  EXPECT_EQ(clean("https://u:p@ss@host/x"), "https://[redacted]@host/x");
  EXPECT_EQ(clean("postgres://u:pa/ss@h"), "postgres://[redacted]@h");
  EXPECT_EQ(clean("see https://u:pa?s#s@h and more"), "see https://[redacted]@h and more");
}

TEST(RedactTest, UrlsWithoutCredentialsStayAsTheyAre) {
  for (const char* url : {"https://host:8080/user@2x.png", "ssh://git@host/repo", "http://host/a:b@c", "a://"})
    EXPECT_EQ(clean(url), url);
}

TEST(RedactTest, KnownTokensGoAndWordsLikeThemStay) {
  EXPECT_EQ(clean("AKIAIOSFODNN7EXAMPLE"), "[redacted]");
  EXPECT_EQ(clean("use ghp_abcdefghijklmnopqrstuvwxyz now"), "use [redacted] now");
  EXPECT_EQ(clean("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"), "[redacted]");
  for (const char* text : {"risk-averse-strategies-for-training", "hf_small", "sk-learn", "AKIA"})
    EXPECT_EQ(clean(text), text);
}

// Each form that the documentation lists, so that none goes missing.
// Promise P12: Values whose key's last word is api_key, secret, password, passwd, token or private_key, and texts of
// known forms, are stored as `[redacted]` and counted.
TEST(RedactTest, EveryListedKeyAndFormIsRedactedAndCounted) {
  for (const char* key : {"api_key", "secret", "password", "passwd", "token", "private_key"}) {
    for (const std::string& name : {std::string(key), "my_" + std::string(key)}) {
      Value value = Value::Map{{name, "plain words"}};
      uint64_t count = 0;
      redact("", &value, &count);
      EXPECT_EQ(*value.find(name), Value("[redacted]")) << name;
      EXPECT_EQ(count, 1u) << name;
    }
  }
  for (const char* text :
       {"AKIAIOSFODNN7EXAMPLE", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "hf_abcdefghijklmnopqrstuvwxyzABCDEF",
        "sk-abcdefghijklmnopqrstuvwxyz012345", "trk_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP-",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXNpZw"}) {
    uint64_t count = 0;
    EXPECT_EQ(redact_text(std::string("a ") + text + " b", &count), "a [redacted] b") << text;
    EXPECT_EQ(count, 1u) << text;
  }
  uint64_t count = 0;
  EXPECT_EQ(redact_text("postgres://user:pass@host/db", &count), "postgres://[redacted]@host/db");
  EXPECT_EQ(count, 1u);
}

// Promise P12: Whole words only: `tokenizer` and `max_tokens` stay.
TEST(RedactTest, TheLastWordOfAKeyDecides) {
  for (const char* key : {"api_key", "OPENAI_API_KEY", "openaiApiKey", "db.password", "auth-token", "privateKey",
                          "AWS_SECRET_ACCESS_KEY", "secret"})
    EXPECT_TRUE(is_secret_key(key)) << key;
  for (const char* key : {"key", "tokenizer", "max_tokens", "password_length", "monkey", "token_count", ""})
    EXPECT_FALSE(is_secret_key(key)) << key;
}

TEST(RedactTest, WhatStandsBelowASecretKeyIsAsSecret) {
  Value value = Value::Map{{"auth_token", Value::Map{{"value", "x"}, {"n", 3}}}, {"lr", 0.1}};
  uint64_t count = 0;
  redact("", &value, &count);
  EXPECT_EQ(*value.find_path("auth_token/value"), Value(kRedacted));
  EXPECT_EQ(*value.find_path("auth_token/n"), Value(3));
  EXPECT_EQ(count, 1u);
}

TEST(RedactTest, BehindASecretOptionInAListAWordGoes) {
  const Value::List words{"train.py", "--password", "hunter2", "--lr", "0.1", "--token", "-v", "--api-key=x", "y"};
  Value value = Value::Map{{"argv", words}, {"ids", Value::List{"--pin", "--secret", 3}}};
  uint64_t count = 0;
  redact("", &value, &count);
  const Value::List kept{"train.py", "--password", "[redacted]",           "--lr", "0.1",
                         "--token",  "-v",         "--api-key=[redacted]", "y"};
  EXPECT_EQ(*value.find("argv"), Value(kept));
  EXPECT_EQ(*value.find("ids"), Value(Value::List{"--pin", "--secret", 3}));
  EXPECT_EQ(count, 2u);
}

TEST(RedactTest, OfAWordInAListAllBehindTheNameGoes) {
  Value value = Value::List{"--password=ab,REST", "--api-key=x y;REST", "API_KEY=q,REST", "lr=1,2", "token=a,b"};
  uint64_t count = 0;
  redact("argv", &value, &count);
  EXPECT_EQ(to_json(value),
            R"(["--password=[redacted]","--api-key=[redacted]","API_KEY=[redacted]","lr=1,2","token=a,b"])");
  EXPECT_EQ(count, 3u);
}

TEST(RedactTest, OfATextThatIsCutASecretAtTheCutGoesWholeAndNoneBehindItCounts) {
  const std::string text = "see postgres://u:pass@host and AKIAIOSFODNN7EXAMPLE";
  const size_t begin = text.find("u:"), end = text.find('@');
  for (size_t bytes = 0; bytes <= text.find("AKIA"); ++bytes) {
    uint64_t count = 0;
    const std::string expected =
        bytes <= begin ? text.substr(0, bytes)
                       : "see postgres://[redacted]" + (bytes > end ? text.substr(end, bytes - end) : std::string());
    EXPECT_EQ(redact_text(text, &count, bytes), expected) << bytes;
    EXPECT_EQ(count, bytes > begin ? 1u : 0u) << bytes;
  }
  uint64_t count = 0;
  EXPECT_EQ(redact_text(text, &count, text.size() - 1), "see postgres://[redacted]@host and [redacted]");
  // No more is read than the header says.
  const std::string far = "--password='" + std::string(2 * kSecretAheadBytes, 'x') + "' rest";
  EXPECT_EQ(redact_text(far, &count, 14), "--password=[redacted]");
}

}  // namespace
}  // namespace tracker::internal
