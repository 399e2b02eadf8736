// SPDX-License-Identifier: MIT
// Goal: what a run says of its surroundings waits in memory up to its bounds, and what is beyond is counted or said; a
// run that is idle gives signs of life; the copy of the source has its time. Method: a writer of its own whose drain
// thread is held, and a clock of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "journal/ring/wipe_memory.h"
#include "pipeline/writer.h"
#include "query/view/environment.h"
#include "run/services/source.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::atomic<bool> g_hold_monitored{false}, g_monitored_held{false};
void hold_monitored_while_asked() {
  while (g_hold_monitored.load()) g_monitored_held = true, std::this_thread::yield();
}

class MonitoredTest : public ::testing::Test {
 protected:
  void start(uint64_t max_disk = 0) {
    auto store = Store::open_or_create(sandbox_.store());
    ASSERT_TRUE(store.ok());
    auto run = store->create_run("p", "r");
    ASSERT_TRUE(run.ok());
    identity_ = test_identity();
    identity_.run = run->identity;
    identity_.store = store->id();
    identity_.store_path = sandbox_.store();
    folder_ = *run;
    JournalOptions options;
    options.store_path = sandbox_.store();
    auto journal = Journal::open(options, &identity_, hot_);
    ASSERT_TRUE(journal.ok()) << journal.status().to_string();
    writer_ = std::make_shared<Writer>(std::move(*journal), identity_,
                                       StoreTarget{sandbox_.store(), run->identity, {}, "auto", max_disk});
    ASSERT_TRUE(writer_->start().ok());
    writer_->set_pause_for_testing(hold_monitored_while_asked, nullptr);
  }
  void TearDown() override {
    g_hold_monitored = false;
    EXPECT_TRUE(writer_->finish(encode_cbor(Value::map()), std::chrono::seconds(60)).ok());
    const std::weak_ptr<Writer> threads = writer_;  // which hold it until they end
    writer_.reset();
    while (!threads.expired()) std::this_thread::yield();
    free_hot_run(hot_);
  }
  static void hold_drain() {
    g_monitored_held = false;
    g_hold_monitored = true;
    while (!g_monitored_held.load()) std::this_thread::yield();
  }
  // What is stored once the drain thread goes on.
  WriterSnapshot stored() {
    g_hold_monitored = false;
    EXPECT_TRUE(writer_->flush(std::chrono::seconds(60)));
    return snapshot();
  }
  WriterSnapshot snapshot() const {
    auto reader = WriterReader::open(db_path(folder_.path, identity_));
    EXPECT_TRUE(reader.ok());
    auto out = (*reader)->snapshot();
    EXPECT_TRUE(out.ok());
    return *out;
  }
  size_t notes(const std::string& kind) const {
    size_t out = 0;
    for (const LookedAt& frame : frames_of(db_path(folder_.path, identity_)))
      for (const Value& note : frame.notes) out += note.text_or("kind", "") == kind;
    return out;
  }
  static std::string fact(const std::string& key, size_t bytes) {
    const auto said = [&key](size_t length) {
      return encode_cbor(Value::Map{{"key", key}, {"value", std::string(length, 'x')}});
    };
    return said(bytes - (said(bytes).size() - bytes));
  }
  Sandbox sandbox_;
  HotRun* const hot_ = allocate_hot_run();
  WriterIdentity identity_;
  RunFolder folder_;
  std::shared_ptr<Writer> writer_;
};

TEST_F(MonitoredTest, SoManySamplesWaitForTheDrainThreadAndOneMoreIsSaid) {
  start();
  uint64_t kept = 0;
  for (const size_t samples : {kSamplesWaitingMax, kSamplesWaitingMax + 1}) {
    hold_drain();
    for (size_t i = 0; i < samples; ++i) writer_->push_sample({{"system/x", static_cast<double>(i)}});
    kept += kSamplesWaitingMax;
    const WriterSnapshot now = stored();
    ASSERT_EQ(now.series.size(), 1u);
    EXPECT_EQ(now.series[0].points, kept);
    EXPECT_EQ(notes("samples_left_out"), samples > kSamplesWaitingMax ? 1u : 0u);
    EXPECT_EQ(now.dropped, 0u) << "no point of the program";
  }
}

