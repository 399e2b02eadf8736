// SPDX-License-Identifier: MIT
// A run that ended in a burst, whose points its end left in frames, and what readers see of it. Threads: one at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "storage/database/compaction.h"
#include "storage/sqlite/sqlite.h"
#include "storage/upkeep/compact_ended.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {

constexpr int kBurstFrames = 40;
constexpr int kBurstRows = static_cast<int>(kEndedFramePointsMin) / 2 / kBurstFrames + 1;

class GcCompactTest : public CliTest {
 protected:
  GcCompactTest() { set_compact_at_end_for_testing(0); }
  ~GcCompactTest() override { set_compact_at_end_for_testing(kCompactAtEndNs); }

  std::string burst(const std::string& id, int frames = kBurstFrames) {
    run_.emplace(builder_.run("mnist", id));
    WriterBuilder writer = builder_.writer(*run_);
    for (int frame = 0; frame < frames; ++frame) {
      for (int row = 0; row < kBurstRows; ++row) {
        const int step = frame * kBurstRows + row;
        writer.log("loss", step, 1.0 / (step + 1)).log("noise", step, step * 7919 % 104729);
      }
      writer.text("note", frame * kBurstRows, "frame " + std::to_string(frame)).commit();
    }
    writer.end(RunState::kFinished).finish();
    return writer.path();
  }
  CompactEndedReport compact_now(uint64_t room_bytes = kCompactEndedRoomBytes) {
    return compact_ended(builder_.store(), *run_, {.now_us = console_.now_us, .room_bytes = room_bytes});
  }
  static int64_t number(const std::string& path, const char* sql) {
    auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
    return db.ok() ? db->query_int(sql).value_or(-1) : -1;
  }
  static int64_t points_in_frames(const std::string& path) {
    return number(path, "SELECT coalesce(sum(points), 0) FROM frames");
  }
  // Every row that readers see.
  std::string exported(const std::string& id) {
    EXPECT_EQ(run({"export", id, "--format", "jsonl"}), kExitOk) << err_;
    return out_;
  }
  static std::set<std::string> files(const std::string& folder) {
    std::set<std::string> out;
    for (const auto& file : std::filesystem::directory_iterator(folder)) out.insert(file.path().filename());
    return out;
  }

  std::optional<RunFolder> run_;  // of the last burst
};

}  // namespace tracker::internal
