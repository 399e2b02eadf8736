// SPDX-License-Identifier: MIT
// Goal: what a client requests or sends is bounded as in docs/limits.md. Method: at the limit and one beyond it; times
// are changed in the server's tables.
#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>

#include "artifact/digest.h"
#include "server/service_impl.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class ServerLimitsTest : public ServiceTest {
 protected:
  int status_of(const std::string& path, Query query) { return ask("GET", path, std::move(query)).status; }
  void change_tables(const std::string& statement) {
    auto db = Sqlite::open(store_path() + "/server.db", SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->exec(statement.c_str()).ok());
  }
};

// Reaches the limits kLinesLimitMax, kRowsLimitMax.
TEST_F(ServerLimitsTest, ListsRowsAndLinesOfOneAnswer) {
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  const std::string run = "runs/" + uid();
  const struct {
    std::string path;
    Query query;
    uint64_t max;
  } cases[] = {{"runs", {}, kListLimitMax},
               {run + "/series", {}, kListLimitMax},
               {run + "/media", {}, kListLimitMax},
               {run + "/rows", {{"key", "metric/1"}}, 1'000'000},
               {run + "/console", {}, 10'000}};
  for (const auto& each : cases) {
    Query query = each.query;
    query.emplace_back("limit", std::to_string(each.max));
    EXPECT_EQ(status_of(each.path, query), 200) << each.path;
    query.back().second = std::to_string(each.max + 1);
    EXPECT_EQ(status_of(each.path, query), 400) << each.path;
  }
}

TEST_F(ServerLimitsTest, DigestsOfOneQuestion) {
  const auto ask_for = [&](size_t count) {
    std::string body = "{\"blobs\": [";
    for (size_t i = 0; i < count; ++i) body += (i > 0 ? ",\"" : "\"") + sha256(std::to_string(i)).hex() + "\"";
    return ask("POST", "files/missing", {{"project", "p"}}, body + "]}").status;
  };
  EXPECT_EQ(ask_for(kDigestsMax), 200);
  EXPECT_EQ(ask_for(kDigestsMax + 1), 413);
}

TEST_F(ServerLimitsTest, APartOfAFile) {
  const std::string content(kPartBytesMax + 1, 'x'), path = "blobs/" + sha256(content).hex();
  const Query query{{"project", "p"}, {"bytes", std::to_string(content.size())}};
  EXPECT_EQ(ask("PUT", path, query, content).status, 413);
  EXPECT_EQ(ask("PUT", path, query, std::string_view(content).substr(1)).status, 200);
}

TEST_F(ServerLimitsTest, AnUploadToWhichNothingComesForADayGoes) {
  const std::string digest = sha256("whole").hex(), file = store_path() + "/uploads/" + digest;
  EXPECT_EQ(ask("PUT", "blobs/" + digest, {{"project", "p"}, {"bytes", "5"}}, "who").status, 200);
  const auto age_to = [&](int64_t seconds) {
    const timespec times[2] = {{::time(nullptr) - seconds, 0}, {::time(nullptr) - seconds, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
    EXPECT_EQ(ask("POST", "files/missing", {{"project", "p"}}, "{}").status, 200);
    return path_exists(file);
  };
  const int64_t day_s = std::chrono::seconds(kUploadAge).count();
  EXPECT_TRUE(age_to(day_s - 60));
  EXPECT_FALSE(age_to(day_s + 60));
}

TEST_F(ServerLimitsTest, ASessionAndACodeEnd) {
  const std::string code = *service_->access().create_code(kScopeRead);
  const auto session = service_->access().login(token_, "", "1.2.3.4");
  const std::string cookie = service_->access().cookie_name() + "=" + session->secret;
  EXPECT_TRUE(service_->access().grant("", cookie));
  change_tables("UPDATE session SET expires_us = expires_us - 1000000 * " + std::to_string(kSessionSeconds));
  EXPECT_FALSE(service_->access().grant("", cookie));
  change_tables("UPDATE code SET expires_us = expires_us - 1000000 * " + std::to_string(kCodeSeconds));
  EXPECT_FALSE(service_->access().login("", code, "1.2.3.4").ok());
}

TEST_F(ServerLimitsTest, AddressesOfWrongLoginsAreForgottenBeforeTheyFillTheMemory) {
  for (int turn = 0; turn <= kWrongLoginsAMinute; ++turn) (void)service_->access().login("x", "", "first");
  EXPECT_EQ(service_->access().login("x", "", "first").status().code(), Code::kBusy);
  for (size_t i = 0; i < kLoginAddressesMax; ++i) (void)service_->access().login("x", "", std::to_string(i));
  EXPECT_EQ(service_->access().login("x", "", "first").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tracker::internal
