// SPDX-License-Identifier: MIT
// Databases with arbitrary damage: reading returns rows or an error, never crashes or hangs, and never writes the file.
// Method: truncations and random flipped bytes of a valid database and of a WAL; the seed is printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "storage/database/compaction.h"
#include "storage/database/log_scan.h"
#include "storage/database/schema.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_parts.h"
#include "storage/sqlite/schema_check.h"
#include "storage/sqlite/sqlite.h"
#include "support/random_frame.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_compaction_gather_for_testing(60'000'000'000);  // a loaded machine must not end a segment early
    auto db = WriterDb::create(folder_.path(), identity_);
    ASSERT_TRUE(db.ok());
    for (uint64_t seq = 1; seq <= 12; ++seq) ASSERT_TRUE((*db)->append({test_record(identity_, seq)}, seq == 6).ok());
    ASSERT_TRUE((*db)
                    ->append({record_of(event_frame(identity_, 13, EventType::kConfig,
                                                    Value::Map{{"key", "lr"}, {"value", 0.1}}))},
                             false)
                    .ok());
    wal_ = *read_file(path() + "-wal", 10 << 20);
    base_ = *read_file(path(), 10 << 20);
    ASSERT_TRUE((*db)->finish().ok());
    finished_ = *read_file(path(), 10 << 20);
  }

  std::string path() const { return db_path(folder_.path(), identity_); }

  void write(const std::string& db, const std::string& wal = "") {
    for (const char* suffix : {"-wal", "-shm"}) remove_file(path() + suffix);
    std::ofstream(path(), std::ios::trunc) << db;
    if (!wal.empty()) std::ofstream(path() + "-wal") << wal;
  }

  void flip_and_read(std::mt19937_64& random) {
    for (int round = 0; round < 400; ++round) {
      std::string bytes = finished_;
      const size_t flips = 1 + random() % 20;
      // Half of them near the header and the schema, where they do the most damage.
      for (size_t i = 0; i < flips; ++i) {
        const size_t at = random() % (random() % 2 == 0 ? bytes.size() : 4096);
        bytes[at] = static_cast<char>(random());
      }
      write(bytes);
      read_everything();
      if (round % 5 == 0)
        if (auto db = WriterDb::open_or_create(folder_.path(), identity_); db.ok())
          (void)(*db)->append({test_record(identity_, (*db)->last_seq() + 1)}, true);
    }
  }

  // Reads everything that can be read; the rows are right, the rest is an error.
  void read_everything() {
    auto reader = WriterReader::open(path());
    if (!reader.ok()) {
      const Code code = reader.status().code();
      ASSERT_TRUE(code == Code::kCorrupt || code == Code::kVersion || code == Code::kIo) << reader.status().to_string();
      ASSERT_NE(reader.status().message().find(identity_.writer.hex()), std::string::npos) << reader.status().message();
      return;
    }
    (void)(*reader)->snapshot();
    std::vector<LogDamage> damage;
    uint64_t last = 0;
    const auto visit = [&last](uint64_t seq) {
      EXPECT_GT(seq, last);
      last = seq;
      return true;
    };
    (void)visit_seqs(reader->get(), 0, visit, &damage).ok();
  }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
  std::string wal_, base_, finished_;
};

TEST_F(DamageTest, TruncatedDatabasesNeverCrash) {
  for (size_t size = 0; size < finished_.size(); size += 1021) {
    write(finished_.substr(0, size));
    read_everything();
    ASSERT_EQ(std::filesystem::file_size(path()), size);
  }
}

TEST_F(DamageTest, TruncatedWalsGiveAPrefixOfTheFrames) {
  for (size_t size = 0; size <= wal_.size(); size += 2053) {
    write(base_, wal_.substr(0, size));
    const std::vector<int64_t> found = stored_frames(path());
    ASSERT_EQ(found, one_to(static_cast<int64_t>(found.size()))) << size;
  }
  write(base_, wal_);
  EXPECT_EQ(stored_frames(path()), one_to(13));
}

TEST_F(DamageTest, ATreeThatGoesInACircleIsLeft) {
  std::mt19937_64 random(107853806);  // a reader once looped for ever in one of these
  flip_and_read(random);
}

TEST_F(DamageTest, FlippedBytesNeverCrashReadersNorWriters) {
  auto random = seeded_random();
  flip_and_read(random);
}

