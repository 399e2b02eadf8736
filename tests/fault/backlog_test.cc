// SPDX-License-Identifier: MIT
// Goal: data that waited for a stalled disk is committed in transactions of a bounded size, so that a disk that fails
// half way, or a kill, keeps what was committed. Method: the store thread is held while texts become frames of which
// one is larger than the limit; when it continues, a second connection reads between its commits.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "pipeline/writer.h"
#include "run/run.h"
#include "storage/sqlite/sqlite.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

std::atomic<bool> g_hold{false};
std::string g_database;
std::mutex g_looks;            // guards what follows
std::vector<size_t> g_stored;  // frames, between two commits
std::vector<size_t> g_bytes;   // of each of these frames

// Called before each commit.
void hold_and_look() {
  while (g_hold.load()) ::usleep(1000);
  const std::lock_guard<std::mutex> guard(g_looks);
  auto db = Sqlite::open(g_database, SqliteOpen::kRead, 1000);
  auto frames = db.ok() ? db->prepare("SELECT length(data) FROM frames ORDER BY seq") : Result<Statement>(db.status());
  if (!frames.ok()) return;
  std::vector<size_t> bytes;
  for (auto row = frames->step(); row.ok() && *row; row = frames->step()) bytes.push_back(frames->u64_at(0));
  if (!g_stored.empty() && bytes.size() <= g_bytes.size()) return;  // nothing new, or some are in a segment by now
  g_bytes = std::move(bytes);
  g_stored.push_back(g_bytes.size());
}

// Letters that no encoder makes much less of.
std::string noise(std::mt19937_64* random, size_t bytes) {
  std::string out(bytes, ' ');
  for (char& letter : out) letter = static_cast<char>(' ' + (*random)() % 95);
  return out;
}

// Bytes of the frames [from, to).
size_t bytes_of(size_t from, size_t to) {
  size_t out = 0;
  for (size_t i = from; i < to; ++i) out += g_bytes[i];
  return out;
}

TEST(BacklogTest, ATransactionHoldsAsManyFramesAsItsBoundTakesOrOneThatIsLarger) {
  const Sandbox sandbox;
  const int status = run_child([] {
    InitOptions options;
    options.project = "p";
    options.id = "r";
    options.quiet = true;
    auto run = Run::init(options);
    CHILD_CHECK(run.ok() && (*run)->flush(std::chrono::seconds(20)));
    g_database = Store::open((*run)->store_path())->list_runs().at(0).writer_dbs().at(0);
    g_hold = true;
    (*run)->set_pause_for_testing(nullptr, hold_and_look);
    std::mt19937_64 random(1);
    for (int i = 0; i < 14; ++i) {
      const size_t bytes = i == 8 ? kCommitBytesMax * 3 / 2 : 400'000 + random() % 400'000;
      CHILD_CHECK((*run)->log_text("text", noise(&random, bytes), i, true) == Code::kOk);
      sleep_ms(120);  // mostly a frame of its own
    }
    g_hold = false;
    CHILD_CHECK((*run)->flush(std::chrono::seconds(60)));
    std::unique_lock<std::mutex> looks(g_looks);
    size_t full = 0, large = 0;
    for (size_t i = 0; i + 1 < g_stored.size(); ++i) {
      const size_t from = g_stored[i], to = g_stored[i + 1];
      CHILD_CHECK(to == from + 1 || bytes_of(from, to) <= kCommitBytesMax);
      large += bytes_of(from, to) > kCommitBytesMax;
      // All of them waited before the first was taken but for what the held round had.
      if (i == 0 || to == g_bytes.size()) continue;
      CHILD_CHECK(bytes_of(from, to + 1) > kCommitBytesMax);
      ++full;
    }
    CHILD_CHECK(full >= 2 && large == 1);
    (*run)->set_pause_for_testing(nullptr, nullptr);
    looks.unlock();
    (void)(*run)->finish(RunState::kFinished);  // a busy machine may leave some of it uncompacted
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

}  // namespace
}  // namespace tracker::internal
