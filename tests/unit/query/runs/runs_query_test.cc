// SPDX-License-Identifier: MIT
// Goal: a listing shows the runs that match, in the order asked, and is true of the folders whatever the catalog was.
// Method: stores made by hand, listed twice with a clock that lies 10 s ahead, so that fresh folders are believed.
#include "query/runs/runs_query.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "query/runs/run_record.h"
#include "query/view/alerts.h"
#include "query/view/run_view.h"
#include "support/child.h"
#include "support/runs_query_test.h"

namespace tracker::internal {
namespace {

// Bug: `tracker ls` beside a `tracker rm` named the run as damaged and ended with 1 or 3.
TEST_F(RunsQueryTest, ARunThatIsRemovedWhileItIsReadIsNoDamage) {
  finished_run("p", "gone", 1);
  finished_run("p", "stays", 2);
  auto catalog = Catalog::open(builder_.store(), Catalog::Place::kStore);
  ASSERT_TRUE(catalog.ok()) << catalog.status().to_string();
  const auto read = [this](const RunFolder& folder) {
    if (folder.identity.id != "gone") return read_run_record(folder);
    std::filesystem::rename(folder.path, builder_.path() + "/moved");
    return Result<CatalogRecord>(Status(Code::kCorrupt, folder.path + " cannot be read"));
  };
  CatalogRefresh refresh;
  refresh.now_us = realtime_us();
  CatalogReport report;
  ASSERT_TRUE(catalog->refresh(refresh, read, &report).ok());
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.worst, Code::kOk);
  EXPECT_EQ(catalog->db().query_int("SELECT count(*) FROM runs").value_or(-1), 1);
}

TEST_F(RunsQueryTest, RunsStandNewestFirstAndMatchesAreCountedBeforeThePage) {
  three_runs();
  RunsQuery page = query();
  page.limit = 1;
  page.offset = 1;
  const RunsList found = list(page);
  EXPECT_EQ(ids(found), "two");
  EXPECT_EQ(found.matched, 3u);
  EXPECT_EQ(ids(list("config.lr > 0.15")), "three two");
  page.where = "config.lr > 0.15";
  EXPECT_EQ(ids(list(page)), "two");
  EXPECT_EQ(list(page).matched, 2u);
  page = query();
  page.project = "a";
  EXPECT_EQ(ids(list(page)), "two one");
  page.offset = 100;
  EXPECT_EQ(ids(list(page)), "");
}

TEST_F(RunsQueryTest, OrdersGoByFixedFieldsAndByWhatWasLogged) {
  three_runs();
  builder_.writer(builder_.run("c", "empty", kBuilderStartUs)).end(RunState::kFailed).finish();
  EXPECT_EQ(ids(list("", "id")), "empty one three two");
  EXPECT_EQ(ids(list("", "-project,id")), "empty three one two");
  EXPECT_EQ(ids(list("", "metrics.loss")), "one two three empty");
  EXPECT_EQ(ids(list("", "-metrics.loss")), "three two one empty");
  EXPECT_EQ(ids(list("", "metrics.loss.first")), "three two one empty");
  EXPECT_EQ(ids(list("", "-config.lr")), "three two one empty");
  EXPECT_EQ(ids(list("", "state")), "empty three two one");  // by name: failed before finished
}

TEST_F(RunsQueryTest, ValuesThatAResumeShadowsAreNotListed) {
  const RunFolder run = builder_.run("p", "r");
  auto first = builder_.writer(run);
  for (int64_t step = 0; step < 5; ++step) first.log("loss", step, static_cast<double>(step));
  first.log("late", 4, 9).finish();
  builder_.writer(run, {.attempt = 2, .continues = 1, .resume_step = 1}).log("other", 2, 1).finish();
  const auto columns = parse_columns("metrics.loss,summary.loss,metrics.late,summary.late");
  ASSERT_TRUE(columns.ok());
  RunsQuery asked = query();
  asked.columns = *columns;
  const RunsList found = list(asked);
  ASSERT_EQ(found.rows.size(), 1u);
  const auto& values = found.rows[0].columns;
  EXPECT_EQ(values[0], Value(1.0));
  EXPECT_EQ(values[1], Value(1.0));
  EXPECT_FALSE(values[2].has_value());
  EXPECT_FALSE(values[3].has_value());
}

// They were of all rows: a run resumed from before it diverged was listed with the divergence for ever.
TEST_F(RunsQueryTest, StatisticsAreOfTheRowsThatNoResumeShadows) {
  const RunFolder run = builder_.run("p", "r");
  auto first = builder_.writer(run);
  first.log("loss", 0, 4).log("loss", 1, 2).log("loss", 2, -100).log("loss", 3, 100).log("loss", 4, std::nan(""));
  first.log("gone", 3, 7).finish();
  builder_.writer(run, {.attempt = 2, .continues = 1, .resume_step = 1}).log("loss", 2, 3).log("new", 2, 1).finish();
  const auto values = columns_of_the_run(
      "metrics.loss.first,metrics.loss.min,metrics.loss.max,metrics.loss.mean,metrics.loss.count,metrics.loss.nan,"
      "metrics.gone.min,metrics.gone.first");
  EXPECT_EQ(values[0], Value(4.0));
  EXPECT_EQ(values[1], Value(2.0));
  EXPECT_EQ(values[2], Value(4.0));
  EXPECT_EQ(values[3], Value(3.0));
  EXPECT_EQ(values[4], Value(3));
  EXPECT_EQ(values[5], Value(0));
  EXPECT_FALSE(values[6].has_value());
  EXPECT_FALSE(values[7].has_value());
  EXPECT_EQ(ids(list("metrics.loss.min < 0")), "");
}

TEST_F(RunsQueryTest, MetricsHaveTheirStatistics) {
  auto writer = builder_.writer(builder_.run("p", "r"));
  writer.log("loss", 0, 4.0).log("loss", 1, std::nan("")).log("loss", 2, 1.0).log("loss", 3, 4.0).finish();
  const auto values = columns_of_the_run(
      "metrics.loss,metrics.loss.first,metrics.loss.min,metrics.loss.max,"
      "metrics.loss.mean,metrics.loss.count,metrics.loss.nan,metrics.none");
  EXPECT_EQ(values[0], Value(4.0));
  EXPECT_EQ(values[1], Value(4.0));
  EXPECT_EQ(values[2], Value(1.0));
  EXPECT_EQ(values[3], Value(4.0));
  EXPECT_EQ(values[4], Value(3.0));
  EXPECT_EQ(values[5], Value(4));
  EXPECT_EQ(values[6], Value(1));
  EXPECT_FALSE(values[7].has_value());
}

TEST_F(RunsQueryTest, ASecondListingReadsNothingThatDidNotChange) {
  three_runs();
  EXPECT_EQ(list().read, 3u);
  EXPECT_EQ(list().read, 0u);
  EXPECT_EQ(ids(list()), "three two one");
}

TEST_F(RunsQueryTest, FoldersThatAreTooYoungToTellAChangeAreReadAgain) {
  three_runs();
  RunsQuery now = query();
  now.files_now_us = realtime_us();
  EXPECT_EQ(list(now).read, 3u);
  EXPECT_EQ(list(now).read, 3u);
}

// Bug: `tracker rm --where` removed a run for what the catalog, an index, said of it.
TEST_F(RunsQueryTest, WhoActsOnItGetsWhatTheRunsThemselvesSay) {
  three_runs();
  list();
  auto db = Sqlite::open(builder_.path() + "/" + kCatalogFile, SqliteOpen::kWrite, 1000);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(db->exec("UPDATE runs SET points=points+1000, run_id='zzz' WHERE folder='a/one'").ok());
  *db = Sqlite();
  for (const char* filter : {"points > 1000", "id = zzz"}) {
    RunsQuery wanted = query();
    wanted.where = filter;
    EXPECT_EQ(list(wanted).matched, 1u) << "a listing believes it";
    wanted.afresh = true;
    const RunsList found = list(wanted);
    EXPECT_EQ(found.matched, 0u);
    EXPECT_EQ(found.denied, 1u);
    EXPECT_TRUE(found.rows.empty());
  }
  RunsQuery all = query();
  all.afresh = true;
  EXPECT_EQ(ids(list(all)), "three two one");
}

TEST_F(RunsQueryTest, WhatIsNewIsReadWhatIsGoneIsForgotten) {
  three_runs();
  list();
  finished_run("b", "four", 4);
  std::filesystem::remove_all(builder_.path() + "/runs/a/one");
  const RunsList found = list();
  EXPECT_EQ(ids(found), "four three two");
  EXPECT_EQ(found.read, 1u);
  std::filesystem::remove_all(builder_.path() + "/runs/b");
  EXPECT_EQ(ids(list()), "two");
  std::filesystem::remove_all(builder_.path() + "/runs");
  EXPECT_EQ(ids(list()), "");
}

TEST_F(RunsQueryTest, AResumedRunIsReadAgain) {
  const RunFolder folder = finished_run("a", "one", 1);
  EXPECT_EQ(list("state = finished").matched, 1u);
  BuilderOptions second;
  second.attempt = 2;
  second.started_us = kBuilderStartUs + 500 * kSecondUs;
  builder_.writer(folder, second).log("loss", 2, 77.0).end(RunState::kFailed, 1).finish();
  EXPECT_EQ(list("state = failed and metrics.loss = 77").matched, 1u);
}

TEST_F(RunsQueryTest, AWriterWithoutAnEndIsReadEachTimeUntilItIsLongSilent) {
  // Its host is not ours: whether it lives is unknown here, and it may come back.
  auto writer = builder_.writer(builder_.run("a", "one"));
  writer.log("loss", 0, 1.0).commit();
  writer.heartbeat(realtime_us());
  EXPECT_EQ(list().read, 1u);
  EXPECT_EQ(list().read, 1u);
  EXPECT_EQ(list("state = running").matched, 1u);
  writer.heartbeat(realtime_us() - 2 * kCatalogSilent.count());
  EXPECT_EQ(list().read, 1u);
  EXPECT_EQ(list("state = \"lost contact\"").matched, 1u);
  EXPECT_EQ(list().read, 0u);
  writer.heartbeat(realtime_us());  // a sign of life changes nothing in the folder itself
  EXPECT_EQ(list("state = running").matched, 1u);
}

// Promise P11: The catalog is derived, and no process that records writes it.
TEST_F(RunsQueryTest, TheCatalogMayBeDeletedAtAnyTime) {
  three_runs();
  list();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(catalog() + suffix);
  EXPECT_EQ(ids(list()), "three two one");
  EXPECT_EQ(list().read, 0u);
}

// Any bytes in place of the catalog, and a catalog damaged in any place: the listing is that of the folders.
TEST_F(RunsQueryTest, ADamagedCatalogIsMadeAnew) {
  three_runs();
  list();
  const auto size = std::filesystem::file_size(catalog());
  ASSERT_GT(size, 8192u);
  for (uint64_t at = 0; at < size; at += 997 * kSlowDown) {
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(catalog() + suffix);
    {
      std::fstream file(catalog(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      file << "\xff\xfe rubbish \x00\x01";
    }
    EXPECT_EQ(ids(list("config.lr > 0.15 and metrics.loss.max >= 7", "config.lr")), "two three") << at;
    EXPECT_EQ(ids(list()), "three two one") << at;
    std::filesystem::remove(catalog());
    list();
  }
  std::ofstream(catalog(), std::ios::trunc) << "no database at all, but longer than nothing";
  EXPECT_EQ(ids(list()), "three two one");
  EXPECT_EQ(list().read, 0u);
}

// A pipe in place of the catalog held up every listing for ever.
TEST_F(RunsQueryTest, APipeInPlaceOfTheCatalogIsMadeAnew) {
  three_runs();
  ASSERT_EQ(::mkfifo(catalog().c_str(), 0600), 0);
  EXPECT_EQ(ids(list()), "three two one");
  EXPECT_TRUE(std::filesystem::is_regular_file(catalog()));
  EXPECT_EQ(list().read, 0u);
}

// A user who may write into the store must not make a listing of ours write, or make, a file elsewhere.
TEST_F(RunsQueryTest, LinksInPlaceOfTheCatalogAndItsLockAreNotFollowed) {
  three_runs();
  TempFolder elsewhere;
  const std::string lock = elsewhere.path() + "/lock", db = elsewhere.path() + "/db";
  std::filesystem::create_symlink(lock, builder_.path() + "/catalog.lock");
  EXPECT_EQ(list().matched, 3u);
  EXPECT_TRUE(list().in_memory);
  EXPECT_FALSE(path_exists(lock));
  std::filesystem::remove(builder_.path() + "/catalog.lock");
  for (const char* text : {"", "somebody's"}) {
    std::filesystem::remove(catalog());
    std::ofstream(db) << text;
    std::filesystem::create_symlink(db, catalog());
    EXPECT_EQ(list().matched, 3u);
    EXPECT_EQ(read_file(db, 100).value_or("gone"), text);
    EXPECT_FALSE(list().in_memory) << "the link was replaced";
  }
}

TEST_F(RunsQueryTest, ACatalogOfAnotherVersionOrStoreIsMadeAnew) {
  three_runs();
  for (const char* change : {"PRAGMA user_version=99", "PRAGMA application_id=1", "UPDATE meta SET value='other'",
                             "DROP TABLE documents", "DELETE FROM documents; UPDATE runs SET uid=''"}) {
    list();
    auto db = Sqlite::open(catalog(), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->exec(change).ok()) << change;
    db->close();
    EXPECT_EQ(ids(list("not missing(config.lr)")), "three two one") << change;
    EXPECT_EQ(ids(list()), "three two one") << change;
    EXPECT_EQ(list().read, 0u) << change;
  }
}

// Bug: a row whose folder was changed to "../../x" was listed with a folder outside the store for good: its sign held,
// and it was not checked whether the two were a run's place at all.
// Promise P12: A row of the catalog leads no reader out of the store.
TEST_F(RunsQueryTest, ARowOfNoRunsFolderIsDroppedAndLeadsNobodyOutOfTheStore) {
  three_runs();
  TempFolder elsewhere;
  const std::string name = elsewhere.path().substr(elsewhere.path().find_last_of('/') + 1);
  const std::string outside = std::filesystem::relative(elsewhere.path(), builder_.path() + "/runs").string();
  std::vector<std::string> changes;
  for (const std::string& folder : {outside, std::string("../") + name, std::string("a/../../x"), std::string(""),
                                    std::string("a"), std::string("a/"), std::string("/one"),
                                    std::string("a/one/media"), std::string("./one"), std::string("a/..")}) {
    const std::string set = " SET folder='" + folder + "' WHERE folder='a/one'";
    changes.push_back("UPDATE runs" + set + "; UPDATE signs" + set);
    changes.push_back("UPDATE signs" + set);
    changes.push_back("UPDATE runs" + set);
  }
  changes.push_back("UPDATE signs SET folder=CAST(folder AS BLOB)");
  for (const std::string& change : changes) {
    ASSERT_EQ(ids(list()), "three two one");
    auto db = Sqlite::open(catalog(), SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db->exec(change.c_str()).ok()) << change;
    db->close();
    const RunsList found = list();
    EXPECT_EQ(ids(found), "three two one") << change;
    for (const RunRow& row : found.rows)
      EXPECT_EQ(parent_path(parent_path(row.path)), builder_.path() + "/runs") << change;
    EXPECT_EQ(list().read, 0u) << change;
  }
}

TEST_F(RunsQueryTest, AStoreThatIsNotToBeWrittenIsListedFromMemory) {
  three_runs();
  RunsQuery asked = query("config.lr > 0.15");
  asked.may_write = false;
  EXPECT_EQ(ids(list(asked)), "three two");
  EXPECT_TRUE(list(asked).in_memory);
  EXPECT_FALSE(std::filesystem::exists(catalog()));
  list();
  finished_run("b", "four", 4);
  const RunsList found = list(asked);
  EXPECT_EQ(ids(found), "four three two");
  EXPECT_EQ(found.read, 1u);   // the file's rows were taken over
  EXPECT_EQ(list().read, 1u);  // and the file was left alone
}

// Reaches the limit kCatalogBusy.
TEST_F(RunsQueryTest, ACatalogThatSomebodyHoldsDoesNotHoldUpAListing) {
  three_runs();
  list();
  auto lock = Catalog::open(builder_.store(), Catalog::Place::kStore);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(Catalog::discard(builder_.store()).ok());  // in use: a damaged one stays
  ASSERT_TRUE(lock->db().exec("BEGIN IMMEDIATE").ok());
  finished_run("b", "four", 4);
  const RunsList found = list();
  EXPECT_EQ(ids(found), "four three two one");
  EXPECT_TRUE(found.in_memory);
}

TEST_F(RunsQueryTest, DamagedRunsAreNamedEachTime) {
  three_runs();
  auto writer = builder_.writer(builder_.run("a", "wreck"));
  writer.log("loss", 0, 1).finish();
  overwrite_start(writer.path(), "rubbish rubbish rubbish rubbish");
  overwrite_start(builder_.run("a", "bad").path + "/run.json", "{{{{");
  auto unknown = builder_.writer(builder_.run("a", "nameless"));
  unknown.log("loss", 0, 1).finish();
  std::filesystem::remove(builder_.path() + "/runs/a/nameless/run.json");
  for (int turn = 0; turn < 2; ++turn) {
    const RunsList found = list();
    EXPECT_EQ(found.matched, 5u) << "a database says who the nameless run is; nothing does so of the bad one";
    EXPECT_EQ(found.problems.size(), 3u);
    EXPECT_NE(found.worst, Code::kOk);
  }
}

TEST_F(RunsQueryTest, ManyListingsAtOnceAreAllTrue) {
  for (int i = 0; i < 40; ++i) finished_run("p", "run" + std::to_string(i), i);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn) {
        const auto found = query_runs(builder_.store(), query("metrics.loss >= 0"));
        if (found.ok() && found->matched == 40) ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
  EXPECT_EQ(list().read, 0u);
}

TEST_F(RunsQueryTest, ADocumentBeyondItsBoundIsLeftOutAndNamed) {
  auto writer = builder_.writer(builder_.run("p", "large"));
  writer.set(EventType::kConfig, "text", std::string(kCatalogDocumentBytesMax, 'x')).log("loss", 0, 1.0).finish();
  builder_.writer(builder_.run("p", "fits"))
      .set(EventType::kConfig, "text", std::string(kCatalogDocumentBytesMax - 100, 'x'))
      .finish();
  const RunsList found = list("metrics.loss = 1 or not missing(config.text)");
  EXPECT_EQ(found.matched, 2u);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].find("p/large: config of"), std::string::npos) << found.problems[0];
  EXPECT_EQ(ids(list("missing(config.text)")), "large");
}

TEST_F(RunsQueryTest, ARunIsFoundByTheVersionsItUsedAndMade) {
  const auto said = [](const std::string& use, const std::string& name, int64_t number) {
    return Value(
        Value::Map{{"key", use + name + std::to_string(number)},
                   {"value", Value(Value::Map{{"use", use}, {"project", "p"}, {"name", name}, {"number", number}})}});
  };
  auto trained = builder_.writer(builder_.run("p", "trained"));
  for (const Value& event : {said("input", "data", 3), said("input", "data", 3), said("output", "model", 0)})
    trained.event(EventType::kArtifact, {}, 0, event);
  trained.finish();
  builder_.writer(builder_.run("p", "tested")).event(EventType::kArtifact, {}, 0, said("input", "model", 0)).finish();
  for (int round = 0; round < 2; ++round) {  // read from the runs, then from the catalog
    EXPECT_EQ(ids(list("inputs = data")), "trained");
    EXPECT_EQ(ids(list("inputs = \"p/data:v3\"")), "trained");
    EXPECT_EQ(ids(list("inputs = \"data:v4\"")), "");
    EXPECT_EQ(ids(list("outputs contains model")), "trained");
    EXPECT_EQ(ids(list("inputs = model or outputs = model", "id")), "tested trained");
    EXPECT_EQ(ids(list("missing(outputs)")), "tested");
  }
  RunsQuery asked = query("outputs = model");
  asked.columns = *parse_columns("inputs,outputs");
  const RunsList found = list(asked);
  ASSERT_EQ(found.rows.size(), 1u);
  const auto& columns = found.rows[0].columns;
  EXPECT_EQ(to_json(Value::List{*columns.at(0), *columns.at(1)}), R"([["p/data:v3"],["p/model:v0"]])");
}

TEST_F(RunsQueryTest, ARunIsFoundByItsAlertsAndTheWordOfDroppedOnesIsNone) {
  auto writer = builder_.writer(builder_.run("p", "alerted"));
  for (const char* title : {"NaN", "NaN again"})
    writer.event(EventType::kAlert, {}, 0, Value::Map{{"level", "warn"}, {"title", title}});
  writer.event(EventType::kAlert, {}, 0, Value::Map{{"dropped", int64_t{16}}});
  writer.finish();
  builder_.writer(builder_.run("p", "silent")).finish();
  for (int round = 0; round < 2; ++round) {  // read from the runs, then from the catalog
    EXPECT_EQ(ids(list("alerts > 0")), "alerted");
    EXPECT_EQ(ids(list("alerts = 2")), "alerted");
    EXPECT_EQ(ids(list("alerts = 0")), "silent");
    EXPECT_EQ(ids(list("alerts <= 2", "-alerts")), "alerted silent");
    EXPECT_EQ(ids(list("missing(alerts)")), "");
  }
}

TEST_F(RunsQueryTest, OfVeryManyAlertsTheLastAreGivenAndAllAreCounted) {
  for (const uint64_t alerts : {kAlertsShown, kAlertsShown + 1}) {
    const RunFolder run = builder_.run("p", std::to_string(alerts));
    auto writer = builder_.writer(run);
    for (uint64_t i = 0; i < alerts; ++i)
      writer.event(EventType::kAlert, {}, 0, Value::Map{{"level", "warn"}, {"title", std::to_string(i)}});
    writer.finish();
    auto view = RunView::open(run);
    ASSERT_TRUE(view.ok());
    const auto found = read_alerts(view->get());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->total, alerts);
    ASSERT_EQ(found->alerts.size(), kAlertsShown);
    EXPECT_EQ(found->alerts.front().title, std::to_string(alerts - kAlertsShown));
    EXPECT_EQ(found->alerts.back().title, std::to_string(alerts - 1));
  }
}