TEST_F(DamageTest, FlippedBytesInTheWalNeverCrash) {
  auto random = seeded_random();
  for (int round = 0; round < 200; ++round) {
    std::string bytes = wal_;
    for (size_t flips = 1 + random() % 5; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    write(base_, bytes);
    read_everything();
  }
}

// A run with many segments whose database is cut: the points that its snapshot counts as lost are those that reading
// does not return.
TEST_F(DamageTest, OfACutDatabaseTheSoundRowsAreReadAndTheRestIsCounted) {
  TempFolder other;
  const std::string file = db_path(other.path(), identity_);
  constexpr uint64_t kFrames = 40, kPoints = kFrames * 4 * 500;
  {
    auto db = WriterDb::create(other.path(), identity_);
    std::mt19937_64 noise(1);
    for (uint64_t seq = 1; seq <= kFrames; ++seq) {
      Frame frame = test_frame(identity_, seq, 4, 500);
      for (auto& column : frame.blocks[0].values)
        for (uint64_t& bits : column) bits = noise();
      ASSERT_TRUE((*db)->append({record_of(frame)}, false).ok());
    }
    checkpoint_part(file);
    db->reset();
    checkpoint_part(file);
  }
  for (const char* suffix : {"-wal", "-shm"}) remove_file(file + suffix);
  const std::string whole = *read_file(file, 10 << 20);
  size_t before = kFrames;
  for (const size_t permille : {990u, 950u, 800u, 500u, 100u}) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, whole.size() * permille / 1000);
    auto reader = WriterReader::open(file);
    ASSERT_TRUE(reader.ok()) << permille << ": " << reader.status().to_string();
    const auto snapshot = (*reader)->snapshot();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status().to_string();
    const size_t kept = stored_frames(file).size();
    EXPECT_GE(kept + 4, kFrames * permille / 1000) << permille;
    EXPECT_LE(kept, before);
    before = kept;
    ASSERT_FALSE(snapshot->damage.empty());
    const std::string& said = snapshot->damage.back().what;
    EXPECT_NE(said.find(file + ": is cut"), std::string::npos) << said;
    EXPECT_NE(said.find(std::to_string(kept * 2000) + " of " + std::to_string(kPoints) + " points"), std::string::npos)
        << kept << ": " << said;
    EXPECT_EQ(*read_file(file, 10 << 20), whole.substr(0, whole.size() * permille / 1000));
  }
}

// All small tables of a run, as text.
std::string small_tables(const std::string& file, bool* damaged) {
  *damaged = true;
  auto reader = WriterReader::open(file);
  const auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
  if (!snapshot.ok()) return "";
  std::string out = encode_cbor(snapshot->identity.to_value());
  for (const SeriesStats& s : snapshot->series)
    out += fmt::format("{} {} {} {} {} {};", s.def.id, s.def.name, s.points, s.min, s.sum, s.step_max);
  for (const Attribute& a : snapshot->attributes) out += a.key + encode_cbor(a.value) + std::to_string(a.time_us);
  for (const Loss& loss : snapshot->losses) out += std::to_string(loss.count);
  if (snapshot->end) out += snapshot->end->reason + std::to_string(static_cast<int>(snapshot->end->state));
  out += fmt::format("{} {} {} {}", snapshot->last_seq, snapshot->points, snapshot->frames,
                     snapshot->step_max.value_or(-1));
  std::vector<LogDamage> damage;
  for (const int64_t seq : stored_frames(file, &damage)) out += std::to_string(seq);
  *damaged = !snapshot->damage.empty() || !damage.empty();
  return out;
}

