// SPDX-License-Identifier: MIT
// A call of the C interface that finds no memory, at any of its allocations, answers TRK_LIMIT and never ends the
// process; what it dropped is counted, what it accepted is stored, and a later finish() ends the run. Method: operator
// new of this program fails in the calling thread from the n-th allocation of a call on, for each n.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <thread>

#include "support/child.h"
#include "support/sandbox.h"

namespace {

thread_local int64_t t_calls_left = INT64_MAX;
thread_local bool t_refused = false;

void* allocate_or_refuse(size_t size) {
  if (t_calls_left != INT64_MAX && t_calls_left-- <= 0) {
    t_refused = true;
    return nullptr;
  }
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

__attribute__((noinline)) void* operator new(size_t size) {
  void* memory = allocate_or_refuse(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_refuse(size);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tracker::internal {
namespace {

constexpr int kAllocationsMax = 200;  // of one call

// `call(n)` with only n allocations, until it needs no more than it gets. How often it answered TRK_OK.
template <typename Call>
uint64_t with_ever_more_memory(const Call& call, uint64_t* calls) {
  uint64_t accepted = 0;
  for (int n = 0; n < kAllocationsMax; ++n) {
    t_refused = false;
    t_calls_left = n;
    const trk_code code = call(n);
    t_calls_left = INT64_MAX;
    CHILD_CHECK(code == TRK_OK || code == TRK_LIMIT || code == TRK_INVALID);
    accepted += code == TRK_OK;
    ++*calls;
    if (!t_refused) return accepted;
  }
  CHILD_CHECK(false && "a call that never has enough memory");
  return 0;
}

void check_account(trk_run* run, uint64_t points, uint64_t stored) {
  CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
  const trk_status status = status_of(run);
  CHILD_CHECK(status.points_stored == stored && status.points_logged == points);
  CHILD_CHECK(status.points_dropped == points - stored);
}

// Promise P4: Without memory a call drops and counts its point; the process goes on, and a later `finish()` ends the
// run.
TEST(NoMemoryCallTest, ANewNameAHandleAndANewThreadDropThePointAndCountIt) {
  const Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([] {
              trk_run* run = open_run("r");
              CHILD_CHECK(run != nullptr);
              uint64_t calls = 0, stored = 0;
              std::string name(64, 'x');
              stored += with_ever_more_memory(
                  [&](int n) {
                    name[0] = static_cast<char>('a' + n);
                    return trk_log_f64(run, name.data(), name.size(), 1, n);
                  },
                  &calls);
              stored += with_ever_more_memory(
                  [&](int n) {
                    const int64_t left = std::exchange(t_calls_left, INT64_MAX);
                    name[0] = static_cast<char>('A' + n);
                    trk_metric* metric = trk_metric_open(run, name.data(), name.size(), nullptr);
                    CHILD_CHECK(metric != nullptr);
                    t_calls_left = left;
                    return trk_metric_log_i64(metric, 1, n);
                  },
                  &calls);
              stored += with_ever_more_memory(
                  [&](int n) {
                    trk_code code = TRK_OK;
                    bool refused = false;
                    t_calls_left = INT64_MAX;
                    std::thread([&] {
                      t_calls_left = n;
                      code = trk_log_f64(run, "thread", 6, 1, n);
                      t_calls_left = INT64_MAX;
                      refused = t_refused;
                    }).join();
                    t_refused = refused;
                    return code;
                  },
                  &calls);
              CHILD_CHECK(calls > 6 && stored >= 3);
              check_account(run, calls, stored);
              CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
              return 0;
            })),
            0);
}

TEST(NoMemoryCallTest, TextsBadKeysConfigAndTheRestOfTheCallsEndNoProcess) {
  const Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([] {
              trk_run* run = open_run("r");
              CHILD_CHECK(run != nullptr);
              uint64_t calls = 0, texts = 0, stored = 0;
              const std::string large(300'000, 'q');
              const trk_value text = trk_text("a value that is too long for a string without an allocation");
              for (const std::string_view body : {std::string_view("short"), std::string_view(large)})
                stored += with_ever_more_memory(
                    [&](int n) { return trk_log_text(run, "text", body.data(), body.size(), n); }, &texts);
              with_ever_more_memory([&](int) { return trk_log_f64(run, "\xff", 1, 1, 1); }, &calls);
              with_ever_more_memory([&](int) { return trk_config_set(run, "key", 3, &text); }, &calls);
              with_ever_more_memory([&](int) { return trk_summary_set(run, "key", 3, &text); }, &calls);
              with_ever_more_memory(
                  [&](int) {
                    trk_error error = TRK_ERROR_INIT;
                    return trk_metric_open(run, large.data(), 1000, &error) != nullptr ? TRK_OK : TRK_LIMIT;
                  },
                  &calls);
              with_ever_more_memory(
                  [&](int) {
                    trk_status status = TRK_STATUS_INIT;
                    return trk_get_status(run, &status);
                  },
                  &calls);
              CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
              const trk_status status = status_of(run);
              CHILD_CHECK(status.texts_stored == stored && status.texts_logged == texts);
              CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
              return 0;
            })),
            0);
}

// The bug: the first one left the run marked as finished, and no later one ended it.
TEST(NoMemoryCallTest, AFinishThatFindsNoMemoryIsFinishedByTheNextOne) {
  const Sandbox sandbox;
  int first_that_ended = 0;
  for (int n = 0; n < 40 && first_that_ended == 0; ++n) {
    const std::string id = "r" + std::to_string(n);
    const int code = exit_code_of(run_child([&] {
      trk_run* run = open_run(id.c_str());
      CHILD_CHECK(run != nullptr && trk_log_f64(run, "x", TRK_NUL_TERMINATED, 1, 1) == TRK_OK);
      t_calls_left = n;
      const trk_code first = trk_finish(run, 0, nullptr);
      t_calls_left = INT64_MAX;
      trk_code next = TRK_TIMEOUT;
      for (int tries = 0; tries < 10 && next == TRK_TIMEOUT; ++tries) next = trk_finish(run, 0, nullptr);
      CHILD_CHECK(next == TRK_OK);
      trk_free(run);
      return first == TRK_OK && !t_refused ? 1 : 0;
    }));
    ASSERT_TRUE(code == 0 || code == 1) << code << " with " << n << " allocations";
    if (code == 1) first_that_ended = n;
    const ReadRun run = recover_and_read(sandbox.store(), id);
    ASSERT_NE(run.view, nullptr);
    EXPECT_EQ(run.view->state(), RunState::kFinished) << "with " << n << " allocations";
  }
  EXPECT_GT(first_that_ended, 1);
}

}  // namespace
}  // namespace tracker::internal
