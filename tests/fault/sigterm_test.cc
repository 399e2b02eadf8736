// SPDX-License-Identifier: MIT
// SIGTERM at random moments, in random threads, while threads log, runs start and finish and the process forks: the
// handler of init(on_sigterm="mark") takes no lock, breaks no call, passes the signal on to the program's own handler
// and is removed after the last run. Method: a handler of the program's own counts; what was logged is compared with
// what is stored; it is most useful under the sanitizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <random>
#include <thread>

#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr int kLoggers = 3;

std::atomic<uint64_t> g_heard{0};
void count_signal(int) { g_heard.fetch_add(1, std::memory_order_relaxed); }

// What the run that is there accepts; its threads wait for each other between two runs.
struct Stage {
  std::atomic<trk_run*> run{nullptr};
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> accepted{0}, sent{0}, forked{0};
};

// The run exists as long as a thread is inside.
template <typename Body>
void with_run(Stage* stage, const Body& body) {
  stage->inside.fetch_add(1);
  if (trk_run* run = stage->run.load(); run != nullptr) body(run);
  stage->inside.fetch_sub(1);
}

void log_into_whatever_runs(Stage* stage) {
  for (int64_t step = 0; !stage->stop.load(); ++step) {
    with_run(stage, [&](trk_run* run) {
      const trk_code code = trk_log_i64(run, "x", TRK_NUL_TERMINATED, step, step);
      CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT);
      if (code == TRK_OK) stage->accepted.fetch_add(1);
    });
    if (step % 64 == 0) ::usleep(100);
  }
}

void send_signals(Stage* stage, uint64_t seed, const std::vector<pthread_t>& threads) {
  std::mt19937_64 random(seed);
  while (!stage->stop.load()) {
    const size_t to = random() % (threads.size() + 2);
    if (to == 0) CHILD_CHECK(::kill(::getpid(), SIGTERM) == 0);
    else if (to == 1) CHILD_CHECK(::raise(SIGTERM) == 0);
    else CHILD_CHECK(::pthread_kill(threads[to - 2], SIGTERM) == 0);
    stage->sent.fetch_add(1);
    ::usleep(static_cast<useconds_t>(random() % 2000));
  }
}

// A child has the handler and marks nothing. A sanitizer's allocator may be locked in a child for ever (conditions.h;
// ThreadSanitizer's table of stacks too), so there is none there.
void fork_again_and_again(Stage* stage) {
  if (kSanitized) return;
  while (!stage->stop.load()) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::raise(SIGTERM) == 0 ? 0 : 1);
    CHILD_CHECK(child > 0 && exit_code_of(wait_child(child)) == 0);
    stage->forked.fetch_add(1);
    ::usleep(3000);
  }
}

trk_run* begin(const std::string& id) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.id = id.c_str();
  options.quiet = 1;
  options.on_sigterm = "mark";
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &run, &error) != TRK_OK) std::fprintf(stderr, "trk_init: %s\n", error.message);
  return run;
}

// On a slow disk finish() gives up after its 2 s, and the next reader recovers the rest.
void end(trk_run* run) {
  const trk_code code = trk_finish(run, 0, nullptr);
  CHILD_CHECK(code == TRK_OK || code == TRK_TIMEOUT);
}

int run_under_signals(uint64_t seed, int runs) {
  struct sigaction mine = {};
  mine.sa_handler = count_signal;
  mine.sa_flags = SA_RESTART;
  CHILD_CHECK(::sigaction(SIGTERM, &mine, nullptr) == 0);
  Stage stage;
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoggers; ++i) threads.emplace_back(log_into_whatever_runs, &stage);
  std::vector<pthread_t> targets{::pthread_self()};
  for (std::thread& thread : threads) targets.push_back(thread.native_handle());
  std::thread sender(send_signals, &stage, seed, targets);
  std::thread forker(fork_again_and_again, &stage);
  std::mt19937_64 random(seed + 1);
  uint64_t heard = 0;
  for (int i = 0; i < runs; ++i) {
    trk_run* run = begin("r" + std::to_string(i));
    trk_run* beside = begin("beside" + std::to_string(i));  // two runs at once, which end one after the other
    CHILD_CHECK(run != nullptr && beside != nullptr);
    CHILD_CHECK(trk_log_i64(beside, "y", TRK_NUL_TERMINATED, 1, i) == TRK_OK);
    stage.accepted = 0;
    stage.run = run;
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    const uint64_t before = g_heard.load();
    CHILD_CHECK(::raise(SIGTERM) == 0);  // so this run is preempted for sure
    const int64_t deadline = now_ns() + 10'000'000'000;
    while (g_heard.load() == before && now_ns() < deadline) ::usleep(100);
    heard += g_heard.load() > before ? 1 : 0;
    stage.run = nullptr;
    while (stage.inside.load() != 0) ::usleep(50);
    const uint64_t accepted = stage.accepted.load();
    end(run);
    const trk_status last = status_of(run);
    CHILD_CHECK(last.points_stored + last.points_pending == accepted);
    end(beside);
    trk_free(run);
    trk_free(beside);
  }
  stage.stop = true;
  for (std::thread& thread : threads) thread.join();
  sender.join();
  forker.join();
  std::printf("%lu signals sent, %lu heard, %lu forks\n", stage.sent.load(), g_heard.load(), stage.forked.load());
  std::fflush(stdout);
  CHILD_CHECK(heard == static_cast<uint64_t>(runs) && (kSanitized || stage.forked.load() > 0));
  struct sigaction now = {};
  CHILD_CHECK(::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == count_signal);
  return 0;
}

// Bug: a signal between the last two steps of removing a journal left its folder in /dev/shm for ever. And: a run that
// began while a handler was still at work from the run before changed, unseen, what that handler read.
TEST(SigtermTest, AtRandomMomentsItBreaksNothingAndMarksEachRun) {
  const uint64_t seed = test_seed("SigtermTest");
  const int runs = test_count(10);
  Sandbox sandbox;
  ASSERT_EQ(exit_code_of(run_child([&] { return run_under_signals(seed, runs); })), 0);
  auto store = Store::open(sandbox.store());
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(recover_dead_writers(*store).problems, ::testing::IsEmpty());
  const auto folders = store->list_runs();
  EXPECT_EQ(folders.size(), static_cast<size_t>(runs) * 2);
  for (const RunFolder& folder : folders) {
    auto view = RunView::open(folder);
    ASSERT_TRUE(view.ok());
    EXPECT_THAT((*view)->problems(), ::testing::IsEmpty());
    EXPECT_EQ((*view)->state(), RunState::kPreempted) << folder.identity.id;
  }
  EXPECT_THAT(sandbox.journal_folders(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace tracker::internal