// One bit in the number of rows of `meta` hides the last two of its ten rows: a checksum there would be hidden together
// with the row before it.
TEST_F(DamageTest, AFlippedBitInTheSmallTablesNeverChangesAResultSilently) {
  auto random = seeded_random();
  write(finished_);
  {
    auto db = WriterDb::open_or_create(folder_.path(), identity_);
    ASSERT_TRUE(db.ok());
    Frame frame = event_frame(identity_, 14, EventType::kEnd, Value::Map{{"state", "finished"}});
    frame.events.push_back({EventType::kText, true, 7, 1, encode_cbor(Value::Map{{"key", "note"}, {"value", "x"}})});
    ASSERT_TRUE((*db)->append({record_of(frame)}, true).ok());
    ASSERT_TRUE((*db)->finish().ok());
  }
  finished_ = *read_file(path(), 10 << 20);
  bool damaged = false;
  const std::string sound = small_tables(path(), &damaged);
  ASSERT_FALSE(damaged);
  // Each page that holds rows of one of them: the roots of so few rows.
  std::vector<size_t> pages;
  {
    auto db = Sqlite::open(path(), SqliteOpen::kReadImmutable, 0);
    ASSERT_EQ(*db->query_int("SELECT count(*) FROM meta"), 11);
    for (const char* table : {"meta", "series", "attributes", "losses"})
      pages.push_back(static_cast<size_t>(
          *db->query_int(fmt::format("SELECT rootpage FROM sqlite_master WHERE name='{}'", table).c_str())));
  }
  // First each bit of the head of a page and of its list of rows, where one bit may take the last rows away.
  constexpr size_t kHeadBits = size_t{8 + 2 * 12} * 8;
  int noticed = 0;
  for (size_t round = 0; round < pages.size() * kHeadBits + 1000; ++round) {
    std::string bytes = finished_;
    const bool head = round < pages.size() * kHeadBits;
    const size_t page = pages[head ? round / kHeadBits : random() % pages.size()];
    const size_t bit = head ? round % kHeadBits : random() % (4096 * 8);
    bytes[(page - 1) * 4096 + bit / 8] = static_cast<char>(bytes[(page - 1) * 4096 + bit / 8] ^ (1 << (bit % 8)));
    write(bytes);
    const std::string now = small_tables(path(), &damaged);
    ASSERT_TRUE(damaged || now == sound) << "page " << page << ", bit " << bit;
    noticed += damaged ? 1 : 0;
  }
  EXPECT_GT(noticed, 20);
}

TEST_F(DamageTest, WhatTheSmallTablesSaidIsReadFromTheLog) {
  const struct {
    const char* sql;
    const char* said;
  } kHarms[] = {{"UPDATE meta SET key='lart_seq' WHERE key='last_seq'", "last_seq is missing"},
                {"UPDATE meta SET value=-5 WHERE key='last_seq'", "last_seq is -5"},
                {"UPDATE meta SET value=5 WHERE key='last_seq'", "meta"},
                {"UPDATE series SET name='metsic/1' WHERE id=1", "not what was written"},
                {"UPDATE series SET name=CAST(x'6d65ff72' AS TEXT) WHERE id=1", "UTF-8"},
                {"UPDATE attributes SET value=x'fb3fb999999999999b'", "not what was written"}};
  write(finished_);
  const auto sound = (*WriterReader::open(path()))->snapshot();
  for (const auto& harm : kHarms) {
    write(finished_);
    auto db = Sqlite::open(path(), SqliteOpen::kDetached, 0);
    ASSERT_TRUE(db->exec(harm.sql).ok());
    db->close();
    auto reader = WriterReader::open(path());
    ASSERT_TRUE(reader.ok()) << harm.sql << reader.status().to_string();
    const auto now = (*reader)->snapshot();
    ASSERT_TRUE(now.ok()) << harm.sql;
    EXPECT_EQ(now->last_seq, sound->last_seq) << harm.sql;
    EXPECT_EQ(now->points, sound->points) << harm.sql;
    ASSERT_EQ(now->series.size(), sound->series.size()) << harm.sql;
    EXPECT_EQ(now->series[0].def.name, "metric/1") << harm.sql;
    ASSERT_EQ(now->attributes.size(), 1u);
    EXPECT_EQ(now->attributes[0].value, Value(0.1)) << harm.sql;
    ASSERT_FALSE(now->damage.empty()) << harm.sql;
    EXPECT_NE(now->damage.back().what.find(harm.said), std::string::npos) << now->damage.back().what;
  }
}

TEST_F(DamageTest, AWriterThatContinuesLeavesNoWrongChecksum) {
  write(finished_);
  auto db = WriterDb::open_or_create(folder_.path(), identity_);
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE((*db)->append({test_record(identity_, 14)}, true).ok());
  bool damaged = true;
  (void)small_tables(path(), &damaged);
  EXPECT_FALSE(damaged);
  auto look = Sqlite::open(path(), SqliteOpen::kRead, 100);
  EXPECT_EQ(*check_table_sum(*look), TableVerdict::kNone);
  look->close();
  ASSERT_TRUE((*db)->finish().ok());
  (void)small_tables(path(), &damaged);
  EXPECT_FALSE(damaged);
  look = Sqlite::open(path(), SqliteOpen::kReadImmutable, 100);
  EXPECT_EQ(*check_table_sum(*look), TableVerdict::kSound);
}

