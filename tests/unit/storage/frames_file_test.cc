// SPDX-License-Identifier: MIT
// A .frames file reads like a database with the same frames, at any length, and becomes that database. Method: random
// frames into both; a file that grows under a reader; unfinished ends; files of builders that died.
#include "storage/frames/frames_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/frames/database_build.h"
#include "storage/frames/frames_reader.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"
#include "support/random_frame.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

std::string text_of(const SeriesStats& s) {
  std::string out = s.def.name;
  for (const uint64_t n :
       {uint64_t{s.def.id}, static_cast<uint64_t>(s.def.type), s.points, s.dropped, s.finite, s.nan, s.pos_inf,
        s.neg_inf, s.first_bits, s.last_bits, bits_of(s.min), bits_of(s.max), bits_of(s.sum), uint64_t{s.has_steps}})
    out += " " + std::to_string(n);
  for (const int64_t n : {s.step_min, s.step_max, s.last_step, s.time_first_us, s.time_last_us})
    out += " " + std::to_string(n);
  return out;
}

void expect_same(const WriterSnapshot& a, const WriterSnapshot& b) {
  EXPECT_EQ(encode_cbor(a.identity.to_value()), encode_cbor(b.identity.to_value()));
  EXPECT_EQ(a.last_seq, b.last_seq);
  EXPECT_EQ(a.points, b.points);
  EXPECT_EQ(a.dropped, b.dropped);
  EXPECT_EQ(a.frames, b.frames);
  EXPECT_EQ(a.frame_bytes, b.frame_bytes);
  ASSERT_EQ(a.series.size(), b.series.size());
  for (size_t i = 0; i < a.series.size(); ++i) EXPECT_EQ(text_of(a.series[i]), text_of(b.series[i]));
  ASSERT_EQ(a.attributes.size(), b.attributes.size());
  for (size_t i = 0; i < a.attributes.size(); ++i) {
    EXPECT_EQ(a.attributes[i].type, b.attributes[i].type);
    EXPECT_EQ(a.attributes[i].key, b.attributes[i].key);
    EXPECT_EQ(encode_cbor(a.attributes[i].value), encode_cbor(b.attributes[i].value));
    EXPECT_EQ(a.attributes[i].time_us, b.attributes[i].time_us);
  }
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.end.has_value(), b.end.has_value());
  EXPECT_EQ(a.end ? a.end->reason : "", b.end ? b.end->reason : "");
  ASSERT_EQ(a.recovered.has_value(), b.recovered.has_value());
  EXPECT_EQ(a.step_max, b.step_max);
}

WriterSnapshot snapshot_of(const std::string& path) {
  auto reader = WriterReader::open(path);
  EXPECT_TRUE(reader.ok()) << reader.status().to_string();
  auto snapshot = (*reader)->snapshot();
  EXPECT_TRUE(snapshot.ok()) << snapshot.status().to_string();
  return std::move(*snapshot);
}

// Config, summary, text, notes, ends, definitions with keys that hide and nest in each other.
void add_random_events(std::mt19937_64& random, Frame* frame) {
  const char* keys[] = {"a", "a/b", "a/b/c", "a0", "a/", "z", ""};
  for (uint64_t n = random() % 6; n > 0; --n) {
    const auto type = static_cast<EventType>(1 + random() % 7);
    Value payload = Value::map();
    const std::string key = keys[random() % std::size(keys)];
    if (random() % 8 != 0) payload.set("key", key);
    if (random() % 3 == 0) payload.set("value", Value::Map{{"b", Value(int64_t(random() % 9))}, {"m", Value::map()}});
    else if (random() % 8 != 0) payload.set("value", static_cast<int64_t>(random() % 100));
    if (type == EventType::kNote && random() % 2 == 0) payload.set("kind", "recovered");
    if (type == EventType::kEnd) payload.set("state", random() % 2 == 0 ? "finished" : "nonsense");
    const auto step = static_cast<int64_t>(random() % 2000) - 1000;
    frame->events.push_back({type, random() % 2 == 0, step, static_cast<int64_t>(random() % 1000),
                             random() % 20 == 0 ? std::string("no cbor \xff") : encode_cbor(payload)});
  }
  if (random() % 3 == 0)
    frame->losses.push_back(
        {static_cast<uint32_t>(random() % 3), static_cast<LossReason>(1 + random() % 7), random() % 9});
}

class FramesFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<FramesFile> open() {
    auto file = FramesFile::open_or_create(folder_.path(), identity_);
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    return std::move(*file);
  }
  std::unique_ptr<FramesFile> file_with(uint64_t frames) {
    auto file = open();
    for (uint64_t seq = 1; seq <= frames; ++seq)
      EXPECT_TRUE(file->append({test_record(identity_, seq)}, seq % 3 == 0).ok());
    return file;
  }
  std::string db() const { return db_path(folder_.path(), identity_); }
  std::string path() const { return frames_path_of(db()); }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
};

TEST_F(FramesFileTest, ItSaysTheSameAsADatabaseWithTheSameFramesAndBecomesOne) {
  auto random = seeded_random();
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    TempFolder sqlite_folder;
    identity_.writer = Id128::random();
    auto file = open();
    auto sqlite = WriterDb::create(sqlite_folder.path(), identity_);
    ASSERT_TRUE(sqlite.ok());
    auto reader = WriterReader::open(path());
    ASSERT_TRUE(reader.ok());
    for (uint64_t seq = 1; seq <= 1 + random() % 30; ++seq) {
      Frame frame = test_frame(identity_, seq, 1 + random() % 4, 1 + random() % 5);
      add_random_events(random, &frame);
      const FrameRecord record = record_of(frame, {{7, seq * 10}, {8 + seq % 2, seq}});
      const std::vector<uint64_t> retired = seq % 5 == 0 ? std::vector<uint64_t>{8} : std::vector<uint64_t>{};
      ASSERT_TRUE(file->append({record}, seq % 4 == 0, retired).ok());
      ASSERT_TRUE((*sqlite)->append({record}, false, retired).ok());
      if (random() % 4 == 0) expect_same(*(*reader)->snapshot(), snapshot_of(db_path(sqlite_folder.path(), identity_)));
    }
    const WriterSnapshot live = snapshot_of(path());
    EXPECT_TRUE(live.frames_file);
    expect_same(live, snapshot_of(db_path(sqlite_folder.path(), identity_)));
    expect_same(live, *(*reader)->snapshot());
    EXPECT_EQ(stored_frames(path()), stored_frames(db_path(sqlite_folder.path(), identity_)));
    const std::vector<RingPosition> positions = file->positions();
    ASSERT_TRUE(file->finish().ok());
    EXPECT_FALSE(path_exists(path()));
    EXPECT_FALSE(path_exists(db() + "-wal"));
    expect_same(live, snapshot_of(db()));
    expect_same(live, *(*reader)->snapshot());  // the open reader switches to the database
    EXPECT_EQ((*WriterDb::open_or_create(folder_.path(), identity_))->positions().size(), positions.size());
  }
}

TEST_F(FramesFileTest, FinishMakesADatabaseOfAFileUpToItsBoundAndLeavesALargerOneToItsReaders) {
  EXPECT_EQ(FramesFileOptions().build_bytes_max, kBuildAtFinishBytesMax);
  file_with(5);
  const uint64_t bytes = std::filesystem::file_size(path());
  const auto finish = [&](uint64_t most) {
    auto file = FramesFile::open_or_create(folder_.path(), identity_, {.build_bytes_max = most});
    ASSERT_TRUE(file.ok() && (*file)->finish().ok());
  };
  finish(bytes - 1);
  EXPECT_EQ(std::filesystem::file_size(path()), bytes);
  EXPECT_FALSE(path_exists(db()));
  EXPECT_EQ(stored_frames(path()), one_to(5));
  finish(bytes);
  EXPECT_FALSE(path_exists(path()));
  EXPECT_EQ(stored_frames(db()), one_to(5));
}

TEST_F(FramesFileTest, AReaderSaysWhoWritesItBeforeAnythingElseIsRead) {
  identity_.attempt = 3;
  identity_.continues = 1;
  identity_.resume_step = 600;
  identity_.launch = "0123";
  auto file = file_with(3);
  const std::string expected = encode_cbor(identity_.to_value());
  auto reader = WriterReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(encode_cbor((*reader)->identity().to_value()), expected);
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(encode_cbor((*WriterReader::open(db()))->identity().to_value()), expected);
}

TEST_F(FramesFileTest, AReaderSeesWhatWasAppendedAndAnUnfinishedEndOnlyWhenItIsWhole) {
  auto file = file_with(3);
  auto reader = WriterReader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->snapshot()->last_seq, 3u);
  const std::string before = *read_file(path(), 1 << 20);
  ASSERT_TRUE(file->append({test_record(identity_, 4)}, false).ok());
  const std::string after = *read_file(path(), 1 << 20);
  for (size_t size = before.size(); size <= after.size(); ++size) {
    std::ofstream(path(), std::ios::trunc) << after.substr(0, size);
    auto snapshot = (*reader)->snapshot();
    ASSERT_TRUE(snapshot.ok());
    EXPECT_EQ(snapshot->last_seq, size == after.size() ? 4u : 3u);
    EXPECT_TRUE(snapshot->damage.empty());
  }
}

