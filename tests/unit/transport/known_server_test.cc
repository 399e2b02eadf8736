// SPDX-License-Identifier: MIT
// Goal: a process uses the server and the token of the nearest source that has them, and a token is used for its own
// server only. Method: variables and a login file in a folder of the test.
#include "transport/known_server.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class KnownServerTest : public ::testing::Test {
 protected:
  KnownServerTest() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    ::unsetenv("TRACKER_HOST");
    ::unsetenv("TRACKER_TOKEN");
  }
  ~KnownServerTest() override {
    for (const char* name : {"XDG_CONFIG_HOME", "TRACKER_HOST", "TRACKER_TOKEN"}) ::unsetenv(name);
  }
  TempFolder folder_;
};

TEST_F(KnownServerTest, AnArgumentBeatsAVariableWhichBeatsTheFile) {
  EXPECT_EQ(known_server("", "")->url, "");
  ASSERT_TRUE(save_login({"https://file.example", "of-file", ""}).ok());
  EXPECT_EQ(known_server("", "")->url, "https://file.example");
  EXPECT_EQ(known_server("", "")->token, "of-file");
  EXPECT_EQ(known_server("", "")->token_file, login_file());
  ::setenv("TRACKER_HOST", "https://variable.example/", 1);
  ::setenv("TRACKER_TOKEN", "of-variable", 1);
  EXPECT_EQ(known_server("", "")->url, "https://variable.example");
  EXPECT_EQ(known_server("", "")->token, "of-variable");
  EXPECT_EQ(known_server("argument.example", "of-argument")->url, "https://argument.example");
  EXPECT_EQ(known_server("argument.example", "of-argument")->token, "of-argument");
}

TEST_F(KnownServerTest, TheTokenOfTheFileIsForTheServerOfTheFile) {
  ASSERT_TRUE(save_login({"https://file.example", "of-file", ""}).ok());
  EXPECT_EQ(known_server("https://other.example", "")->token, "");
  const KnownServer known = *known_server("", "");
  ASSERT_TRUE(save_login({"https://file.example", "newer", ""}).ok());
  EXPECT_EQ(read_token_again(known), "newer");
  ASSERT_TRUE(save_login({"https://other.example", "of-other", ""}).ok());
  EXPECT_EQ(read_token_again(known), "of-file");
}

TEST_F(KnownServerTest, ARunsPageNamesItsProjectAsTheConsolesAddressesDo) {
  EXPECT_EQ(run_page("https://x.example/t", "mnist", "ab12"), "https://x.example/t/p/mnist/r/ab12");
  EXPECT_EQ(run_page("http://h", "a/b", "1"), "http://h/p/a~2Fb/r/1");
  EXPECT_EQ(run_page("http://h", "~2F", "1"), "http://h/p/~7E2F/r/1");
  EXPECT_EQ(run_page("http://h", "..", "1"), "http://h/p/~2E./r/1");
  EXPECT_EQ(run_page("http://h", "a?b#c%\xc3\xbc", "1"), "http://h/p/a%3Fb%23c%25%C3%BC/r/1");
}

TEST_F(KnownServerTest, TheFileIsForItsUserAlone) {
  ASSERT_TRUE(save_login({"https://file.example", "t", ""}).ok());
  struct stat st{};
  ASSERT_EQ(::stat(login_file().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(KnownServerTest, HostsWithoutASchemeAreHttpHereAndHttpsElsewhere) {
  EXPECT_EQ(*server_url("127.0.0.1:8080"), "http://127.0.0.1:8080");
  EXPECT_EQ(*server_url("localhost"), "http://localhost");
  EXPECT_EQ(*server_url("[::1]:80/base/"), "http://[::1]:80/base");
  EXPECT_EQ(*server_url("tracker.example.org"), "https://tracker.example.org");
  for (const char* wrong : {"", "http://", "http:///", "ftp://a", "http://u:p@a", "http://a?q", "http://a#f", "a b"})
    EXPECT_EQ(server_url(wrong).status().code(), Code::kInvalid) << wrong;
  EXPECT_EQ(known_server("a", "two words").status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace tracker::internal
