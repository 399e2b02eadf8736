// SPDX-License-Identifier: MIT
// Files of a small run that end at any byte: readers get whole frames as they were logged, and report what is missing,
// unless a death can leave the same: an earlier commit, or all records before the last.
// Method: a database of frames, one with a segment, a WAL and a .frames file, each cut at every byte with
// TRACKER_TEST_KILLS, else at each kStrideCut'th and at all ends of pages; every row is compared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "storage/database/compaction.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/frames_file.h"
#include "support/child.h"
#include "support/segment_model.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr size_t kStrideCut = kSlowDown == 1 ? 199 : 1999;  // no divisor of a page
constexpr size_t kPageCut = 4096;
constexpr uint64_t kFramesCut = 4;

// Rows by series, those of frames and of segments alike.
class RowsVisitor : public LogVisitor {
 public:
  std::map<std::pair<uint32_t, ValueType>, std::vector<ModelRow>> rows;

  Result<bool> frame(const FrameView& frame) override {
    Frame out;
    for (const FrameView::BlockView& view : frame.blocks()) {
      Block block;
      block.series.assign(view.series.begin(), view.series.end());
      block.types.assign(view.types.begin(), view.types.end());
      block.has_steps = view.has_steps;
      if (view.has_steps) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(view.steps, view.rows, &block.steps));
      TRACKER_RETURN_IF_ERROR(FrameView::read_ints(view.times, view.rows, &block.times_us));
      if (view.has_order) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(view.order, view.rows, &block.order));
      block.values.resize(view.series.size());
      for (size_t i = 0; i < view.series.size(); ++i)
        TRACKER_RETURN_IF_ERROR(FrameView::read_values(view.values[i], view.rows, view.types[i], &block.values[i]));
      out.blocks.push_back(std::move(block));
    }
    add(rows_of(std::vector<Frame>{out}));
    return true;
  }
  Result<bool> segment(SegmentView* segment, PointRange*) override {
    TRACKER_RETURN_IF_ERROR(segment->check());
    add(rows_of(segment));
    return true;
  }

 private:
  void add(const ModelRows& some) {
    for (const auto& [series, more] : some) rows[series].insert(rows[series].end(), more.begin(), more.end());
  }
};

// What a reader reports of a file.
struct Said {
  bool readable = false;
  std::string problem;  // the first one; empty: none is named
  uint64_t points = 0;  // of the small tables
  ModelRows rows;

  size_t values() const {
    size_t out = 0;
    for (const auto& [series, some] : rows) out += some.size();
    return out;
  }
};

Said said_of(const std::string& file) {
  Said out;
  auto reader = WriterReader::open(file);
  const auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
  if (!snapshot.ok()) {
    out.problem = snapshot.status().message();
    return out;
  }
  out.readable = true;
  out.points = snapshot->points;
  std::vector<LogDamage> damage = snapshot->damage;
  RowsVisitor visitor;
  LogPosition at;
  const Status read = (*reader)->read(&at, {snapshot->last_seq, snapshot->points}, &visitor, &damage);
  if (!read.ok()) damage.push_back({read.code(), read.message()});
  if (!damage.empty()) out.problem = damage[0].what;
  out.rows = std::move(visitor.rows);
  return out;
}