TEST_F(FramesFileTest, BlocksThatArriveOutOfOrderAreDamageUntilTheyAreThere) {
  file_with(9);
  const std::string whole = *read_file(path(), 1 << 20);
  const WriterSnapshot sound = snapshot_of(path());
  std::string holed = whole;
  std::fill_n(holed.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2), whole.size() / 5, '\0');
  std::ofstream(path(), std::ios::trunc) << holed;
  auto reader = WriterReader::open(path());
  auto first = (*reader)->snapshot();
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->damage.empty());
  EXPECT_LT(first->points, sound.points);
  EXPECT_EQ(first->last_seq, 9u);
  std::vector<LogDamage> damage;
  EXPECT_LT(stored_frames(path(), &damage).size(), 9u);
  EXPECT_EQ(damage, first->damage);
  std::ofstream(path(), std::ios::in) << whole;
  auto second = (*reader)->snapshot();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->damage.empty());
  expect_same(*second, sound);
}

TEST_F(FramesFileTest, TruncatedAtAnyByteItIsReadAndWrittenOn) {
  file_with(5);
  const std::string whole = *read_file(path(), 1 << 20);
  for (size_t size = kFramesHeaderBytes; size <= whole.size(); size += 7) {
    std::ofstream(path(), std::ios::trunc) << whole.substr(0, size);
    const std::vector<int64_t> found = stored_frames(path());
    ASSERT_EQ(found, one_to(static_cast<int64_t>(found.size()))) << size;
    auto file = open();
    ASSERT_EQ(file->last_seq(), found.size());
    ASSERT_TRUE(file->append({test_record(identity_, found.size() + 1)}, true).ok());
    ASSERT_EQ(stored_frames(path()), one_to(static_cast<int64_t>(found.size() + 1)));
  }
}

TEST_F(FramesFileTest, FlippedBytesNeverCrashAndNeverChangeAFrame) {
  auto random = seeded_random();
  file_with(8);
  const std::string whole = *read_file(path(), 1 << 20);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (size_t flips = 1 + random() % 8; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 3 == 0) bytes.resize(random() % bytes.size());
    std::ofstream(path(), std::ios::trunc) << bytes;
    auto reader = WriterReader::open(path());
    if (!reader.ok()) {
      ASSERT_TRUE(reader.status().code() == Code::kCorrupt || reader.status().code() == Code::kVersion);
      ASSERT_NE(reader.status().message().find(path()), std::string::npos);
      continue;
    }
    (void)(*reader)->snapshot();
    class Same : public SeqVisitor {
     public:
      explicit Same(const WriterIdentity& identity) : SeqVisitor([](uint64_t) { return true; }), identity_(identity) {}
      Result<bool> frame(const FrameView& frame) override {
        const Frame logged = test_frame(identity_, frame.seq());
        EXPECT_EQ(frame.points(), logged.points());
        for (size_t i = 0; i < frame.blocks().size(); ++i) {
          std::vector<uint64_t> values;
          EXPECT_TRUE(
              FrameView::read_values(frame.blocks()[i].values[1], frame.blocks()[i].rows, ValueType::kFloat64, &values)
                  .ok());
          EXPECT_EQ(values, logged.blocks[i].values[1]);
        }
        return true;
      }

     private:
      const WriterIdentity& identity_;
    };
    Same visitor(identity_);
    LogPosition at;
    (void)(*reader)->read(&at, kEndOfLog, &visitor).ok();
  }
}

TEST_F(FramesFileTest, DamageInTheMiddleIsNamedAndKeptAsItIs) {
  auto file = file_with(8);
  std::string bytes = *read_file(path(), 1 << 20);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(path(), std::ios::in) << bytes;
  ASSERT_TRUE(file->finish().ok());
  EXPECT_TRUE(path_exists(path()));
  EXPECT_FALSE(path_exists(db()));
  const WriterSnapshot snapshot = snapshot_of(path());
  ASSERT_EQ(snapshot.damage.size(), 1u);
  EXPECT_NE(snapshot.damage[0].what.find(path()), std::string::npos);
  EXPECT_EQ(snapshot.frames, 7u);
}

