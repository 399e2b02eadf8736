// SPDX-License-Identifier: MIT
// The hot call makes no system call and no allocation. Method: malloc of this program counts by thread; a seccomp
// filter on the logging thread of a child kills it at its first system call.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <thread>

#include "journal/live/journal.h"
#include "journal/ring/wipe_memory.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
thread_local uint64_t t_allocations = 0;

// glibc's own names of the functions that this program replaces.
extern "C" {
void* __libc_malloc(size_t size);                // NOLINT
void* __libc_calloc(size_t count, size_t size);  // NOLINT
void* __libc_realloc(void* at, size_t size);     // NOLINT
void* malloc(size_t size) { return ++t_allocations, __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return ++t_allocations, __libc_calloc(count, size); }
void* realloc(void* at, size_t size) { return ++t_allocations, __libc_realloc(at, size); }
}

namespace tracker::internal {
namespace {

// From here on this thread may only log; _exit too would kill it.
bool forbid_system_calls() {
  sock_filter program[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{1, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

struct Outcome {
  std::atomic<int> done;
  std::atomic<uint64_t> allocations;
};

// Runs `calls` on a thread that is killed at its first system call; it reports through memory that it is done.
void expect_no_calls(const std::function<std::function<bool()>()>& prepare) {
  Shared<Outcome> outcome;
  const pid_t child = start_child([&] {
    std::thread([&] {
      const std::function<bool()> calls = prepare();
      if (!calls || !forbid_system_calls()) ::_exit(77);
      const uint64_t before = t_allocations;
      const bool ok = calls();
      outcome->allocations = t_allocations - before;
      outcome->done = ok ? 1 : 2;
      for (;;) {  // returning would be a system call
      }
    }).detach();
    while (outcome->done.load() == 0) ::usleep(100);
    return 0;
  });
  const int code = exit_code_of(wait_child(child));
  SKIP_WHERE(code == 77, kSeccomp);
  EXPECT_EQ(code, 0) << "-32 is SIGSYS: the hot path made a system call";
  EXPECT_EQ(outcome->done.load(), 1) << "a call was refused";
  EXPECT_EQ(outcome->allocations.load(), 0u);
}

// Promise P4: A log call takes no lock that waits, makes no system call and no allocation.
TEST(HotPathTest, AHundredThousandCallsIntoARingMakeNoSystemCallAndNoAllocation) {
  Sandbox sandbox;
  expect_no_calls([&]() -> std::function<bool()> {
    static HotRun* hot = allocate_hot_run();
    JournalOptions options;
    options.store_path = sandbox.store();
    options.first_ring_bytes = 16u << 20;  // half of it takes all calls, so that nothing has to be drained
    options.budget_bytes = 64u << 20;
    static WriterIdentity identity = this_process();
    identity.writer = Id128::random();
    static auto journal = Journal::open(options, &identity, hot);
    if (!journal.ok()) return {};
    const uint32_t id = (*journal)->series_id("x", ValueType::kFloat64);
    const ValuePair first{0, id, 0};
    if (log_pairs(hot, &first, 1, 0) != Code::kOk) return {};
    return [id] {
      for (int64_t step = 1; step <= 100'000; ++step) {
        const ValuePair pairs[2] = {{bits_of(0.5 * static_cast<double>(step)), id, 0}, {0, id, 0}};
        if (log_pairs(hot, pairs, 2, step) != Code::kOk) return false;
      }
      return true;
    };
  });
}

TEST(HotPathTest, EveryVerbOfTheCAbiThatLogsNumbersMakesNoneEither) {
  Sandbox sandbox;
  expect_no_calls([]() -> std::function<bool()> {
    static trk_run* run = open_run("r");
    if (run == nullptr) return {};
    static trk_metric* metric = trk_metric_open(run, "by/handle", TRK_NUL_TERMINATED, nullptr);
    const auto log_all = [](int64_t step) {
      static const trk_point points[] = {{"loss", TRK_NUL_TERMINATED, {TRK_F64, 0, {.f64 = 0.5}}},
                                         {"epoch", TRK_NUL_TERMINATED, {TRK_I64, 0, {.i64 = 3}}}};
      return trk_metric_log_f64(metric, 0.5, step) == TRK_OK && trk_metric_log_f32(metric, 0.5f, step) == TRK_OK &&
             trk_metric_log_i64(metric, 5, step) == TRK_OK && trk_metric_log_bool(metric, 1, TRK_STEP_AUTO) == TRK_OK &&
             trk_log_f64(run, "by/name", 7, 0.25, step) == TRK_OK &&
             trk_log_i64(run, "by/name/int", 11, 4, step) == TRK_OK && trk_log(run, points, 2, step) == TRK_OK;
    };
    if (!log_all(0)) return {};
    return [log_all] {
      for (int64_t step = 1; step <= 300; ++step)  // 300 x 296 bytes: below half of the first ring
        if (!log_all(step)) return false;
      return true;
    };
  });
}

// Shows that the two tests above test something.
TEST(HotPathTest, TheFilterKillsAndTheCounterCounts) {
  const int status = run_child([] {
    if (!forbid_system_calls()) ::_exit(77);
    (void)::getppid();
    return 0;
  });
  SKIP_WHERE(exit_code_of(status) == 77, kSeccomp);
  EXPECT_EQ(exit_code_of(status), -1 - SIGSYS);
  const uint64_t before = t_allocations;
  const std::unique_ptr<std::string> text = std::make_unique<std::string>(100, 'x');
  EXPECT_EQ(t_allocations - before, 2u) << *text;
}

}  // namespace
}  // namespace tracker::internal
#else
TEST(HotPathTest, IsMeasuredWithoutSanitizersOnly) { NEEDS(tracker::internal::kNoSanitizer); }
#endif
