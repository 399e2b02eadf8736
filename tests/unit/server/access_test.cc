// SPDX-License-Identifier: MIT
// Goal: a token allows what its scopes and its project allow and nothing else, and the store has only its hash. Method:
// each path of the service's table, with tokens that may and that may not.
#include "server/access.h"

#include "artifact/digest.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class AccessTest : public ServiceTest {
 protected:
  static std::string concrete(std::string pattern) {
    const std::pair<std::string, std::string> parts[] = {
        {"{uid}", std::string(32, 'a')}, {"{digest}", std::string(64, 'b')}, {"{file}", std::string(64, 'b') + ".png"}};
    for (const auto& [name, value] : parts)
      if (const size_t at = pattern.find(name); at != std::string::npos) pattern.replace(at, name.size(), value);
    return pattern;
  }
};

// Promise P12: Without a token nobody gets an answer; a token does what its scopes and project allow; only its hash is
// stored.
TEST_F(AccessTest, WithoutAKnownTokenEachPathIs401) {
  for (const std::string token : {"", "trk_wrong", "x"}) {
    token_ = token;
    for (const RouteInfo& route : Service::routes())
      if (route.scope != kNoScope) {
        EXPECT_EQ(ask(route.method.c_str(), concrete(route.pattern)).status, 401) << route.pattern;
      }
    EXPECT_EQ(ask("GET", "nothing/at/all").status, 401) << "not even which paths there are is said";
  }
}

TEST_F(AccessTest, AScopeOpensItsPathsAlone) {
  const std::string reader = token(kScopeRead), sender = token(kScopeIngest);
  for (const RouteInfo& route : Service::routes()) {
    if (route.pattern == "server" || route.pattern == "session" || route.scope == kNoScope) continue;
    token_ = route.scope == kScopeRead ? sender : reader;
    if (route.pattern == "logout") continue;
    EXPECT_EQ(ask(route.method.c_str(), concrete(route.pattern)).status, 403) << route.pattern;
    token_ = route.scope == kScopeRead ? reader : sender;
    EXPECT_NE(ask(route.method.c_str(), concrete(route.pattern)).status, 403) << route.pattern;
  }
}

TEST_F(AccessTest, ATokenOfAProjectNeitherReadsNorWritesAnother) {
  EXPECT_EQ(acked(post(batch(1, 1), "theirs")), 1);
  token_ = token(kScopeRead | kScopeIngest, "ours");
  EXPECT_EQ(points(), -1);
  EXPECT_EQ(runs(), 0);
  EXPECT_EQ(post(batch(2, 2), "theirs").status, 403);
  EXPECT_NE(post(batch(2, 2), "ours").status, 200) << "the run is in another project";
  writer_ = test_identity();
  EXPECT_EQ(acked(post(batch(1, 1), "ours")), 1);
  EXPECT_EQ(runs(), 1);
}

TEST_F(AccessTest, TheStoreHasTheHashOfATokenAndNotTheToken) {
  const std::string made = token(kScopeRead);
  auto db = Sqlite::open(store_path() + "/server.db", SqliteOpen::kRead, 1000);
  ASSERT_TRUE(db.ok());
  auto find = db->prepare("SELECT count(*) FROM token WHERE hash = ?");
  ASSERT_TRUE(find->bind_blob(sha256(made).view()).step().value_or(false));
  EXPECT_EQ(find->int_at(0), 1);
  for (const char* name : {"/server.db", "/server.db-wal", "/server.db-journal"}) {
    const std::string bytes = read_file(store_path() + name, 1 << 20).value_or("");
    EXPECT_EQ(bytes.find(made.substr(kTokenPrefix.size())), std::string::npos) << name;
  }
}

TEST_F(AccessTest, ACodeOpensOneSessionWhichACookieCarries) {
  const std::string code = *service_->access().create_code(kScopeRead);
  const auto session = service_->access().login("", code, "1.2.3.4");
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(service_->access().login("", code, "1.2.3.4").status().code(), Code::kNotFound);
  Request request;
  request.method = "GET";
  request.path = "runs";
  request.cookie = "other=1; " + service_->access().cookie_name() + "=" + session->secret;
  EXPECT_EQ(service_->handle(request).status, 200);
  request.method = "POST";
  request.path = "logout";
  EXPECT_EQ(service_->handle(request).status, 403) << "a change by cookie needs X-Tracker";
  request.marked = true;
  EXPECT_EQ(service_->handle(request).status, 200);
  EXPECT_EQ(service_->handle(request).status, 401);
}

TEST_F(AccessTest, WrongTokensFromOneAddressAreThrottledAndNoOther) {
  for (int turn = 0; turn <= kWrongLoginsAMinute; ++turn) (void)service_->access().login("x", "", "1.2.3.4");
  EXPECT_EQ(service_->access().login(token_, "", "1.2.3.4").status().code(), Code::kBusy);
  EXPECT_TRUE(service_->access().login(token_, "", "1.2.3.5").ok());
}

}  // namespace
}  // namespace tracker::internal
