// SPDX-License-Identifier: MIT
// Goal: an artifact that is being named when the time of finish() is over has a moment more and no longer, and one that
// is stored does not wait for ever until its run can say so. Method: the queue alone, with a run made up by the test.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>

#include "run/services/artifacts.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;

// The thread of the queue is paused where the test wants it to, until so long after it is let go.
std::atomic<bool> paused{false}, let_go{false};
std::atomic<int> late_ms{0};
void pause_thread() {
  paused = true;
  while (!let_go) sleep_ms(1);
  sleep_ms(late_ms);
}

class ArtifactWaitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    target_.store_path = sandbox_.store();
    target_.note = [](const Value&) { return Code::kOk; };
    target_.flush = [this](milliseconds timeout) {
      const std::lock_guard<std::mutex> guard(mutex_);
      flushes_.push_back(timeout);
      return run_stores_.load();
    };
    paused = let_go = false;
    late_ms = 0;
  }
  void TearDown() override {
    let_go = true;
    const std::lock_guard<std::mutex> guard(mutex_);  // of a thread that has ended
    flushes_.clear();
  }
  // Its content is new each time.
  std::shared_ptr<LoggedArtifact> artifact(ArtifactUse use = ArtifactUse::kOutput) {
    const std::string file = sandbox_.folder() + "/file" + std::to_string(++files_);
    std::ofstream(file) << files_;
    ArtifactDraft draft = *ArtifactDraft::make("data" + std::to_string(files_), "dataset");
    EXPECT_TRUE(draft.add_file(file).ok());
    LogArtifactOptions options;
    options.use = use;
    return std::make_shared<LoggedArtifact>("p", draft, options);
  }
  // What close() answers without time for the artifact, whose thread is paused or is just let go.
  Status closed_while_paused(const std::shared_ptr<RunArtifacts>& queue, bool let_it_go, milliseconds* took) {
    while (!paused) sleep_ms(1);
    let_go = let_it_go;
    const auto begun = std::chrono::steady_clock::now();
    const Status out = queue->close(milliseconds(0));
    *took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    return out;
  }
  static void end(const std::shared_ptr<RunArtifacts>& queue) {
    let_go = true;
    while (queue.use_count() > 1) sleep_ms(1);  // its thread ends before the store goes
    paused = let_go = false;
  }
  size_t versions(const LoggedArtifact& artifact) {
    const auto info = ArtifactRegistry(*Store::open(sandbox_.store())).read("p", artifact.name);
    return info.ok() ? info->versions.size() : 0;
  }
  Sandbox sandbox_;
  RunArtifacts::Target target_;
  std::atomic<bool> run_stores_{true};
  std::mutex mutex_;
  std::vector<milliseconds> flushes_;  // what each was given
  int files_ = 0;
};

TEST_F(ArtifactWaitTest, OneThatIsBeingNamedAtTheEndHasAMomentMore) {
  late_ms = 10;
  Status closed(Code::kTimeout, "");
  // A machine that lets a thread wait for longer than that may take several.
  for (int i = 0; i < 20 && !closed.ok(); ++i) {
    const auto queue = std::make_shared<RunArtifacts>(target_);
    queue->set_pause_for_testing(nullptr, &pause_thread);
    const auto logged = artifact();
    ASSERT_TRUE(queue->add(logged).ok());
    milliseconds took{};
    closed = closed_while_paused(queue, true, &took);
    EXPECT_EQ(logged->state(), closed.ok() ? ArtifactState::kStored : ArtifactState::kFailed);
    EXPECT_EQ(queue->counts().stored, closed.ok() ? 1u : 0u);
    end(queue);
  }
  EXPECT_TRUE(closed.ok()) << closed.to_string();
}

TEST_F(ArtifactWaitTest, OneThatIsNotNamedInThatMomentFailsAndItsVersionMayBeThere) {
  const auto queue = std::make_shared<RunArtifacts>(target_);
  queue->set_pause_for_testing(nullptr, &pause_thread);
  const auto logged = artifact();
  ASSERT_TRUE(queue->add(logged).ok());
  milliseconds took{};
  EXPECT_EQ(closed_while_paused(queue, false, &took).code(), Code::kTimeout);
  EXPECT_GE(took, kArtifactNamingWait);
  EXPECT_EQ(logged->state(), ArtifactState::kFailed);
  end(queue);
  EXPECT_EQ(logged->state(), ArtifactState::kFailed) << "it stays what it was called";
  EXPECT_EQ(queue->counts().failed, 1u);
  EXPECT_EQ(queue->counts().stored, 0u);
  EXPECT_EQ(versions(*logged), 1u);
}

TEST_F(ArtifactWaitTest, OneWhoseBytesAreNotThereHasNoMomentMore) {
  milliseconds least{1'000'000};
  for (int i = 0; i < 20 && least >= kArtifactNamingWait; ++i) {
    const auto queue = std::make_shared<RunArtifacts>(target_);
    queue->set_pause_for_testing(&pause_thread);
    const auto logged = artifact();
    ASSERT_TRUE(queue->add(logged).ok());
    milliseconds took{};
    EXPECT_EQ(closed_while_paused(queue, false, &took).code(), Code::kTimeout);
    least = std::min(least, took);
    end(queue);
    EXPECT_EQ(versions(*logged), 0u);
  }
  EXPECT_LT(least, kArtifactNamingWait);
}

TEST_F(ArtifactWaitTest, AStoredOneWaitsSoLongForItsRunAndIsStoredAllTheSame) {
  for (const bool stores : {true, false}) {
    const auto queue = std::make_shared<RunArtifacts>(target_);
    run_stores_ = stores;
    flushes_.clear();
    ::testing::internal::CaptureStderr();
    for (const ArtifactUse use : {ArtifactUse::kOutput, ArtifactUse::kOutput, ArtifactUse::kInput}) {
      const auto logged = artifact(use);
      ASSERT_TRUE(queue->add(logged).ok());
      EXPECT_TRUE(logged->wait(milliseconds(120'000)).ok());
      EXPECT_EQ(versions(*logged), 1u);
    }
    EXPECT_TRUE(queue->close(milliseconds(120'000)).ok());
    EXPECT_EQ(queue->counts().stored, 3u);
    end(queue);
    const std::string said = ::testing::internal::GetCapturedStderr();
    const std::string line = " is stored, but not yet that the run made it (timeout)";
    EXPECT_EQ(said.find(line) != std::string::npos, !stores) << said;
    EXPECT_EQ(said.find(line), said.rfind(line)) << "said once: " << said;
    // Of each before it is named and after.
    EXPECT_EQ(flushes_, std::vector<milliseconds>(6, kArtifactSaidWait));
  }
}

}  // namespace
}  // namespace tracker::internal