TEST_F(RunsQueryTest, OfVeryManyInputsTheFirstAreListedAndTheRestIsSaid) {
  auto writer = builder_.writer(builder_.run("p", "many"));
  for (size_t i = 0; i < kCatalogArtifactsMax + 2; ++i)
    writer.event(
        EventType::kArtifact, {}, 0,
        Value::Map{{"key", std::to_string(i)},
                   {"value", Value(Value::Map{{"use", "input"}, {"name", "n"}, {"number", static_cast<int64_t>(i)}})}});
  writer.finish();
  const RunsList found = list("inputs = n");
  ASSERT_TRUE(found.matched == 1 && found.problems.size() == 1);
  EXPECT_NE(found.problems[0].find("p/many: 2 of its inputs"), std::string::npos) << found.problems[0];
}

// A listing that is given up, or is killed, keeps what people read first.
TEST_F(RunsQueryTest, RunsAreReadNewestFirstWhateverTheyAreCalled) {
  const std::vector<std::string> newest_first = {"m", "z", "a", "k", "b"};
  int64_t age_s = 1000;
  for (const std::string& id : newest_first) {
    const RunFolder folder = finished_run(id < "l" ? "p" : "q", id, 1);
    const timespec at{1'700'000'000 - ++age_s, 0};
    const timespec times[] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.path.c_str(), times, 0), 0);
  }
  auto catalog = Catalog::open(builder_.store(), Catalog::Place::kEmptyMemory);
  ASSERT_TRUE(catalog.ok()) << catalog.status().to_string();
  std::vector<std::string> read;
  CatalogRefresh how;
  how.now_us = realtime_us();
  CatalogReport report;
  const Status status = catalog->refresh(
      how,
      [&read](const RunFolder& folder) -> Result<CatalogRecord> {
        read.push_back(folder.identity.id);
        return Status(Code::kCorrupt, "not read by this test");
      },
      &report);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(read, newest_first);
}

TEST_F(RunsQueryTest, MistakesInFilterAndOrderAreErrors) {
  FilterError error;
  EXPECT_EQ(query_runs(builder_.store(), query("state = "), &error).status().code(), Code::kInvalid);
  EXPECT_EQ(error.column, 9u);
  EXPECT_EQ(query_runs(builder_.store(), query("", "rank"), &error).status().code(), Code::kInvalid);
}

}  // namespace
}  // namespace tracker::internal
