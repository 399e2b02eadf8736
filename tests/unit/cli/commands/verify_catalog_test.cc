// SPDX-License-Identifier: MIT
// Goal: verify holds the rows of the catalog against what the runs hold, as a listing counts it. Method: stores made by
// hand, listed by a clock that lies ahead, so that the rows are trusted; a row that is changed shows that it is looked
// at.
#include <sqlite3.h>

#include "base/clock.h"
#include "query/runs/runs_query.h"
#include "storage/catalog/catalog.h"
#include "storage/frames/frames_file.h"
#include "unit/cli/verify_fixture.h"

namespace tracker::internal {
namespace {

class VerifyCatalogTest : public VerifyTest {
 protected:
  void list_and_trust() {
    RunsQuery query;
    query.files_now_us = realtime_us() + 10 * kSecondUs;
    const auto listed = query_runs(builder_.store(), query);
    ASSERT_TRUE(listed.ok()) << listed.status().to_string();
    EXPECT_TRUE(listed->problems.empty()) << listed->problems.front();
  }
  // Whether verify finds the row of that run wrong when it says one point more.
  bool is_held_against(const std::string& run_id) {
    const std::string file = db_;
    db_ = builder_.path() + "/" + kCatalogFile;
    const std::string where = " WHERE run_id = '" + run_id + "'";
    sql("UPDATE runs SET points = points + 1" + where);
    const bool found = kinds() == Kinds{{"catalog", 1}} && out_.find(run_id + ", which holds") != std::string::npos;
    sql("UPDATE runs SET points = points - 1" + where);
    db_ = file;
    return found;
  }
  // What a run with all captured holds beside its points.
  static void add_what_is_no_point(WriterBuilder* writer) {
    for (int i = 0; i < 7; ++i) writer->log("system/cpu", std::nullopt, i);
    writer->text("sample", 1, "a cat");
    writer->event(EventType::kConsole, std::nullopt, 0, Value::Map{{"stream", "stdout"}, {"line", 1}, {"text", "hi"}});
    writer->event(EventType::kAlert, std::nullopt, 0, Value::Map{{"level", "warn"}, {"title", "NaN"}, {"text", ""}});
    writer->event(EventType::kMedia, 1, 0, Value::Map{{"key", "image"}, {"value", Value::Map{{"kind", "image"}}}});
  }
};

// Bug: samples of the system were counted in the run and not in the catalog, so that every store with a finished run of
// some seconds was damaged.
TEST_F(VerifyCatalogTest, ARunWithSamplesOfTheSystemAndEventsAgreesWithItsRow) {
  auto frames = builder_.writer(builder_.run("mnist", "frames"));
  frames.log("loss", 0, 1);
  add_what_is_no_point(&frames);
  frames.commit();
  for (int i = 0; i < 8; ++i) frames.log("system/cpu", std::nullopt, i);
  frames.end(RunState::kFinished).finish();
  auto segments = builder_.writer(builder_.run("mnist", "segments"));
  for (int i = 0; i < 5'000; ++i) segments.log("loss", i, i);
  add_what_is_no_point(&segments);
  segments.commit();
  for (int i = 0; i < 5'000; ++i) segments.log("loss", i, i).log("system/gpu", std::nullopt, i);
  segments.commit().compact().end(RunState::kFinished).finish();
  list_and_trust();
  EXPECT_EQ(kinds(), Kinds{}) << out_;
  EXPECT_EQ(code_, kExitOk);
  EXPECT_TRUE(is_held_against("frames")) << out_;
  EXPECT_TRUE(is_held_against("segments")) << out_;
}

TEST_F(VerifyCatalogTest, AFramesFileWithSamplesOfTheSystemAgreesWithItsRow) {
  const RunFolder folder = builder_.run("mnist", "net");
  WriterIdentity who = test_identity();
  who.run = folder.identity;
  who.journal_dir = "/gone";
  auto file = FramesFile::open_or_create(folder.path, who);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  for (uint64_t seq = 1; seq <= 3; ++seq) {
    Frame frame = test_frame(who, seq);
    if (seq == 1) frame.defs[1].name = "system/memory";
    ASSERT_TRUE((*file)->append({record_of(frame)}, false).ok());
  }
  const Value end = Value::Map{{"state", "finished"}};
  ASSERT_TRUE((*file)->append({record_of(event_frame(who, 4, EventType::kEnd, end))}, true).ok());
  list_and_trust();
  EXPECT_EQ(kinds(), Kinds{}) << out_;
  EXPECT_EQ(code_, kExitOk);
}

}  // namespace
}  // namespace tracker::internal
