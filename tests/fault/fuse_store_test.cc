// SPDX-License-Identifier: MIT
// F17. A store on a real FUSE file system without links, locks and shared mappings, which stalls and fails: recognised
// at init, the training is not delayed, and the run is complete when the mount is back. Method: a FUSE server of our
// own in a mount namespace. TRACKER_TEST_SECONDS sets how long a mount is away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run/probe_store_disk.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/fuse_files.h"
#include "support/integrity.h"
#include "support/mounts.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

struct Ledger {
  FuseFaults faults;
  std::atomic<int64_t> longest_ns;
};

int64_t log_for(trk_run* run, int ms, int64_t step, Ledger* ledger) {
  const int64_t deadline = now_ns() + int64_t{ms} * 1'000'000;
  for (; now_ns() < deadline; ++step) {
    const int64_t before = now_ns();
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
    ledger->longest_ns = std::max(ledger->longest_ns.load(), now_ns() - before);
    if (step % 20 == 19) ::usleep(1000);
  }
  return step;
}

void check_all(const Sandbox& sandbox, int64_t steps, RunState state) {
  ReadRun run = recover_and_read(sandbox.store());
  for (const std::string& problem : run.problems) std::fprintf(stderr, "%s\n", problem.c_str());
  CHILD_CHECK(run.view != nullptr && run.problems.empty() && run.view->state() == state);
  const History rows = rows_of(run, "x");
  CHILD_CHECK(static_cast<int64_t>(rows.size()) == steps);
  for (int64_t i = 0; i < steps; ++i)
    CHILD_CHECK(rows.steps[static_cast<size_t>(i)] == i &&
                rows.bits[static_cast<size_t>(i)] == static_cast<uint64_t>(i * 3));
  CHILD_CHECK(damaged_databases(run.view->dir()).empty());
}

class FuseStoreTest : public ::testing::Test {
 protected:
  // `body` runs in a child with the mount in place.
  void on_fuse(const std::function<int()>& body) {
    const int code = exit_code_of(run_child([&] {
      redirect_stderr(sandbox_.shm() + "/stderr");
      if (!mount_fuse(sandbox_.folder(), [&](int device) { FuseFiles(device, &ledger_->faults).serve(); }))
        return kNoMounts;
      return body();
    }));
    SKIP_WHERE(code == kNoMounts, kFuseMounts);
    EXPECT_EQ(code, 0) << ::testing::PrintToString(lines_of(sandbox_.shm() + "/stderr"));
  }
  Sandbox sandbox_;
  Shared<Ledger> ledger_;
};

TEST_F(FuseStoreTest, ARunIsWrittenThereAsFramesAndEndsAsADatabase) {
  on_fuse([&] {
    trk_run* run = open_run("r");
    const int64_t steps = log_for(run, 300, 0, &*ledger_);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    const trk_status status = status_of(run);
    CHILD_CHECK(std::string(status.store_files) == "frames" && status.degraded == 0);
    CHILD_CHECK((status.survives & TRK_SURVIVES_POWER) != 0 && (status.survives & TRK_SURVIVES_CONTAINER) == 0);
    CHILD_CHECK(trk_finish(run, 0, nullptr) == TRK_OK);
    check_all(sandbox_, steps, RunState::kFinished);
    const auto names = list_dir(sandbox_.store() + "/runs/p/r");
    CHILD_CHECK(names.ok());
    for (const std::string& name : *names) CHILD_CHECK(name == "run.json" || name.ends_with(".db"));
    return 0;
  });
}

TEST_F(FuseStoreTest, AKilledRunIsRecoveredThere) {
  on_fuse([&] {
    Shared<std::atomic<int64_t>> steps;
    CHILD_CHECK(exit_code_of(run_child([&] {
                  trk_run* run = open_run("r");
                  *steps = log_for(run, 700, 0, &*ledger_);
                  ::raise(SIGKILL);
                  return 0;
                })) == -1 - SIGKILL);
    check_all(sandbox_, steps->load(), RunState::kCrashed);
    return 0;
  });
}

// How long a mount stalls or fails.
int fault_ms() {
  const char* given = std::getenv("TRACKER_TEST_SECONDS");
  return given != nullptr && std::atoi(given) > 0 ? std::atoi(given) * 1000 : 3000;
}

class FuseBeginTest : public FuseStoreTest, public ::testing::WithParamInterface<Stall> {};

// Bugs: init opened the store on the caller's thread, for as long as the mount was away; a store that did not exist yet
// was only searched for, which a frozen volume answers, and made on the caller's thread.
TEST_P(FuseBeginTest, ARunThatBeginsWhileTheMountIsAwayIsNotHeldUpAndIsCompleteAfterwards) {
  on_fuse([&] {
    ledger_->faults.stall = GetParam();
    const int64_t begin = now_ns();
    trk_run* run = open_run("r");
    CHILD_CHECK(run != nullptr);
    const int64_t waited_ms = (now_ns() - begin) / 1'000'000;
    const int64_t limit_ms = kStoreAnswerMax.count() * 1'000;
    CHILD_CHECK(waited_ms >= limit_ms && waited_ms < 5 * limit_ms * kSlowDown);
    const int64_t steps = log_for(run, 200, 0, &*ledger_);
    CHILD_CHECK(std::string(status_of(run).last_error).find("has not answered for 10 s") != std::string::npos);
    ledger_->faults.stall = kNone;
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    check_all(sandbox_, steps, RunState::kFinished);
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(Mounts, FuseBeginTest, ::testing::Values(kEverything, kChanges), [](const auto& test) {
  return std::string(test.param == kEverything ? "WithoutItsServer" : "Frozen");
});

class FuseFaultTest : public FuseStoreTest, public ::testing::WithParamInterface<int> {};

TEST_P(FuseFaultTest, AMountThatStallsOrFailsHoldsNobodyUpAndIsCompleteAfterwards) {
  on_fuse([&] {
    trk_run* run = open_run("r");
    int64_t steps = log_for(run, 200, 0, &*ledger_);
    CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
    (GetParam() == 0 ? ledger_->faults.stall : ledger_->faults.write_errno) =
        GetParam() == 0 ? kEverything : GetParam();
    ledger_->longest_ns = 0;
    steps = log_for(run, fault_ms(), steps, &*ledger_);
    CHILD_CHECK(status_of(run).points_pending > 0 && status_of(run).points_dropped == 0);
    CHILD_CHECK(ledger_->longest_ns < int64_t{500'000'000} * kSlowDown);
    ledger_->faults.stall = 0;
    ledger_->faults.write_errno = 0;
    CHILD_CHECK(trk_flush(run, 30'000) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
    check_all(sandbox_, steps, RunState::kFinished);
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(Mounts, FuseFaultTest, ::testing::Values(0, EIO, ESTALE, ENOSPC, EDQUOT),
                         [](const auto& test) {
                           return test.param == 0 ? "Stall" : std::string(::strerrorname_np(test.param));
                         });

}  // namespace
}  // namespace tracker::internal
