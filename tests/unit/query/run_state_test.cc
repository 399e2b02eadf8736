// SPDX-License-Identifier: MIT
// Goal: the state of a run is what its end records and its processes say, and never "running" for a dead one.
// Method: snapshots made by hand with the liveness that a probe would have found.
#include "query/run_state.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;

WriterSnapshot writer(int64_t attempt, int64_t rank, int64_t seen_us) {
  WriterSnapshot out;
  out.identity.attempt = attempt;
  out.identity.rank = rank;
  out.identity.started_us = seen_us;
  out.heartbeat_us = seen_us;
  return out;
}

WriterSnapshot ended(WriterSnapshot out, RunState state, int64_t exit_code = 0, const std::string& reason = "") {
  out.end = WriterEnd{state, exit_code, reason, kNow - 5, {}};
  return out;
}

StateVerdict decide(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness) {
  return decide_state(writers, liveness, Liveness::kUnknown, kNow - 3600'000'000, kNow);
}

TEST(RunStateTest, TheEndRecordDecides) {
  const StateVerdict verdict = decide({ended(writer(1, 0, kNow), RunState::kFinished)}, {Liveness::kDead});
  EXPECT_EQ(verdict.state, RunState::kFinished);
  EXPECT_EQ(verdict.detail, "");
  EXPECT_EQ(verdict.ended_us, kNow - 5);
}

TEST(RunStateTest, AFailureSaysItsExitCodeAndReason) {
  const auto failed = ended(writer(1, 0, kNow), RunState::kFailed, 3, "ValueError: no data");
  EXPECT_EQ(decide({failed}, {Liveness::kDead}).detail, "exit code 3: ValueError: no data");
}

TEST(RunStateTest, TheLastAttemptDecidesAndOfItTheLowestRank) {
  const std::vector<WriterSnapshot> writers{ended(writer(1, 0, kNow), RunState::kFailed, 1),
                                            ended(writer(2, 1, kNow), RunState::kFailed, 1),
                                            ended(writer(2, 0, kNow), RunState::kFinished)};
  EXPECT_EQ(decide(writers, {Liveness::kDead, Liveness::kDead, Liveness::kDead}).state, RunState::kFinished);
}

TEST(RunStateTest, AnyLiveWriterKeepsTheRunRunning) {
  const std::vector<WriterSnapshot> writers{ended(writer(1, 0, kNow), RunState::kFinished), writer(1, 1, kNow - 1)};
  EXPECT_EQ(decide(writers, {Liveness::kDead, Liveness::kLive}).state, RunState::kRunning);
  EXPECT_EQ(decide(writers, {Liveness::kDead, Liveness::kLive}).ended_us, 0);
}

TEST(RunStateTest, AFreeLockWithoutAnEndIsACrashHoweverFreshTheHeartbeat) {
  EXPECT_EQ(decide({writer(1, 0, kNow)}, {Liveness::kDead}).state, RunState::kCrashed);
}

TEST(RunStateTest, ARecoveredWriterHasCrashedWhateverTheProbeSays) {
  WriterSnapshot recovered = writer(1, 0, kNow);
  recovered.recovered = Value(Value::Map{{"points", 7}, {"hint", "out of memory?"}});
  EXPECT_EQ(decide({recovered}, {Liveness::kUnknown}).state, RunState::kCrashed);
  EXPECT_EQ(decide({recovered}, {Liveness::kUnknown}).detail, "out of memory?");
}

TEST(RunStateTest, AWriterOnAnotherHostIsBelievedForAMinute) {
  EXPECT_EQ(decide({writer(1, 0, kNow - kHeartbeatTrust.count() + 1)}, {Liveness::kUnknown}).state, RunState::kRunning);
  EXPECT_EQ(decide({writer(1, 0, kNow - kHeartbeatTrust.count())}, {Liveness::kUnknown}).state, RunState::kLostContact);
}

TEST(RunStateTest, ARunWithoutWritersWhoseMakerCannotBeSeenHasJustBegunOrNeverDid) {
  EXPECT_EQ(decide_state({}, {}, Liveness::kUnknown, kNow - 1, kNow).state, RunState::kRunning);
  EXPECT_EQ(decide_state({}, {}, Liveness::kUnknown, kNow - kHeartbeatTrust.count(), kNow).state, RunState::kCrashed);
}

TEST(RunStateTest, ARunWithoutWritersRunsExactlyWhileItsMakerLives) {
  EXPECT_EQ(decide_state({}, {}, Liveness::kLive, kNow - 3600'000'000, kNow).state, RunState::kRunning);
  EXPECT_EQ(decide_state({}, {}, Liveness::kDead, kNow - 1, kNow).state, RunState::kCrashed);
}

TEST(RunStateTest, ForeignNumbersAtTheEdgesDoNoHarm) {
  const std::vector<WriterSnapshot> writers{writer(INT64_MIN, INT64_MAX, INT64_MIN), writer(INT64_MAX, 0, INT64_MAX)};
  EXPECT_EQ(leading_writer(writers), &writers[1]);
  EXPECT_EQ(decide(writers, {Liveness::kUnknown, Liveness::kDead}).state, RunState::kCrashed);
}

}  // namespace
}  // namespace tracker::internal
