// SPDX-License-Identifier: MIT
// Goal: a log that is appended unit by unit, frames and segments, equals the log that it was copied from. Method: a
// database with segments and frames after them, whose rows of bytes are appended to an empty one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/frames/frames_file.h"
#include "storage/sqlite/sqlite.h"
#include "storage/writer/append_log.h"
#include "storage/writer/part_reader.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kCompacted = 200, kFramesInAll = 220;

class AppendLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto db = WriterDb::create(source_.path(), identity_);
    ASSERT_TRUE(db.ok());
    for (uint64_t seq = 1; seq <= kFramesInAll; ++seq) {
      ASSERT_TRUE((*db)->append({record_of(frame_of(seq))}, false).ok());
      if (seq == kCompacted) {
        ASSERT_TRUE((*db)->compact_all(true).ok());
      }
    }
    auto rows = Sqlite::open(db_path(source_.path(), identity_), SqliteOpen::kRead, 1000);
    ASSERT_TRUE(rows.ok());
    auto segments = rows->prepare("SELECT data FROM segments ORDER BY first_seq");
    while (*segments->step()) segments_.emplace_back(segments->bytes_at(0));
    auto frames = rows->prepare("SELECT seq, data FROM frames ORDER BY seq");
    while (*frames->step()) frames_.push_back({frames->u64_at(0), std::string(frames->bytes_at(1)), {}});
    ASSERT_FALSE(segments_.empty());
    ASSERT_FALSE(frames_.empty());
  }

  // Each 50th one has a loss and an event.
  Frame frame_of(uint64_t seq) const {
    Frame frame = test_frame(identity_, seq);
    if (seq % 50 != 0) return frame;
    frame.losses.push_back({1, LossReason::kRingFull, seq});
    frame.events.push_back({EventType::kConfig, false, 0, 1,
                            encode_cbor(Value::Map{{"key", "seq"}, {"value", static_cast<int64_t>(seq)}})});
    return frame;
  }

  std::vector<LogUnit> units() const {
    std::vector<LogUnit> out;
    for (const std::string& segment : segments_) out.push_back({nullptr, segment});
    for (const FrameRecord& frame : frames_) out.push_back({&frame, {}});
    return out;
  }

  void expect_same(const std::string& folder) const {
    const auto of = [this](const std::string& path) {
      auto reader = WriterReader::open(db_path(path, identity_));
      EXPECT_TRUE(reader.ok());
      return *(*reader)->snapshot();
    };
    const WriterSnapshot from = of(source_.path()), to = of(folder);
    EXPECT_THAT(to.damage, ::testing::IsEmpty());
    EXPECT_EQ(to.last_seq, kFramesInAll);
    EXPECT_EQ(to.points, from.points);
    EXPECT_EQ(to.frames, from.frames);
    EXPECT_EQ(to.dropped, from.dropped);
    ASSERT_EQ(to.series.size(), from.series.size());
    for (size_t i = 0; i < to.series.size(); ++i) {
      EXPECT_EQ(to.series[i].def.name, from.series[i].def.name);
      EXPECT_EQ(to.series[i].points, from.series[i].points);
      EXPECT_EQ(to.series[i].sum, from.series[i].sum);
    }
    ASSERT_EQ(to.attributes.size(), from.attributes.size());
    for (size_t i = 0; i < to.attributes.size(); ++i) EXPECT_EQ(to.attributes[i].value, from.attributes[i].value);
  }

  const WriterIdentity identity_ = test_identity();
  TempFolder source_, target_;
  std::vector<std::string> segments_;
  std::vector<FrameRecord> frames_;
};

TEST_F(AppendLogTest, FramesAndSegmentsOfAnotherProcessMakeTheSameLog) {
  auto db = WriterDb::create(target_.path(), identity_);
  ASSERT_TRUE(db.ok());
  const auto all = units();
  ASSERT_TRUE(append_log(db->get(), all, true).ok());
  EXPECT_EQ((*db)->durable_seq(), kFramesInAll);
  ASSERT_TRUE((*db)->finish().ok());
  expect_same(target_.path());
}

