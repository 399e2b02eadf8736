// SPDX-License-Identifier: MIT
// Goal: after a damaged page verify finds the next frame up to a bound, and says that it stopped. Method: frames of a
// page each, one page damaged, and after it unused sequence numbers.
#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "storage/verify/verify_log.h"
#include "support/log_writer.h"
#include "unit/cli/verify_fixture.h"

namespace tracker::internal {
namespace {

class VerifyHoleTest : public VerifyTest {
 protected:
  // A writer of the frames 1 to 10, one that is damaged, and ten from `next` on.
  void write_with_hole(uint64_t next) {
    const RunFolder run = builder_.run("mnist", "hole-" + std::to_string(next));
    const WriterIdentity identity = dead_writer(run, builder_.store());
    auto created = WriterDb::create(run.path, identity);
    ASSERT_TRUE(created.ok());
    const std::unique_ptr<WriterDb> db = std::move(*created);
    db->set_disk_gate([] { return false; });
    std::string damaged;
    for (uint64_t seq = 1; seq < next + 10; seq = seq == 11 ? next : seq + 1) {
      Frame frame = test_frame(identity, seq, 1, 400);  // two do not fit into a page
      std::generate(frame.blocks[0].values[0].begin(), frame.blocks[0].values[0].end(), std::ref(random_));
      const FrameRecord record = record_of(frame);
      if (seq == 11) damaged = record.bytes;
      ASSERT_TRUE(db->append({record}, false).ok());
    }
    ASSERT_TRUE(db->finish().ok());
    std::string bytes = *read_file(db->path(), 1 << 20);
    const size_t page = bytes.find(damaged.substr(0, 40)) / 4096;
    ASSERT_GT(page, 0u);
    bytes.replace(page * 4096, 64, 64, '\x5a');
    ASSERT_TRUE(write_file_atomic(db->path(), bytes).ok());
  }

  std::mt19937_64 random_{1};
};

TEST_F(VerifyHoleTest, TheNextFrameIsLookedForUpToABound) {
  write_with_hole(10 + kHoleMax);
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_NE(out_.find("intact: 20 of 21 frames, 8000 of 8400 points"), std::string::npos) << out_;
  EXPECT_NE(out_.find("1 damage found; everything else is intact."), std::string::npos) << out_;
}

// Bug: "everything else is intact" was said of it, too.
TEST_F(VerifyHoleTest, BehindALongerHoleNothingIsLookedAtWhichIsSaid) {
  write_with_hole(11 + kHoleMax);
  EXPECT_EQ(run({"verify"}), kExitDamaged);
  EXPECT_NE(out_.find("; frames from 1011 on were not checked\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("intact: 10 of 21 frames, 4000 of 8400 points"), std::string::npos) << out_;
  EXPECT_NE(out_.find("1 damage found; of 1 writer not all frames could be checked"), std::string::npos) << out_;
}

}  // namespace
}  // namespace tracker::internal
