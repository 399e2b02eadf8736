// SPDX-License-Identifier: MIT
// Goal: verify finds and names each kind of damage, says what is intact, and never writes. Method: sound stores made by
// hand, one thing broken in each; what was broken must be the one damage found. Journals: fault/verify_test.cc.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/clock.h"
#include "base/fs.h"
#include "codec/segment.h"
#include "model/value.h"
#include "storage/sqlite/sqlite.h"
#include "storage/verify/verify.h"
#include "support/child.h"
#include "support/storage.h"
#include "unit/cli/verify_fixture.h"

namespace tracker::internal {
namespace {

TEST_F(VerifyTest, ASoundStoreIsIntactAndNotTouched) {
  ASSERT_EQ(run({"ls"}), kExitOk);  // makes the catalog
  const auto before = files();
  EXPECT_EQ(run({"verify"}), kExitOk) << out_;
  EXPECT_EQ(out_, "Checked 2 writers of 2 runs: 4 frames, 5 points, " + out_.substr(out_.rfind("points, ") + 8));
  EXPECT_NE(out_.find("Everything is intact.\n"), std::string::npos) << out_;
  EXPECT_EQ(err_, "");
  EXPECT_EQ(files(), before);
}

TEST_F(VerifyTest, AFrameThatDoesNotVerifyIsNamedWithWhatIsLeft) {
  damage_bytes(db_, first_frame_);
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_NE(masked(out_).find("damage frame  STORE/runs/mnist/otter/"), std::string::npos) << out_;
  EXPECT_NE(out_.find("1 does not verify, 2 points: frame 1: "), std::string::npos) << out_;
  EXPECT_NE(out_.find("intact: 2 of 3 frames, 2 of 4 points"), std::string::npos) << out_;
  EXPECT_NE(out_.find("1 damage found; everything else is intact."), std::string::npos) << out_;
  EXPECT_EQ(kinds(), (Kinds{{"frame", 1}}));
}

TEST_F(VerifyTest, AMissingFrameIsDamageAndALegalGapIsNot) {
  sql("UPDATE meta SET value = value - 1 WHERE key = 'frames'; UPDATE meta SET value = 2 WHERE key = 'points'");
  sql("DELETE FROM frames WHERE seq = 1");
  EXPECT_EQ(kinds().count("missing-frames"), 0u) << out_;
  sql("UPDATE meta SET value = 3 WHERE key = 'frames'; UPDATE meta SET value = 4 WHERE key = 'points'");
  EXPECT_EQ(kinds(), (Kinds{{"missing-frames", 1}})) << out_;
  EXPECT_NE(out_.find("frames 1 were stored and are gone"), std::string::npos) << out_;
}

TEST_F(VerifyTest, TheLastFramesMissingIsDamageToo) {
  sql("DELETE FROM frames WHERE seq > 1");
  EXPECT_EQ(kinds(), (Kinds{{"missing-frames", 1}})) << out_;
  EXPECT_NE(out_.find("frames 2, 3 were stored"), std::string::npos) << out_;
}

TEST_F(VerifyTest, CountsThatDisagreeAreNamed) {
  sql("UPDATE meta SET value = 99 WHERE key = 'points'");
  EXPECT_EQ(kinds(), (Kinds{{"counts", 1}})) << out_;
  EXPECT_NE(out_.find("99 points, the frames hold 4"), std::string::npos) << out_;
  sql("UPDATE meta SET value = 4 WHERE key = 'points'; UPDATE frames SET points = 7 WHERE seq = 2");
  EXPECT_EQ(kinds(), (Kinds{{"counts", 1}})) << out_;
}

TEST_F(VerifyTest, StatisticsThatDisagreeWithTheFramesAreNamed) {
  for (const char* column : {"points", "step_max", "time_last_us", "max_bits", "sum_bits", "nan", "last_bits"}) {
    const std::string was = "(SELECT value FROM meta WHERE key = 'keep')";
    sql(std::string("INSERT INTO meta SELECT 'keep', ") + column + " FROM series WHERE id = 1");
    sql(std::string("UPDATE series SET ") + column + " = " + column + " + 4503599627370496 WHERE id = 1");
    EXPECT_EQ(kinds(), (Kinds{{"series", 1}})) << column << out_;
    EXPECT_NE(out_.find("train/loss: "), std::string::npos) << out_;
    sql(std::string("UPDATE series SET ") + column + " = " + was +
        " WHERE id = 1; DELETE FROM meta WHERE key = 'keep'");
  }
  sql("DELETE FROM series WHERE id = 2");
  EXPECT_EQ(kinds(), (Kinds{{"series", 1}})) << out_;
}

TEST_F(VerifyTest, ConfigAndLossesThatDisagreeWithTheFramesAreNamed) {
  sql("UPDATE losses SET count = 13");
  EXPECT_EQ(kinds(), (Kinds{{"losses", 1}})) << out_;
  EXPECT_NE(out_.find("13 dropped, the frames say 12"), std::string::npos) << out_;
  sql("UPDATE losses SET count = 12; UPDATE attributes SET value = x'01' WHERE key = 'lr'");
  EXPECT_EQ(kinds(), (Kinds{{"attributes", 1}})) << out_;
  sql("DELETE FROM attributes; DELETE FROM meta WHERE key = 'end'");
  EXPECT_EQ(kinds(), (Kinds{{"attributes", 1}, {"counts", 1}})) << out_;
}

class VerifySegmentsTest : public VerifyTest {
 protected:
  // A run of the segments 1 to 2 and 3 to 5, and the frames 6 and 7.
  VerifySegmentsTest() {
    auto writer = builder_.writer(builder_.run("mnist", "segments"));
    std::vector<std::string> frames;
    for (int i = 0; i < 6; ++i) {
      writer.log("loss", 9 - i, 1.0 / (i + 1))
          .log("acc", std::nullopt, i == 3 ? std::nan("") : -i)
          .text("note", i, "n");
      writer.lose("loss", LossReason::kRingFull, 1).commit();
      frames.push_back(writer.last_frame());
    }
    writer.end(RunState::kFinished).finish();  // so few frames stay frames
    db_ = writer.path();
    put_segment(writer.identity().writer, {frames[0], frames[1]});
    put_segment(writer.identity().writer, {frames[2], frames[3], frames[4]});
  }

