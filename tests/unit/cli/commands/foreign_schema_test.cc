// SPDX-License-Identifier: MIT
// Goal: a database that somebody has changed may hold no view, trigger, expression or table of his: every command ends,
// names the file and the object, and shows the rest. Method: databases of a whole run, changed through SQLite itself.
// Bug: a view with the name of a table kept each command busy for ever.
#include <sqlite3.h>
#include <unistd.h>

#include "storage/recovery/trash.h"
#include "storage/sqlite/sqlite.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

constexpr unsigned kSecondsMax = 120;  // SIGALRM ends a test that hangs
constexpr const char* kEndless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) ";

void change(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << sql << ": " << (error ? error : "");
  sqlite3_free(error);
  sqlite3_close(db);
}

class ForeignSchemaTest : public CliTest {
 protected:
  ForeignSchemaTest() {
    ::alarm(kSecondsMax);
    builder_.writer(builder_.run("p", "sound")).log("loss", 0, 1).end(RunState::kFinished).finish();
  }
  ~ForeignSchemaTest() override { ::alarm(0); }
  // The path of the database of a run p/e that is changed so.
  std::string make_changed(const std::string& sql) {
    auto writer = builder_.writer(builder_.run("p", "e"));
    const std::string path = writer.path();
    writer.log("loss", 0, 1).end(RunState::kFinished).finish();
    change(path, sql);
    return path;
  }
  void expect_named(const std::string& path, const std::string& object) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"ls"}, {"show", "p/e"}, {"verify"}, {"export", "p/e"}, {"tail", "p/e"}}) {
      EXPECT_EQ(run(command), kExitDamaged) << command.front() << err_ << out_;
      EXPECT_NE((err_ + out_).find(path), std::string::npos) << command.front() << err_ << out_;
      EXPECT_NE((err_ + out_).find("\"" + object + "\""), std::string::npos) << command.front() << err_ << out_;
    }
    EXPECT_EQ(run({"show", "p/sound"}), kExitOk) << err_;
    EXPECT_EQ(run({"rm", "p/e", "--yes"}), kExitOk) << err_;
  }
};

TEST_F(ForeignSchemaTest, AViewInATablesPlaceIsNamedAndNeverRead) {
  const std::string frames = std::string(
                                 "DROP TABLE frames; CREATE VIEW frames(seq, points, "
                                 "time_first_us, time_last_us, data) AS ") +
                             kEndless + "SELECT x, 1, 1, 1, x'00' FROM c;";
  expect_named(make_changed(frames), "frames");
  const std::string meta =
      std::string("DROP TABLE meta; CREATE VIEW meta(key, value) AS ") + kEndless + "SELECT x, x FROM c;";
  expect_named(make_changed(meta), "meta");
  const std::string segments = std::string(
                                   "DROP TABLE segments; CREATE VIEW segments(first_seq, last_seq, points, "
                                   "time_first_us, time_last_us, data) AS ") +
                               kEndless + "SELECT x, x, 1, 1, 1, x'00' FROM c;";
  expect_named(make_changed(segments), "segments");
}

// Bug: after somebody's ANALYZE, or with an index of his own, the whole run was refused.
TEST_F(ForeignSchemaTest, StatisticsAndPlainIndexesOfAUserAreReadPast) {
  for (const char* sql : {"ANALYZE;", "CREATE INDEX \"by points\" ON frames (points,\n time_first_us);",
                          "CREATE INDEX of_series ON losses(reason); ANALYZE; ANALYZE losses;"}) {
    (void)make_changed(sql);
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"ls"}, {"show", "p/e"}, {"verify"}, {"export", "p/e"}, {"tail", "p/e"}})
      EXPECT_EQ(run(command), kExitOk) << sql << " " << command.front() << err_ << out_;
    EXPECT_EQ(run({"rm", "p/e", "--yes"}), kExitOk) << err_;
  }
}

TEST_F(ForeignSchemaTest, WhatSqliteWouldComputeIsRefused) {
  expect_named(make_changed("CREATE INDEX part ON losses(count) WHERE count > 1;"), "part");
  expect_named(make_changed("CREATE INDEX absolute ON losses(abs(count));"), "absolute");
  expect_named(make_changed("CREATE UNIQUE INDEX once ON losses(count);"), "once");
  expect_named(make_changed("ALTER TABLE frames ADD COLUMN more GENERATED ALWAYS AS (length(data)) VIRTUAL;"),
               "frames");
  expect_named(make_changed("CREATE INDEX of_losses ON losses(count + 1);"), "of_losses");
  expect_named(make_changed("CREATE TRIGGER on_series AFTER INSERT ON series BEGIN DELETE FROM frames; END;"),
               "on_series");
  expect_named(make_changed("CREATE TABLE mine(x);"), "mine");
  expect_named(make_changed("DROP TABLE losses; CREATE TABLE losses(series INTEGER NOT NULL, reason INTEGER NOT NULL, "
                            "count INTEGER NOT NULL CHECK(count > 0), PRIMARY KEY(series, reason)) WITHOUT ROWID;"),
               "losses");
}

