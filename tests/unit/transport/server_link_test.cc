// SPDX-License-Identifier: MIT
// Goal: the link greets a server once, keeps to its limits and requests another token once. Method: responses of the
// test.
#include "transport/server_link.h"

#include <gtest/gtest.h>

#include "support/fake_http.h"

namespace tracker::internal {
namespace {

constexpr const char* kGreeting =
    R"({"service": "tracker", "api": [1, 2], "store": "0", "limits": {"batch_bytes": 1000, "digests": 5}})";

TEST(ServerLinkTest, ItAsksForTheLimitsOnceAndNeverSendsMoreThanItsOwn) {
  int asked = 0;
  ServerLink link({"http://h", "t", ""}, FakeHttp::opener([&](const HttpRequest& request) -> Result<HttpResponse> {
                    EXPECT_EQ(request.url, "http://h/api/v1/server");
                    EXPECT_EQ(request.token, "t");
                    ++asked;
                    return FakeHttp::json(200, kGreeting);
                  }));
  EXPECT_TRUE(link.greet().ok());
  EXPECT_TRUE(link.greet().ok());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(link.limits().batch_bytes, 1000u);
  EXPECT_EQ(link.limits().digests, 5u);
  EXPECT_EQ(link.limits().batch_units, ServerLimits().batch_units);
}

TEST(ServerLinkTest, AServerOfAnotherVersionIsNamed) {
  ServerLink link({"http://h", "", ""}, FakeHttp::opener([](const HttpRequest&) -> Result<HttpResponse> {
                    return FakeHttp::json(200, R"({"service": "tracker", "api": [2, 3]})");
                  }));
  const ServerAnswer answer = link.greet();
  EXPECT_EQ(answer.kind, AnswerKind::kUnknownFormat);
  EXPECT_NE(answer.message.find("[2,3]"), std::string::npos) << answer.message;
}

TEST(ServerLinkTest, ATokenThatDoesNotChangeIsNotSentAgain) {
  int asked = 0;
  ServerLink link({"http://h", "t", ""}, FakeHttp::opener([&](const HttpRequest&) -> Result<HttpResponse> {
                    ++asked;
                    return FakeHttp::json(401, R"({"error": {"code": "no_access", "message": ""}})");
                  }));
  EXPECT_EQ(link.call("GET", "projects").kind, AnswerKind::kNoAccess);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace tracker::internal