// Bug: an impossible count, or a name that is not UTF-8, kept every writer and recoverer out for ever.
TEST_F(DamageTest, AWriterRefusesADamagedFileAndContinuesInTheNextPart) {
  for (const char* sql : {
           "UPDATE meta SET value=-1 WHERE key='frame_bytes'",
           "UPDATE meta SET value=-1 WHERE key='last_seq'",
           "UPDATE meta SET value=3 WHERE key='last_seq'",
           "UPDATE meta SET value=value+100 WHERE key='stats_seq'",
           "DELETE FROM meta WHERE key='points'",
           "UPDATE series SET name=CAST(x'78ff' AS TEXT)",
           "UPDATE meta SET value=-1 WHERE key='points'; UPDATE series SET id=77 WHERE id=1; DELETE FROM series",
           "UPDATE attributes SET value=x'fb3fb999999999999b'",
       }) {
    for (const bool finished : {false, true}) {
      if (!finished && std::string_view(sql).starts_with("UPDATE attributes")) continue;  // no checksum detects it
      SCOPED_TRACE(fmt::format("{}, {}", sql, finished ? "finished" : "dead"));
      if (finished) write(finished_);
      else write(base_, wal_);
      remove_file(part_path(path(), 2));
      {
        auto db = Sqlite::open(path(), SqliteOpen::kWrite, 100);
        ASSERT_TRUE(db->exec(sql).ok());
      }
      EXPECT_EQ(WriterDb::open_or_create(folder_.path(), identity_).status().code(), Code::kCorrupt);
      WriterIdentity next = identity_;
      next.part = 2;
      next.before = parts_before(*(*WriterReader::open(path()))->snapshot());
      EXPECT_EQ(next.before.points, 72u);
      auto db = WriterDb::open_or_create(folder_.path(), next);
      ASSERT_TRUE(db.ok()) << db.status().to_string();
      ASSERT_TRUE((*db)->append({test_record(identity_, 14)}, true).ok());
      ASSERT_TRUE((*db)->finish().ok());
      const auto now = (*WriterReader::open(path()))->snapshot();
      ASSERT_TRUE(now.ok());
      EXPECT_EQ(now->last_seq, 14u);
      EXPECT_EQ(now->points, 78u);
      EXPECT_EQ(now->frames, 14u);
      ASSERT_EQ(now->series.size(), 2u);
      EXPECT_EQ(now->series[0].def.name, "metric/1");
      EXPECT_EQ(now->series[1].points, 39u);
      EXPECT_EQ(now->missing.points, 0u);
      EXPECT_FALSE(now->damage.empty());
    }
  }
}

// SQLite rounds the length of a file up to pages and does not see such a cut: it reads zeros.
TEST_F(DamageTest, ACutOfLessThanAPageIsReported) {
  write(finished_);
  bool damaged = true;
  const std::string sound = small_tables(path(), &damaged);
  ASSERT_FALSE(damaged);
  for (const size_t bytes : {1u, 2u, 16u, 100u, 512u, 2000u, 4000u, 4095u, 4096u, 4097u}) {
    write(finished_.substr(0, finished_.size() - bytes));
    (void)small_tables(path(), &damaged);
    EXPECT_TRUE(damaged) << bytes;
  }
  write(finished_);
  EXPECT_EQ(small_tables(path(), &damaged), sound);
  EXPECT_FALSE(damaged);
}

TEST_F(DamageTest, AReaderSeesThatAFileWasCutAndThatItIsWholeAgain) {
  write(finished_);
  auto reader = WriterReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->snapshot()->damage.empty());
  write(finished_.substr(0, finished_.size() - 100));
  const auto cut = (*reader)->snapshot();
  EXPECT_TRUE(!cut.ok() || !cut->damage.empty());
  write(finished_);
  const auto whole = (*reader)->snapshot();
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  EXPECT_TRUE(whole->damage.empty());
}