TEST_F(FramesFileTest, RowsBehindAFrameAreFoundInALargeFileByABoundedIndex) {
  constexpr uint64_t kFrames = 9000;  // more than kIndexEntriesMax strides
  auto file = open();
  std::vector<FrameRecord> records;
  for (uint64_t seq = 1; seq <= kFrames; ++seq) {
    Frame frame;
    frame.writer = identity_.writer;
    frame.seq = seq;
    frame.events.push_back({EventType::kNote, false, 0, 1, std::string(kIndexStrideMin, 'x')});
    records.push_back(record_of(frame));
    if (records.size() < 500) continue;
    ASSERT_TRUE(file->append(records, false).ok());
    records.clear();
  }
  auto reader = FramesReader::open(path());
  ASSERT_TRUE((*reader)->snapshot().ok());
  for (const uint64_t after : {uint64_t{0}, uint64_t{1}, kFrames / 2, kFrames - 1, kFrames}) {
    uint64_t next = after;
    ASSERT_TRUE(visit_seqs(reader->get(), after, [&](uint64_t seq) { return seq == ++next; }).ok());
    EXPECT_EQ(next, kFrames);
  }
}

TEST_F(FramesFileTest, WhatIsThereTwiceCountsOnceAndWhatABuilderLeftIsRemoved) {
  auto file = file_with(5);
  const std::string frames = *read_file(path(), 1 << 20);
  ASSERT_TRUE(file->finish().ok());
  std::ofstream(path()) << frames;  // the builder died between its rename and its unlink
  const RunFolder run{identity_.run, folder_.path()};
  EXPECT_EQ(run.writer_dbs(), std::vector<std::string>{db()});
  auto again = open_writer_store(folder_.path(), identity_, StoreFiles::kFrames);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_FALSE(path_exists(path()));
  EXPECT_EQ((*again)->last_seq(), 5u);
  ASSERT_TRUE((*again)->append({test_record(identity_, 6)}, true).ok());
  ASSERT_TRUE((*again)->finish().ok());
  EXPECT_EQ(stored_frames(db()), one_to(6));
  EXPECT_FALSE(path_exists(db() + "-shm")) << "no live SQLite on such a file system";
}

TEST_F(FramesFileTest, ADatabaseThatIsNotWholeDoesNotHideTheFramesFile) {
  auto file = file_with(5);
  const std::string frames = *read_file(path(), 1 << 20);
  ASSERT_TRUE(file->finish().ok());
  const std::string database = *read_file(db(), 1 << 20);
  std::ofstream(path()) << frames;
  const RunFolder run{identity_.run, folder_.path()};
  for (const size_t size : {size_t{0}, size_t{50}, size_t{4096}, database.size() - 1}) {
    std::ofstream(db(), std::ios::trunc) << database.substr(0, size);
    ASSERT_EQ(run.writer_dbs(), std::vector<std::string>{path()}) << size;
    EXPECT_EQ(stored_frames(run.writer_dbs()[0]), one_to(5));
  }
  ASSERT_TRUE((*open_writer_store(folder_.path(), identity_, StoreFiles::kFrames))->finish().ok());
  EXPECT_EQ(run.writer_dbs(), std::vector<std::string>{db()});
  EXPECT_EQ(stored_frames(db()), one_to(5));
}

TEST_F(FramesFileTest, TheFileSystemDecidesUnlessTheOptionDoes) {
  EXPECT_EQ(choose_store_files(folder_.path(), "auto").kind, StoreFiles::kSqlite);
  EXPECT_EQ(choose_store_files(folder_.path(), "frames").kind, StoreFiles::kFrames);
  for (const uint32_t magic : {0x6969u, 0x65735546u, 0xff534d42u, 0x0bd00bd0u}) {  // NFS, FUSE, CIFS, Lustre
    set_fs_type_for_testing(folder_.path(), magic);
    const StoreFilesChoice choice = choose_store_files(folder_.path(), "auto");
    EXPECT_EQ(choice.kind, StoreFiles::kFrames);
    EXPECT_NE(choice.why.find(choice.file_system), std::string::npos);
    EXPECT_EQ(choice.write_is_in_kernel, choice.file_system != "FUSE");
    EXPECT_EQ(choose_store_files(folder_.path(), "sqlite").kind, StoreFiles::kSqlite);
  }
  set_fs_type_for_testing("", 0);
  EXPECT_TRUE(list_dir(folder_.path())->empty()) << "the probe leaves nothing";
}

}  // namespace
}  // namespace tracker::internal