TEST_F(AppendLogTest, AUnitThatIsThereAlreadyIsLeftOut) {
  auto db = WriterDb::create(target_.path(), identity_);
  ASSERT_TRUE(db.ok());
  const auto all = units();
  for (int i = 0; i < 2; ++i) {
    const auto appended = append_log(db->get(), all, false);
    ASSERT_TRUE(appended.ok());
    EXPECT_EQ(appended->differing, 0u);
    db->reset();  // as a server that starts again
    db = WriterDb::open_or_create(target_.path(), identity_);
  }
  expect_same(target_.path());
}

TEST_F(AppendLogTest, AFrameWithOtherBytesThanTheLogHasUnderItsNumberIsCountedAndNotStored) {
  auto db = WriterDb::create(target_.path(), identity_);
  auto file = FramesFile::open_or_create(target_.path(), identity_);
  ASSERT_TRUE(db.ok() && file.ok());
  std::vector<FrameRecord> frames;
  for (uint64_t seq = 1; seq <= 5; ++seq) frames.push_back(record_of(frame_of(seq)));
  for (WriterStore* log : std::initializer_list<WriterStore*>{db->get(), file->get()}) {
    ASSERT_TRUE(append_log(log, frames, true).ok());
    std::vector<FrameRecord> again = frames;
    again[1] = record_of(test_frame(identity_, 2, 2, 4));  // forged
    again[3].bytes[again[3].bytes.size() / 2] ^= 1;        // corrupted
    again[4].bytes = record_of(frame_of(4)).bytes;         // another number
    again.push_back(record_of(frame_of(6)));
    const auto appended = append_log(log, again, true);
    ASSERT_TRUE(appended.ok()) << appended.status().to_string();
    EXPECT_EQ(appended->differing, 3u);
    EXPECT_EQ(log->last_seq(), 6u);
    auto part = PartReader::open(log->path());
    ASSERT_TRUE(part.ok());
    EXPECT_EQ((*part)->snapshot()->points, 36u);
  }
}

TEST_F(AppendLogTest, OfASegmentTheFramesAfterThoseThatAreThereAreStored) {
  auto db = WriterDb::create(target_.path(), identity_);
  ASSERT_TRUE(db.ok());
  for (uint64_t seq = 1; seq <= kCompacted / 2 + 7; ++seq) {
    ASSERT_TRUE((*db)->append({record_of(frame_of(seq))}, false).ok());
  }
  const auto all = units();
  ASSERT_TRUE(append_log(db->get(), all, false).ok());
  expect_same(target_.path());
}

TEST_F(AppendLogTest, AKnownNumberOfAnotherWriterIsRefused) {
  auto db = WriterDb::create(target_.path(), identity_);
  ASSERT_TRUE(db.ok());
  const auto all = units();
  ASSERT_TRUE(append_log(db->get(), all, true).ok());
  const WriterIdentity other = test_identity();
  const FrameRecord frame = record_of(test_frame(other, 3));
  const Status refused = append_log(db->get(), {frame}, true).status();
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_THAT(refused.message(), ::testing::AllOf(::testing::HasSubstr((*db)->path()), ::testing::HasSubstr("frame 3"),
                                                  ::testing::HasSubstr(other.writer.hex())));
  auto elsewhere = WriterDb::create(target_.path(), other);
  ASSERT_TRUE(elsewhere.ok());
  ASSERT_TRUE((*elsewhere)->append({record_of(test_frame(other, kFramesInAll))}, true).ok());
  const LogUnit unit{nullptr, segments_[0]};
  EXPECT_EQ(append_log(elsewhere->get(), std::span(&unit, 1), false).status().code(), Code::kInvalid);
}

TEST_F(AppendLogTest, ASegmentOfAnotherWriterAndOneForAFramesFileAreRefused) {
  auto other = WriterDb::create(target_.path(), test_identity());
  auto file = FramesFile::open_or_create(target_.path(), identity_);
  ASSERT_TRUE(other.ok() && file.ok());
  const LogUnit unit{nullptr, segments_[0]};
  EXPECT_EQ(append_log(other->get(), std::span(&unit, 1), false).status().code(), Code::kInvalid);
  EXPECT_EQ(append_log(file->get(), std::span(&unit, 1), false).status().code(), Code::kInvalid);
  EXPECT_EQ((*other)->last_seq(), 0u);
}

}  // namespace
}  // namespace tracker::internal
