// SPDX-License-Identifier: MIT
// on_sigterm="mark" leaves the handler of the program what it asked for: to be called once, or within itself. Method:
// children that raise SIGTERM, with and without a run that asks for the mark.
#include <gtest/gtest.h>
#include <signal.h>

#include "run/run.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

volatile sig_atomic_t g_called, g_depth, g_deepest;

void count_calls(int /*signal*/) { g_called = g_called + 1; }

void raise_within(int signal) {
  g_depth = g_depth + 1;
  if (g_depth > g_deepest) g_deepest = g_depth;
  if (g_depth < 2) ::raise(signal);
  g_depth = g_depth - 1;
}

void handle(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHILD_CHECK(::sigaction(SIGTERM, &action, nullptr) == 0);
}

trk_run* begin(bool mark) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.quiet = 1;
  options.on_sigterm = mark ? "mark" : nullptr;
  trk_run* run = nullptr;
  CHILD_CHECK(trk_init(&options, &run, nullptr) == TRK_OK);
  return run;
}

class SigtermFlagsTest : public ::testing::TestWithParam<bool> {
 protected:
  Sandbox sandbox_;
};

TEST_P(SigtermFlagsTest, AHandlerThatIsToBeCalledOnceIsCalledOnce) {
  const int status = run_child([&] {
    handle(&count_calls, static_cast<int>(SA_RESETHAND));
    trk_run* run = begin(GetParam());
    ::raise(SIGTERM);
    CHILD_CHECK(g_called == 1 && trk_log_f64(run, "x", TRK_NUL_TERMINATED, 1, 0) == TRK_OK);
    ::raise(SIGTERM);
    return 3;
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGTERM);
}

TEST_P(SigtermFlagsTest, AHandlerThatWasCalledOnceDoesNotComeBackBehindTheRun) {
  const int status = run_child([&] {
    handle(&count_calls, static_cast<int>(SA_RESETHAND));
    trk_run* run = begin(GetParam());
    ::raise(SIGTERM);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    ::raise(SIGTERM);
    return 3;
  });
  EXPECT_EQ(exit_code_of(status), -1 - SIGTERM);
}

TEST_P(SigtermFlagsTest, AHandlerThatMayBeCalledWithinItselfIs) {
  NEEDS(kNestedHandlers);
  const int status = run_child([&] {
    handle(&raise_within, SA_NODEFER);
    begin(GetParam());
    ::alarm(20);
    ::raise(SIGTERM);
    return g_deepest == 2 ? 0 : 1;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

INSTANTIATE_TEST_SUITE_P(Mark, SigtermFlagsTest, ::testing::Bool());

}  // namespace
}  // namespace tracker::internal