  void put_segment(const Id128& writer, const std::vector<std::string>& frames) const {
    SegmentBuilder builder(writer);
    for (const std::string& frame : frames) ASSERT_TRUE(builder.add(*FrameView::parse(frame)).ok());
    const std::string first = std::to_string(builder.first_seq()), last = std::to_string(builder.last_seq());
    const std::string bytes = *builder.finish();
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    const std::string range = " FROM frames WHERE seq BETWEEN " + first + " AND " + last;
    sql("INSERT INTO segments SELECT min(seq), max(seq), sum(points), min(time_first_us), max(time_last_us), x'" + hex +
        "'" + range + "; DELETE" + range);
  }

  std::string number(const std::string& query) const {
    sqlite3* db = nullptr;
    std::string out;
    EXPECT_EQ(sqlite3_open_v2(db_.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    const auto take = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, query.c_str(), take, &out, nullptr), SQLITE_OK) << query;
    sqlite3_close(db);
    return out;
  }
  // What a statement breaks; the store is sound again after it.
  Kinds broken_by(const std::string& statement) {
    const std::string sound = *read_file(db_, 10 << 20);
    sql(statement);
    const Kinds out = kinds();
    EXPECT_TRUE(write_file_atomic(db_, sound).ok());
    return out;
  }
};

TEST_F(VerifySegmentsTest, ASoundStoreOfSegmentsIsIntact) {
  EXPECT_EQ(number("SELECT count(*) FROM segments"), "2");
  EXPECT_EQ(number("SELECT count(*) FROM frames"), "2");
  EXPECT_EQ(kinds(), Kinds{}) << out_;
  EXPECT_EQ(kinds("note"), Kinds{}) << out_;
  EXPECT_EQ(code_, kExitOk);
  const auto document = from_json(out_);
  EXPECT_EQ(document->int_or("frames", 0), 4 + 7);
  EXPECT_EQ(document->int_or("points", 0), 5 + 12);
}

TEST_F(VerifySegmentsTest, AnyByteOfASegmentThatIsChangedIsFound) {
  const int bytes = std::stoi(number("SELECT length(data) FROM segments WHERE first_seq=3"));
  for (int at = 9; at <= bytes; at += 5 * kSlowDown) {  // after version and flags, which may be newer
    const std::string text = std::to_string(at);
    EXPECT_EQ(
        broken_by("UPDATE segments SET data = CAST(substr(data,1," + text + "-1) || CASE substr(data," + text +
                  ",1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(data," + text + "+1) AS BLOB) WHERE first_seq=3"),
        (Kinds{{"segment", 1}}))
        << at << out_;
  }
  EXPECT_NE(out_.find("3 to 5 do not verify, 6 points: segment of frames 3 to 5: "), std::string::npos) << out_;
  EXPECT_NE(out_.find("4 of 7 frames, 6 of 12 points"), std::string::npos) << out_;
}

TEST_F(VerifySegmentsTest, WhatStandsBesideASegmentMustBeItsOwn) {
  for (const char* column : {"points", "time_first_us", "time_last_us"})
    EXPECT_EQ(broken_by(std::string("UPDATE segments SET ") + column + " = " + column + " + 1 WHERE first_seq=3"),
              (Kinds{{"counts", 1}}))
        << column << out_;
  EXPECT_EQ(broken_by("UPDATE segments SET last_seq = 4 WHERE first_seq=3").count("segment"), 1u) << out_;
  EXPECT_EQ(broken_by("UPDATE segments SET first_seq = 4 WHERE first_seq=3").count("segment"), 1u) << out_;
}

TEST_F(VerifySegmentsTest, AMissingSegmentAndMissingFramesBesideItAreNamed) {
  EXPECT_EQ(broken_by("DELETE FROM segments WHERE first_seq=3"), (Kinds{{"missing-frames", 1}})) << out_;
  EXPECT_NE(out_.find("frames 3 to 5 were stored"), std::string::npos) << out_;
  EXPECT_EQ(broken_by("DELETE FROM segments WHERE first_seq=1"), (Kinds{{"missing-frames", 1}})) << out_;
  EXPECT_EQ(broken_by("DELETE FROM frames WHERE seq=6"), (Kinds{{"missing-frames", 1}})) << out_;
}

TEST_F(VerifySegmentsTest, RowsThatLieOverEachOtherAreNamed) {
  EXPECT_EQ(broken_by("INSERT INTO frames SELECT 4, points, time_first_us, time_last_us, data FROM frames WHERE "
                      "seq=6"),
            (Kinds{{"overlap", 1}}))
      << out_;
  EXPECT_NE(out_.find("frames 4 are stored twice"), std::string::npos) << out_;
  EXPECT_EQ(broken_by("INSERT INTO segments SELECT 4, 5, points, time_first_us, time_last_us, data FROM segments "
                      "WHERE first_seq=3"),
            (Kinds{{"overlap", 1}}))
      << out_;
}

TEST_F(VerifySegmentsTest, TablesThatDisagreeWithSegmentsAreNamed) {
  for (const char* id : {"1", "2"})
    for (const char* column : {"points", "time_first_us", "first_bits", "last_bits", "nan"})
      EXPECT_EQ(broken_by(std::string("UPDATE series SET ") + column + " = " + column + " + 1 WHERE id = " + id),
                (Kinds{{"series", 1}}))
          << column << out_;
  EXPECT_EQ(broken_by("UPDATE series SET last_step = last_step + 1 WHERE id = 1"), (Kinds{{"series", 1}})) << out_;
  EXPECT_EQ(broken_by("UPDATE losses SET count = count - 1"), (Kinds{{"losses", 1}})) << out_;
  EXPECT_EQ(broken_by("UPDATE attributes SET count = count - 1").count("attributes"), 1u) << out_;
  EXPECT_EQ(broken_by("UPDATE meta SET value = value + 1 WHERE key = 'points'"), (Kinds{{"counts", 1}})) << out_;
  EXPECT_EQ(broken_by("UPDATE meta SET value = 4 WHERE key = 'stats_seq'"), (Kinds{{"series", 1}})) << out_;
}

// The bug: after a small table that is damaged no frame was checked, and all of them were called intact.
TEST_F(VerifySegmentsTest, FramesAreLookedAtBehindSmallTablesThatAreDamaged) {
  const std::string damage = "; UPDATE segments SET data = CAST(replace(data, substr(data, 60, 1), x'') AS BLOB)";
  for (const char* table : {
           "UPDATE meta SET value = 12345 WHERE key = 'stats_seq'",
           "UPDATE meta SET value = -1 WHERE key = 'last_seq'",
           "DELETE FROM meta WHERE key = 'frames'",
           "UPDATE attributes SET count = -1",
           "UPDATE series SET name = CAST(x'78ff' AS TEXT) WHERE id = 1",
       }) {
    SCOPED_TRACE(table);
    EXPECT_EQ(broken_by(table), (Kinds{{"tables", 1}})) << out_;
    EXPECT_NE(out_.find("\"7 of 7 frames, 12 of 12 points\""), std::string::npos) << out_;
    EXPECT_EQ(broken_by(table + damage), (Kinds{{"tables", 1}, {"segment", 1}})) << out_;
    EXPECT_NE(out_.find("\"2 of 7 frames, 2 of 12 points\""), std::string::npos) << out_;
  }
}

TEST_F(VerifyTest, WhatWasNotLookedAtIsNotCalledIntact) {
  sql("PRAGMA application_id = 7");
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_EQ(out_.find("everything else is intact"), std::string::npos) << out_;
  EXPECT_NE(out_.find("1 damage found; of 1 writer not all frames could be checked"), std::string::npos) << out_;
  (void)kinds();
  EXPECT_EQ(from_json(out_)->int_or("unread", -1), 1) << out_;
}

TEST_F(VerifyTest, OfASoundStoreEveryWriterWasLookedAtInFull) {
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_EQ(from_json(out_)->int_or("unread", -1), 0) << out_;
}

// Reaches the limit kRewindsMax.
TEST_F(VerifyTest, ALiveWriterThatCompactsMeanwhileHasNoDamage) {
  const RunFolder live = builder_.run("mnist", "live");
  const pid_t child = ::fork();
  if (child == 0) {
    BuilderOptions options;
    options.started_us = realtime_us();
    auto writer = builder_.writer(live, options);
    for (int i = 0; i < 6000; ++i) {
      for (int row = 0; row < 20; ++row) writer.log("loss", 20 * i + row, row - i);
      if (i % 3 == 0) writer.log("odd", std::nullopt, NAN).text("note", i, "n");
      if (i % 5 == 0) writer.lose("loss", LossReason::kRingFull, 1);
      writer.commit();
      if (i % 70 == 69) writer.compact();
      if (i % 10 == 0) ::usleep(500);
    }
    ::_exit(0);
  }
  int status = 0, looks = 0;
  for (; ::waitpid(child, &status, WNOHANG) == 0; ++looks) {
    console_.now_us = realtime_us();
    EXPECT_EQ(kinds(), Kinds{}) << out_;
    EXPECT_EQ(kinds("note").count("busy"), 0u) << out_;
  }
  EXPECT_EQ(status, 0);
  EXPECT_GE(looks, 1);
}

TEST_F(VerifyTest, ADamagedTreeIsFoundAndTheRestIsReadPastIt) {
  auto writer = builder_.writer(builder_.run("mnist", "large"));
  std::mt19937_64 random(1);
  for (int frame = 0; frame < 400; ++frame) {
    for (int row = 0; row < 700; ++row) writer.log("loss", row, static_cast<double>(random()));  // several segments
    writer.commit();
  }
  writer.end(RunState::kFinished).finish();
  std::string bytes = *read_file(writer.path(), 100 << 20);
  ASSERT_GT(bytes.size(), 50u * 4096);
  for (size_t i = 0; i < 64; ++i) bytes[40 * 4096 + i] = '\x5a';
  ASSERT_TRUE(write_file_atomic(writer.path(), bytes).ok());
  const auto found = kinds();
  EXPECT_EQ(code_, kExitDamaged);
  EXPECT_EQ(found.count("tree"), 1u) << out_;
  EXPECT_NE(out_.find("of 401 frames"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("\"0 of 401"), std::string::npos) << out_;
}

TEST_F(VerifyTest, AnIndexThatLacksAKeyIsADamagedTree) {
  sql("PRAGMA writable_schema=ON; CREATE TABLE copy(kind, key); DELETE FROM sqlite_master WHERE name = 'copy'");
  EXPECT_EQ(kinds().count("tree"), 1u) << out_;  // a page that nothing uses
}

TEST_F(VerifyTest, AHeaderThatIsNoneACutFileAndAStrangerAreNamed) {
  const std::string sound = *read_file(db_, 10 << 20);
  overwrite_start(db_, "rubbish rubbish rubbish rubbish");
  EXPECT_EQ(kinds(), (Kinds{{"database-header", 1}})) << out_;
  ASSERT_TRUE(write_file_atomic(db_, sound.substr(0, sound.size() / 2)).ok());
  EXPECT_EQ(kinds(), (Kinds{{"database-header", 1}})) << out_;
  ASSERT_TRUE(write_file_atomic(db_, "").ok());
  EXPECT_EQ(kinds(), (Kinds{{"database-header", 1}})) << out_;
  ASSERT_TRUE(write_file_atomic(db_, sound).ok());
  sql("PRAGMA application_id = 7");
  EXPECT_EQ(kinds(), (Kinds{{"database-header", 1}})) << out_;
  remove_file(db_);
  std::filesystem::create_directory(db_);
  EXPECT_EQ(kinds(), (Kinds{{"database-header", 1}})) << out_;
}

TEST_F(VerifyTest, ANewerVersionIsNotJudgedAndHasAnExitCodeOfItsOwn) {
  sql("PRAGMA user_version = 9");
  EXPECT_EQ(kinds("newer"), (Kinds{{"newer-version", 1}})) << out_;
  EXPECT_EQ(code_, kExitVersion);
}

TEST_F(VerifyTest, AClaimOfANewerVersionIsNotJudgedAndOneThatCannotBeReadIsANote) {
  const std::string claim = run_.path + "/attempt-2.json";
  ASSERT_TRUE(write_file_atomic(claim, R"({"format": "tracker-attempt", "version": 1, "attempt": 2})").ok());
  EXPECT_EQ(kinds("note"), Kinds{}) << out_;
  EXPECT_EQ(code_, kExitOk);
  ASSERT_TRUE(write_file_atomic(claim, R"({"format": "tracker-attempt", "version": 2, "attempt": 2})").ok());
  EXPECT_EQ(kinds("newer"), (Kinds{{"newer-version", 1}})) << out_;
  EXPECT_EQ(code_, kExitVersion);
  for (const char* text : {"", "rubbish", R"({"format": "tracker-run", "version": 1})", "[1]"}) {
    ASSERT_TRUE(write_file_atomic(claim, text).ok());
    EXPECT_EQ(kinds("note"), (Kinds{{"attempt-file", 1}})) << text << out_;
    EXPECT_EQ(code_, kExitOk);
  }
}

TEST_F(VerifyTest, ADatabaseOfAnotherRunOrWriterIsNamed) {
  const std::string other = run_.path + "/" + std::string(32, 'a') + ".db";
  std::filesystem::copy_file(db_, other);
  EXPECT_EQ(kinds(), (Kinds{{"identity", 1}})) << out_;
  std::filesystem::rename(other, builder_.store().find_run("mnist", "heron")->path + db_.substr(db_.rfind('/')));
  EXPECT_EQ(kinds(), (Kinds{{"identity", 1}})) << out_;
  EXPECT_NE(out_.find("belongs to another run: mnist/otter"), std::string::npos) << out_;
}

TEST_F(VerifyTest, MissingPartsAreNamed) {
  const std::string base = db_.substr(0, db_.size() - 3);
  std::filesystem::copy_file(db_, base + "-3.db");
  EXPECT_EQ(kinds(), (Kinds{{"parts", 2}})) << out_;
  EXPECT_NE(out_.find("part 2 of 3 is missing"), std::string::npos) << out_;
  std::filesystem::rename(base + "-3.db", base + "-2.db");
  EXPECT_EQ(kinds(), (Kinds{{"parts", 1}})) << out_;
  EXPECT_NE(out_.find("says that it is part 1"), std::string::npos) << out_;
  std::filesystem::remove(db_);
  EXPECT_EQ(kinds(), (Kinds{{"parts", 2}})) << out_;
  EXPECT_NE(out_.find("part 1 of 2 is missing"), std::string::npos) << out_;
}

TEST_F(VerifyTest, ALogWithoutItsDatabaseIsDamageAndAnEmptyIndexIsNot) {
  const std::string id(32, 'b');
  ASSERT_TRUE(write_file_atomic(run_.path + "/" + id + ".db-shm", "").ok());
  EXPECT_EQ(kinds("note"), (Kinds{{"leftover", 1}})) << out_;
  EXPECT_EQ(code_, kExitOk);
  ASSERT_TRUE(write_file_atomic(run_.path + "/" + id + ".db-wal", "rows").ok());
  EXPECT_EQ(kinds(), (Kinds{{"orphan", 1}})) << out_;
}

TEST_F(VerifyTest, ARunJsonThatIsGoneOrDamagedIsWrittenAnewFromWhatTheAdviceSays) {
  const std::string file = run_.path + "/run.json";
  for (const bool gone : {true, false}) {
    if (gone) remove_file(file);
    else overwrite_start(file, "{{{{");
    EXPECT_EQ(kinds(), (Kinds{{"run-file", 1}})) << out_;
    const auto document = from_json(out_);
    const std::string advice = document->find("findings")->as_list()->front().text_or("to_do", "");
    ASSERT_TRUE(advice.starts_with("write it again: ")) << advice;
    ASSERT_TRUE(write_file_atomic(file, advice.substr(16)).ok());
    EXPECT_EQ(kinds(), Kinds{}) << out_;
    EXPECT_EQ(run({"show", "mnist/otter"}), kExitOk) << err_;
  }
}

TEST_F(VerifyTest, AStoreJsonThatIsDamagedIsWrittenAnewFromWhatTheAdviceSays) {
  const std::string file = builder_.path() + "/store.json";
  overwrite_start(file, "]]]]");
  EXPECT_EQ(kinds(), (Kinds{{"store-file", 1}})) << out_;
  EXPECT_NE(out_.find(builder_.store().id().hex()), std::string::npos) << out_;
  std::string advice;
  const auto document = from_json(out_);
  for (const Value& finding : *document->find("findings")->as_list()) advice = finding.text_or("to_do", "");
  ASSERT_TRUE(write_file_atomic(file, advice.substr(16)).ok());
  EXPECT_EQ(run({"verify"}), kExitOk) << out_ << err_;
}

TEST_F(VerifyTest, LeftoversAndStrangersAreNotes) {
  ASSERT_TRUE(write_file_atomic(run_.path + "/notes.txt", "mine").ok());
  ASSERT_TRUE(write_file_atomic(builder_.path() + "/photo.png", "mine").ok());
  const std::string leftover = run_.path + "/x.db.new-0123456789abcdef";
  ASSERT_TRUE(write_file_atomic(leftover, "half").ok());
  EXPECT_EQ(kinds("note"), (Kinds{{"unknown-file", 2}})) << out_;  // too young to be a leftover
  std::filesystem::last_write_time(leftover, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(kinds("note"), (Kinds{{"unknown-file", 2}, {"leftover", 1}})) << out_;
  EXPECT_EQ(code_, kExitOk);
}

// 10,000 files of somebody else were all of the list, and a damaged run after them was "Everything is intact".
TEST_F(VerifyTest, NotesBeyondTheLimitHideNoDamage) {
  for (size_t i = 0; i <= kFindingsMax; ++i) std::ofstream(fmt::format("{}/{:05}", builder_.path(), i));
  const std::string media = run_.path + "/media/ab", name = std::string(64, 'a') + ".txt";
  std::filesystem::create_directories(media);
  std::ofstream(media + "/" + name) << "other bytes";  // checked last
  EXPECT_EQ(kinds(), (Kinds{{"media", 1}})) << code_;
  EXPECT_EQ(code_, kExitDamaged);
  const auto json = from_json(out_);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("findings")->as_list()->size(), kFindingsMax);
  EXPECT_EQ(json->int_or("left_out", -1), 2);
}

TEST_F(VerifyTest, ACopiedRunIsANote) {
  std::filesystem::copy(run_.path, builder_.path() + "/runs/mnist/copy");
  EXPECT_EQ(kinds("note"), (Kinds{{"copy", 1}, {"misplaced", 1}})) << out_;
  EXPECT_EQ(code_, kExitOk);
}

TEST_F(VerifyTest, SingleRunsAndFoldersAreChecked) {
  damage_bytes(db_, first_frame_);
  EXPECT_EQ(run({"verify", "mnist/heron"}), kExitOk) << out_ << err_;
  EXPECT_EQ(run({"verify", "otter"}), kExitDamaged) << out_;
  TempFolder elsewhere;
  std::filesystem::copy(run_.path, elsewhere.path() + "/otter");
  EXPECT_EQ(run({"verify", elsewhere.path() + "/otter"}), kExitDamaged) << out_;
  EXPECT_EQ(run({"verify", builder_.path(), "otter"}), kExitDamaged) << out_;
  EXPECT_EQ(run({"verify", "absent"}), kExitFailed);
  EXPECT_NE(err_.find("no run \"absent\""), std::string::npos) << err_;
}

TEST_F(VerifyTest, NamesFromARunAreShownVisibly) {
  auto writer = builder_.writer(builder_.run("mnist", "hostile"));
  writer.log("a\x1b[31mb", 0, 1).end(RunState::kFinished).finish();
  db_ = writer.path();
  sql("UPDATE series SET points = 9");
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_EQ(out_.find('\x1b'), std::string::npos) << out_;
}

}  // namespace
}  // namespace tracker::internal
