// SPDX-License-Identifier: MIT
// Databases with arbitrary damage: reading answers or says what is wrong, never crashes or hangs, and never writes
// the file.
// Method: truncations and random flipped bytes of a sound database and of a WAL; the seed is printed.
#include <gtest/gtest.h>

#include <fstream>

#include "storage/compaction.h"
#include "storage/writer_parts.h"
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
      // Half of them near the header and the schema, where they hurt most.
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

  // Reads all that can be read; what comes is sound, the rest is an error.
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
  std::mt19937_64 random(107853806);  // a reader once went round for ever in one of these
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
  if (!compacted) settle_part(file, 1000);
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

}  // namespace
}  // namespace tracker::internal