TEST_F(DamageTest, ACutOrABitAnywhereNeverChangesAResultSilently) {
  auto random = seeded_random();
  write(finished_);
  bool damaged = false;
  const std::string sound = small_tables(path(), &damaged);
  ASSERT_FALSE(damaged);
  int noticed = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = finished_;
    const bool cut = random() % 4 == 0;
    const size_t at = random() % bytes.size();
    const int bit = static_cast<int>(random() % 8);
    if (cut) bytes.resize(at);
    else bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    write(bytes);
    const std::string now = small_tables(path(), &damaged);
    ASSERT_TRUE(damaged || (!cut && now == sound)) << (cut ? "cut to " : "byte ") << at << ", bit " << bit;
    noticed += damaged ? 1 : 0;
  }
  EXPECT_GT(noticed, 40);
}

// Ten frames of more than a page each in a database at rest, one of whose pages in the middle is destroyed then.
std::string damaged_database(const std::string& folder, const WriterIdentity& identity, bool compacted) {
  const std::string file = db_path(folder, identity);
  {
    auto db = WriterDb::create(folder, identity);
    std::mt19937_64 noise(1);  // takes its place in a segment, too
    for (uint64_t seq = 1; seq <= 10; ++seq) {
      Frame frame = test_frame(identity, seq, 4, 500);
      for (auto& column : frame.blocks[0].values)
        for (uint64_t& bits : column) bits = noise();
      EXPECT_TRUE((*db)->append({record_of(frame)}, false).ok());
    }
    const Status finished = compacted ? (*db)->finish() : Status();
    EXPECT_TRUE(finished.ok());
  }
  if (!compacted) checkpoint_part(file);
  std::string bytes = *read_file(file, 10 << 20);
  const size_t page = bytes.size() / 4096 / 2;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page * 4096), 4096, '\xee');
  std::ofstream(file, std::ios::trunc) << bytes;
  return file;
}

TEST_F(DamageTest, ADamagedPageOfFramesCostsOnlyItsFrames) {
  TempFolder other;
  std::vector<LogDamage> damage;
  const std::vector<int64_t> found = stored_frames(damaged_database(other.path(), identity_, false), &damage);
  EXPECT_GE(found.size(), 5u);
  EXPECT_LT(found.size(), 10u);
  EXPECT_FALSE(damage.empty());
}

TEST_F(DamageTest, ADamagedPageOfASegmentIsNamedWithItsFrames) {
  TempFolder other;
  std::vector<LogDamage> damage;
  const std::vector<int64_t> found = stored_frames(damaged_database(other.path(), identity_, true), &damage);
  EXPECT_TRUE(found.empty());
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_NE(damage[0].what.find("segment of frames 1 to 10"), std::string::npos) << damage[0].what;
}

// More than kDamageLinesMax, 1,000, of them.
TEST(ManyDamagesTest, SoManyAreNamedAndTheRestIsReadAllTheSame) {
  TempFolder folder;
  const WriterIdentity identity = test_identity();
  constexpr uint64_t kFrames = kDamageLinesMax + 5;
  {
    auto db = WriterDb::create(folder.path(), identity);
    std::vector<FrameRecord> records;
    for (uint64_t seq = 1; seq <= kFrames; ++seq) records.push_back(record_of(test_frame(identity, seq, 1, 1)));
    ASSERT_TRUE((*db)->append(records, true).ok());
  }
  const std::string path = db_path(folder.path(), identity);
  const auto read_with_damaged = [&](uint64_t damaged) {
    auto db = Sqlite::open(path, SqliteOpen::kWrite, 1000);
    EXPECT_TRUE(db.ok() &&
                db->exec(fmt::format("UPDATE frames SET data=zeroblob(9) WHERE seq<={}", damaged).c_str()).ok());
    std::vector<LogDamage> damage;
    const std::vector<int64_t> found = stored_frames(path, &damage);
    EXPECT_EQ(found.size(), kFrames - damaged);
    EXPECT_EQ(found.back(), static_cast<int64_t>(kFrames));
    return damage.size();
  };
  EXPECT_EQ(read_with_damaged(kDamageLinesMax), kDamageLinesMax);
  EXPECT_EQ(read_with_damaged(kDamageLinesMax + 1), kDamageLinesMax);
}

TEST(TreeFindingTest, SQLitesHeadingIsLeftOut) {
  EXPECT_EQ(tree_finding("*** in database main ***\nTree 5 page 7: btreeInitPage() returns error code 11\nmore"),
            "Tree 5 page 7: btreeInitPage() returns error code 11");
  EXPECT_EQ(tree_finding("row 3 missing from index a\nmore"), "row 3 missing from index a");
}

}  // namespace
}  // namespace tracker::internal
