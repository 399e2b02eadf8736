// SPDX-License-Identifier: MIT
// Secrets in free text after their names are replaced, and what only looks like it is kept. Also the digest
// by which files are compared with git's.
#include "monitor/host/secrets.h"

#include <gtest/gtest.h>

#include "model/redact/redact.h"
#include "monitor/host/utf8_text.h"
#include "monitor/source/sha1.h"

namespace tracker::internal {
namespace {

std::string clean(std::string_view text) {
  uint64_t count = 0;
  return redact_code(text, &count);
}

TEST(SecretsTest, AValueBehindASecretNameIsReplacedInEveryNotation) {
  EXPECT_EQ(clean("--password=hunter2 --lr=1"), "--password=[redacted] --lr=1");
  EXPECT_EQ(clean("API_KEY: \"a \\\" b\", x"), "API_KEY: [redacted], x");
  EXPECT_EQ(clean("environ[\"TOKEN\"] = 'q'; z"), "environ[\"TOKEN\"] = [redacted]; z");
  EXPECT_EQ(clean("{\"client_secret\":\"v\"}"), "{\"client_secret\":[redacted]}");
  EXPECT_EQ(clean("+  db.token := zz\n+ next"), "+  db.token := [redacted]\n+ next");
  EXPECT_EQ(clean("key AKIAIOSFODNN7EXAMPLE"), "key [redacted]");
  EXPECT_EQ(clean("tokens: 5, step=3, key=v"), "tokens: 5, step=3, key=v");
  EXPECT_EQ(clean("a token\nb = 1"), "a token\nb = 1");
  EXPECT_EQ(clean("password="), "password=");
}

TEST(SecretsTest, OfACommandLineTheWordBehindASecretOptionGoesToo) {
  uint64_t count = 0;
  const std::vector<std::string> words =
      redact_arguments({"train.py", "--api-key", "abc", "--lr", "0.1", "--token", "--fast", "db.password=x"}, &count);
  EXPECT_EQ(words, (std::vector<std::string>{"train.py", "--api-key", "[redacted]", "--lr", "0.1", "--token", "--fast",
                                             "db.password=[redacted]"}));
  EXPECT_EQ(count, 2u);
}

TEST(SecretsTest, OfAWordThatIsAnAssignmentAllBehindItGoes) {
  uint64_t count = 0;
  EXPECT_EQ(
      redact_arguments({"--password=ab,REST", "--password=z REST", "API_KEY=q;REST", "lr=1,2", "--token="}, &count),
      (std::vector<std::string>{"--password=[redacted]", "--password=[redacted]", "API_KEY=[redacted]", "lr=1,2",
                                "--token="}));
  EXPECT_EQ(count, 3u);
}

TEST(SecretsTest, OfACommandLineThatIsCutASecretAtTheCutGoesToo) {
  const std::string last = "postgres://admin:hunter2@db";
  uint64_t count = 0;
  EXPECT_EQ(redact_arguments({"train.py", last}, &count, last.find('@')).back(), "postgres://[redacted]");
  EXPECT_EQ(redact_arguments({"train.py", last}, &count, 8).back(), "postgres");
  EXPECT_EQ(count, 1u);
}

TEST(SecretsTest, BytesThatAreNoTextBecomeReplacementsAndACutEndsAtACharacter) {
  EXPECT_EQ(as_utf8("a\xff"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(as_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(cut_utf8("gr\xc3\xbc\xc3\x9f", 3), "gr…");
}

TEST(Sha1Test, ItIsThatOfTheStandard) {
  const auto hex = [](std::string_view text) {
    Sha1 sha;
    for (const char c : text) sha.add({&c, 1});
    std::string out;
    for (const uint8_t byte : sha.finish()) {
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out;
  };
  EXPECT_EQ(hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

}  // namespace
}  // namespace tracker::internal