class CutTest : public ::testing::Test {
 protected:
  void SetUp() override { set_compaction_gather_for_testing(60'000'000'000); }

  // Sizes from the full one down, so that a file is cut and never written.
  static std::vector<size_t> sizes(size_t whole) {
    const bool all = std::getenv("TRACKER_TEST_KILLS") != nullptr;
    std::vector<size_t> out;
    for (size_t size = whole + 1; size-- > 0;)
      if (all || size % kStrideCut == 0 || size < 20 || size + 20 > whole || (size + 2) % kPageCut < 4)
        out.push_back(size);
    return out;
  }

  std::vector<Frame> logged(uint64_t frames, size_t series = 2, size_t rows = 3) const {
    std::vector<Frame> out;
    for (uint64_t seq = 1; seq <= frames; ++seq) out.push_back(test_frame(identity_, seq, series, rows));
    return out;
  }

  // Each frame is complete or missing: of a series only steps of whole frames, each row as it was logged.
  static void expect_whole_frames(const Said& said, const std::vector<Frame>& all, size_t size) {
    ModelRows left = said.rows;
    for (const Frame& frame : all) {
      const ModelRows of_frame = rows_of(std::vector<Frame>{frame});
      size_t there = 0;
      for (const auto& [series, rows] : of_frame) {
        auto& some = left[series];
        if (some.size() < rows.size() || !std::equal(rows.begin(), rows.end(), some.begin())) continue;
        some.erase(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(rows.size()));
        ++there;
      }
      ASSERT_TRUE(there == 0 || there == of_frame.size()) << "a part of frame " << frame.seq << ", cut to " << size;
    }
    for (const auto& [series, rows] : left)
      ASSERT_TRUE(rows.empty()) << rows.size() << " rows that were not logged, or out of order, cut to " << size;
  }

  // A finished database cut at any byte lacks something, and reading reports it; its file is not changed.
  void expect_each_cut_said(const std::string& file, const std::vector<Frame>& all) {
    const size_t whole = std::filesystem::file_size(file);
    const Said sound = said_of(file);
    ASSERT_TRUE(sound.problem.empty()) << sound.problem;
    ASSERT_EQ(sound.rows, rows_of(all));
    size_t some = 0, none = 0;
    for (const size_t size : sizes(whole)) {
      if (size == whole) continue;
      std::filesystem::resize_file(file, size);
      const Said said = said_of(file);
      ASSERT_NE(said.problem.find(file), std::string::npos) << "cut to " << size << " of " << whole << said.problem;
      expect_whole_frames(said, all, size);
      ASSERT_EQ(std::filesystem::file_size(file), size);
      if (::testing::Test::HasFatalFailure()) return;
      ++(said.readable && said.values() > 0 ? some : none);
    }
    EXPECT_GT(some, 0u) << "rows in front of the cut are read";
    EXPECT_GT(none, 0u);
  }

  std::string path() const { return db_path(folder_.path(), identity_); }

  TempFolder folder_;
  WriterIdentity identity_ = test_identity();
};

TEST_F(CutTest, OfADatabaseWithFramesWholeFramesAreReadAndTheCutIsReported) {
  const std::vector<Frame> all = logged(12, 2, 60);
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    for (const Frame& frame : all) ASSERT_TRUE((*db)->append({record_of(frame)}, false).ok());
  }
  checkpoint_part(path());
  expect_each_cut_said(path(), all);
}

TEST_F(CutTest, OfADatabaseWithASegmentItIsReadOrTheCutIsReported) {
  const std::vector<Frame> all = logged(10, 2, 300);
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    for (const Frame& frame : all) ASSERT_TRUE((*db)->append({record_of(frame)}, false).ok());
    ASSERT_TRUE((*db)->finish().ok());
  }
  expect_each_cut_said(path(), all);
}

// As a dead machine has left it: the complete commits in the log count.
TEST_F(CutTest, OfAWalTheCommitsInFrontOfTheCutAreRead) {
  const std::vector<Frame> all = logged(kFramesCut);
  std::string wal, base;
  std::vector<size_t> commits{0};  // sizes of the log after each
  {
    auto db = WriterDb::create(folder_.path(), identity_);
    for (const Frame& frame : all) {
      ASSERT_TRUE((*db)->append({record_of(frame)}, false).ok());
      commits.push_back(std::filesystem::file_size(path() + "-wal"));
    }
    wal = *read_file(path() + "-wal", 10 << 20);
    base = *read_file(path(), 10 << 20);
  }
  for (const size_t size : sizes(wal.size())) {
    for (const char* suffix : {"-wal", "-shm"}) remove_file(path() + suffix);
    std::ofstream(path(), std::ios::trunc) << base;
    std::ofstream(path() + "-wal") << wal.substr(0, size);
    const Said said = said_of(path());
    ASSERT_TRUE(said.problem.empty()) << size << ": " << said.problem;
    const auto whole =
        static_cast<size_t>(std::upper_bound(commits.begin(), commits.end(), size) - commits.begin()) - 1;
    const std::vector<Frame> there(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(whole));
    ASSERT_EQ(said.rows, rows_of(there)) << size;
    ASSERT_EQ(said.points, said.values()) << size;
  }
}

TEST_F(CutTest, OfAFramesFileTheRecordsInFrontOfTheCutAreRead) {
  const std::vector<Frame> all = logged(kFramesCut);
  std::vector<size_t> ends;
  const std::string file = join_path(folder_.path(), identity_.writer.hex() + ".frames");
  {
    auto writer = FramesFile::open_or_create(folder_.path(), identity_);
    ASSERT_TRUE(writer.ok());
    for (const Frame& frame : all) {
      ends.push_back(std::filesystem::file_size(file));
      ASSERT_TRUE((*writer)->append({record_of(frame)}, false).ok());
    }
  }
  const size_t whole = std::filesystem::file_size(file);
  ASSERT_TRUE(said_of(file).problem.empty());
  for (size_t size = whole; size-- > 0;) {
    std::filesystem::resize_file(file, size);
    const Said said = said_of(file);
    if (size < ends[0]) {  // the writer's identity is not complete
      ASSERT_NE(said.problem.find(file), std::string::npos) << size << ": " << said.problem;
      ASSERT_EQ(said.values(), 0u) << size;
      continue;
    }
    ASSERT_TRUE(said.problem.empty()) << size << ": " << said.problem;
    const auto there = std::upper_bound(ends.begin(), ends.end(), size) - ends.begin() - 1;
    ASSERT_EQ(said.rows, rows_of(std::vector<Frame>(all.begin(), all.begin() + there))) << size;
    ASSERT_EQ(said.points, said.values()) << size;
  }
}

}  // namespace
}  // namespace tracker::internal
