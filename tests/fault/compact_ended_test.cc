// SPDX-License-Identifier: MIT
// F13, F16. The disk fails while `tracker gc` makes segments of an ended run: the run is unchanged byte for byte,
// nothing half-made remains, gc reports what failed and the next one does it. Method: libc's calls are replaced
// (support/faulty_disk.h); a child compacts the same run again and again, and the disk fails some writes later each
// time, from a random one on; with TRACKER_TEST_KILLS one write later.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/fs.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/faulty_disk.h"
#include "support/temp_folder.h"
#include "unit/cli/gc_compact_fixture.h"

namespace tracker::internal {
namespace {

// From one write that is refused to the next.
int stride() {
  if (std::getenv("TRACKER_TEST_KILLS") != nullptr) return 1;
  return kSlowDown == 1 ? 13 : 193;
}

class CompactEndedTest : public GcCompactTest {
 protected:
  CompactEndedTest() {
    path_ = burst("otter");
    rows_ = exported("otter");
    files_ = files(parent_path(path_));
    bytes_ = whole(path_);
  }
  static std::string whole(const std::string& path) { return read_file(path, 64 << 20).value_or(""); }
  // The report and result of gc in a child whose disk fails after so many writes; "" if it did not have to.
  struct Outcome {
    int code = -1;
    bool failed = false;
    std::string said;
  };
  Outcome gc_on_failing_disk(int error, int writes) {
    const std::string said = folder_.path() + "/said";
    Outcome out;
    const int status = run_child([&] {
      set_faulty_folder(run_->path);
      FaultyDisk& disk = faulty_disk();
      disk.errno_then = error;
      disk.writes_left = writes;
      const int code = run({"gc"});
      const bool failed = disk.faults > 0;
      if (!write_file_atomic(said, out_ + err_).ok()) return 99;
      return code + (failed ? 32 : 0);
    });
    const int both = exit_code_of(status);
    out.code = both & 31;
    out.failed = both >= 32;
    out.said = whole(said);
    return out;
  }

  TempFolder folder_;
  std::string path_, rows_, bytes_;
  std::set<std::string> files_;
};

TEST_F(CompactEndedTest, ADiskThatRefusesAnyWriteOfItLeavesTheRunAsItIsAndTheNextGcCompactsIt) {
  std::mt19937_64 random(test_seed("compact_ended"));
  for (const int error : {ENOSPC, EIO}) {
    int failures = 0;
    for (int at = static_cast<int>(random() % static_cast<uint64_t>(stride()));; at += stride(), ++failures) {
      const Outcome outcome = gc_on_failing_disk(error, at);
      const std::string where = std::string(std::strerror(error)) + ", write " + std::to_string(at);
      if (!outcome.failed) {
        ASSERT_EQ(outcome.code, kExitOk) << where << "\n" << outcome.said;
        ASSERT_LT(points_in_frames(path_), static_cast<int64_t>(kEndedFramePointsMin)) << where;
        break;
      }
      ASSERT_EQ(outcome.code, kExitFailed) << where << "\n" << outcome.said;
      ASSERT_NE(outcome.said.find(path_ + " is not compacted: "), std::string::npos) << where << "\n" << outcome.said;
      ASSERT_EQ(outcome.said.find("compacted mnist"), std::string::npos) << where << "\n" << outcome.said;
      ASSERT_EQ(files(parent_path(path_)), files_) << where;
      ASSERT_TRUE(whole(path_) == bytes_) << where;
      if (failures % 4 != 3) continue;
      ASSERT_EQ(run({"gc"}), kExitOk) << where << "\n" << err_;
      ASSERT_LT(points_in_frames(path_), static_cast<int64_t>(kEndedFramePointsMin)) << where;
      ASSERT_EQ(exported("otter"), rows_) << where;
      ASSERT_EQ(run({"verify"}), kExitOk) << where << "\n" << out_ << err_;
      ASSERT_TRUE(write_file_atomic(path_, bytes_).ok());
    }
    EXPECT_GT(failures, kSlowDown == 1 ? 3 : 0);
    ASSERT_EQ(exported("otter"), rows_);
    ASSERT_EQ(run({"verify"}), kExitOk) << out_ << err_;
    ASSERT_TRUE(write_file_atomic(path_, bytes_).ok());
  }
}

}  // namespace
}  // namespace tracker::internal