TEST_F(ForeignSchemaTest, ADatabaseWithoutATableSaysWhich) {
  const std::string path = make_changed("DROP TABLE losses;");
  EXPECT_EQ(run({"show", "p/e"}), kExitDamaged);
  EXPECT_NE(err_.find(path + ": it has no table losses"), std::string::npos) << err_;
}

TEST_F(ForeignSchemaTest, BlanksInAStatementMeanNothing) {
  make_changed("DROP TABLE journal; CREATE TABLE journal(nonce   INTEGER\n PRIMARY KEY, position INTEGER NOT NULL);");
  EXPECT_EQ(run({"show", "p/e"}), kExitOk) << err_;
}

// Bug: ANALYZE, which tools run by themselves, hid a whole run and kept what waited in its journal from being stored.
TEST_F(ForeignSchemaTest, WhatAnalyzeLeavesIsNoHarm) {
  const std::string path = make_changed("ANALYZE;");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"ls"}, {"show", "p/e"}, {"verify"}, {"export", "p/e"}})
    EXPECT_EQ(run(command), kExitOk) << command.front() << err_ << out_;
  change(path, "DROP TABLE sqlite_stat1; CREATE TABLE mine(x); ");
  EXPECT_EQ(run({"show", "p/e"}), kExitDamaged);
}

TEST_F(ForeignSchemaTest, AnAddedObjectIsDroppedAndAChangedOneRestored) {
  const std::string path = make_changed("CREATE TABLE mine(x);");
  EXPECT_EQ(run({"show", "p/e"}), kExitDamaged);
  EXPECT_NE(err_.find("drop it there with sqlite3"), std::string::npos) << err_;
  EXPECT_NE(out_.find("0 points stored in what can be read."), std::string::npos) << out_;
  EXPECT_EQ(out_.find("Nothing lost"), std::string::npos) << out_;  // as it read before
  change(path, "DROP TABLE mine;");
  EXPECT_EQ(run({"show", "p/e"}), kExitOk) << err_;
  change(path, "DROP TABLE losses; CREATE TABLE losses(series INTEGER);");
  EXPECT_EQ(run({"show", "p/e"}), kExitDamaged);
  EXPECT_NE(err_.find("restore it from a copy"), std::string::npos) << err_;
}

TEST_F(ForeignSchemaTest, ACatalogWithAViewIsMadeAnew) {
  ASSERT_EQ(run({"ls"}), kExitOk) << err_;
  change(builder_.path() + "/catalog.db",
         std::string("ALTER TABLE signs RENAME TO s2; CREATE VIEW signs(folder, id, trust, inode, ctime_ns, mtime_ns, "
                     "files, judged_by) AS ") +
             kEndless + "SELECT 'x', x, 1, 1, 1, 1, 1, 'y' FROM c;");
  EXPECT_EQ(run({"ls"}), kExitOk) << err_;
  EXPECT_NE(out_.find("sound"), std::string::npos) << out_;
}

// Reaches the limit kStepInstructionsMax.
TEST_F(ForeignSchemaTest, AReadersStepIsBounded) {
  const std::string path = make_changed("");
  set_step_instructions_for_testing(10'000'000);
  auto db = Sqlite::open(path, SqliteOpen::kRead, 0);
  ASSERT_TRUE(db.ok());
  const auto count = db->query_int((std::string(kEndless) + "SELECT count(*) FROM c").c_str());
  EXPECT_EQ(count.status().code(), Code::kLimit) << count.status().to_string();
  EXPECT_NE(count.status().message().find(path), std::string::npos);
  // Each step has all of it: what is long as a whole is read.
  auto rows = db->prepare(std::string(kEndless) + "SELECT x FROM c");
  ASSERT_TRUE(rows.ok());
  for (int i = 0; i < 2'000'000; ++i) ASSERT_TRUE(rows->step().value_or(false)) << i;
  set_step_instructions_for_testing(0);
}

}  // namespace
}  // namespace tracker::internal