// Bug: facts and notes without room were dropped, and that was not reported.
TEST_F(MonitoredTest, SoManyBytesOfFactsWaitForTheDrainThreadAndThoseBehindAreCountedAndSaid) {
  start();
  constexpr size_t kEach = 1024 * 1024;
  constexpr size_t kFacts = kFactsBytesMax / kEach;
  hold_drain();
  for (size_t i = 0; i < kFacts; ++i) writer_->push_environment(fact("k" + std::to_string(i), kEach));
  EXPECT_EQ(writer_->status().counts.entries_dropped, 0u);
  ::testing::internal::CaptureStderr();
  writer_->push_environment(fact("one more", 100));
  writer_->push_note(Value::Map{{"kind", "one_more"}});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), testing::HasSubstr("more than 8 MiB of what the run says"));
  EXPECT_EQ(writer_->status().counts.entries_dropped, 2u);
  WriterSnapshot now = stored();
  EXPECT_EQ(environment_of(now).as_map()->size(), kFacts);
  EXPECT_EQ(now.entries_dropped, 2u);
  EXPECT_EQ(notes("one_more"), 0u);
  writer_->push_environment(fact("later", 100));
  now = stored();
  EXPECT_NE(environment_of(now).find("later"), nullptr) << "there is room again";
  EXPECT_EQ(now.entries_dropped, 2u);
}

// Bug: a full store took no facts, and did not count them as it counts config and summary.
TEST_F(MonitoredTest, FactsThatAFullStoreDoesNotTakeAreCounted) {
  constexpr uint64_t kBound = 32u << 20;
  std::filesystem::create_directories(sandbox_.store());
  ASSERT_TRUE(write_file_atomic(sandbox_.store() + "/large", std::string(kBound, 'x')).ok());
  start(kBound);
  for (int i = 0; i < 3000 && writer_->disk_room() != DiskRoom::kOnlyTheEnd; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  writer_->push_environment(fact("host", 100));
  EXPECT_EQ(writer_->status().counts.entries_dropped, 1u);
}

TEST_F(MonitoredTest, ARunThatLogsNothingGivesASignOfLifeEachSoOften) {
  start();
  const int64_t committed = stored().heartbeat_us;
  int64_t beat = committed;
  for (int i = 0; i < 600 && beat == committed; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    beat = snapshot().heartbeat_us;
  }
  const std::chrono::microseconds between(beat - committed);
  EXPECT_GE(between, kHeartbeatInterval - milliseconds(50)) << "a clock that is being set may run a little slower";
  EXPECT_LT(between, kHeartbeatInterval * 3 / 2);
}

// A clock that does not move but for one leap, at its call of that number.
std::atomic<int> g_calls{0}, g_leap_at{0};
std::atomic<int64_t> g_leap_ns{0};
steady_clock::time_point leaping_clock() {
  return steady_clock::time_point() + std::chrono::nanoseconds(g_calls++ < g_leap_at ? 0 : g_leap_ns.load());
}

// Calls of the clock: at the start, for each of the three files; at the start of the copy, for each file again.
TEST_F(MonitoredTest, TheSourceHasSoLongToBeLookedAtAndSoLongToBeCopied) {
  start();
  constexpr int kInTheLook = 2, kInTheCopy = 6;
  const std::string code = sandbox_.folder() + "/code";
  std::filesystem::create_directories(code);
  for (const char* name : {"a.py", "b.py", "c.py"}) std::ofstream(code + "/" + name) << "x = 1\n";
  const auto artifacts = std::make_shared<RunArtifacts>(RunArtifacts::Target{});
  EXPECT_TRUE(artifacts->close(milliseconds(0)).ok());  // it takes none: what becomes of the copy is not asked here
  for (const int leap_at : {kInTheLook, kInTheCopy})
    for (const bool over : {false, true}) {
      g_calls = 0, g_leap_at = leap_at;
      g_leap_ns = std::chrono::nanoseconds(kSourceTimeMax).count() - (over ? 0 : 1);
      const auto source = RunSource::start({code, sandbox_.store(), "p", writer_, artifacts, leaping_clock});
      ASSERT_NE(source, nullptr);
      source->end(std::chrono::seconds(60));
      const Value environment = environment_of(stored());
      const Value* said = environment.find("source");
      ASSERT_NE(said, nullptr);
      EXPECT_EQ(said->int_or("files", -1), over ? 1 : 3) << to_json(*said, 2);
      EXPECT_EQ(said->find("cut") != nullptr, over);
      const Value* beyond = said->find_path("left_out/beyond");
      EXPECT_EQ(beyond != nullptr, over && leap_at == kInTheCopy) << "what was not read is not counted";
      EXPECT_EQ(beyond == nullptr ? 2 : *beyond->as_int(), 2);
    }
  EXPECT_EQ(RunSource::Input().now, &steady_clock::now);
}

}  // namespace
}  // namespace tracker::internal
