// SPDX-License-Identifier: MIT
// Goal: a client that asks with a cursor gets each run that changed since, and a run has one folder and one label for
// ever. Method: runs that arrive over the service.
#include <thread>

#include "server/changes.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class ChangesTest : public ServiceTest {
 protected:
  struct Heard {
    std::string cursor;
    size_t runs = 0;
    bool has_uid = false;
  };
  Heard ask_once(const std::string& cursor, Query query = {}) {
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    const Value said = json(ask("GET", "changes", std::move(query)));
    Heard out{said.text_or("cursor", ""), said.find("runs")->as_list()->size(), false};
    for (const Value& run : *said.find("runs")->as_list()) out.has_uid |= *run.as_text() == uid();
    return out;
  }
  // The store is read again each kChangesNs.
  Heard ask_until_named(const std::string& cursor) {
    for (int turn = 0; turn < 1000; ++turn) {
      if (const Heard heard = ask_once(cursor); heard.has_uid) return heard;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "the run is not named";
    return {};
  }
};

TEST_F(ChangesTest, ARunThatGrowsIsNamedOnceForEachCursor) {
  const Heard before = ask_once("");
  EXPECT_EQ(before.runs, 0U);
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  EXPECT_EQ(points(), 6);
  const Heard first = ask_until_named(before.cursor);
  EXPECT_EQ(ask_once(first.cursor).runs, 0U);
  EXPECT_EQ(acked(post(batch(2, 2))), 2);
  EXPECT_EQ(points(), 12);
  EXPECT_EQ(ask_until_named(first.cursor).runs, 1U);
  EXPECT_EQ(ask_once(first.cursor, {{"project", "another"}}).runs, 0U);
}

TEST_F(ChangesTest, ACursorOfAServerBeforeIsToldOfAllRuns) {
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  const Heard before = ask_once("");
  restart();
  EXPECT_TRUE(ask_once(before.cursor).has_uid);
}

TEST_F(ChangesTest, ACursorThatIsNoneIsRefused) {
  for (const std::string cursor : {"x", "1-", "-1", "1-2x", "1-99999999999999999999"})
    EXPECT_EQ(ask("GET", "changes", {{"cursor", cursor}}).status, 400) << cursor;
}

TEST_F(ChangesTest, ALabelStaysAndASecondRunGetsTheNextOne) {
  const auto label = [&] { return json(ask("GET", "runs/" + uid())).text_or("id", ""); };
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  const WriterIdentity first = writer_;
  writer_ = test_identity();
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  EXPECT_EQ(label(), "r-2");
  restart();
  EXPECT_EQ(acked(post(batch(2, 2))), 2);
  EXPECT_EQ(label(), "r-2");
  writer_ = first;
  EXPECT_EQ(label(), "r");
}

}  // namespace
}  // namespace tracker::internal
