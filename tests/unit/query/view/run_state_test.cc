// SPDX-License-Identifier: MIT
// Goal: the state of a run is what its end records and its processes say, and never "running" for a dead one.
// Method: snapshots made by hand with the liveness that a probe would have found.
#include "query/view/run_state.h"

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
  return decide_state(writers, liveness, {}, kNow - 3600'000'000, kNow);
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

// It was "finished" without a word.
TEST(RunStateTest, AnEarlierAttemptThatWentOnBehindTheEndOfTheNewestIsNamed) {
  const WriterSnapshot newest = ended(writer(2, 0, kNow - 100), RunState::kFinished);  // at kNow - 5
  const auto detail = [&](const WriterSnapshot& earlier) {
    return decide({earlier, newest}, {Liveness::kDead, Liveness::kDead});
  };
  const StateVerdict verdict = detail(writer(1, 0, kNow));
  EXPECT_EQ(verdict.state, RunState::kFinished) << "later attempts win, as their rows do";
  EXPECT_EQ(verdict.detail, "attempt 1 went on after the end of attempt 2: crashed");
  EXPECT_EQ(verdict.ended_us, kNow - 5);
  EXPECT_EQ(detail(writer(1, 0, kNow - 6)).detail, "") << "one that had crashed before";
  WriterSnapshot failed = ended(writer(1, 0, kNow), RunState::kFailed, 1);
  EXPECT_EQ(detail(failed).detail, "attempt 1 went on after the end of attempt 2: failed");
  const std::vector<WriterSnapshot> three{writer(1, 0, kNow), writer(2, 0, kNow),
                                          ended(writer(3, 0, kNow - 9), RunState::kFailed, 2)};
  EXPECT_EQ(decide(three, std::vector<Liveness>(3, Liveness::kDead)).detail,
            "exit code 2; attempt 2 went on after the end of attempt 3: crashed, and 1 more");
}

TEST(RunStateTest, AMarkedWriterWithoutAnEndIsPreemptedUnlessItLives) {
  WriterSnapshot marked = writer(1, 0, kNow);
  marked.attributes.push_back({EventType::kAttribute, std::string(kPreemptedKey), Value(std::string(kSigterm)), kNow});
  EXPECT_EQ(decide({marked}, {Liveness::kLive}).state, RunState::kRunning);
  EXPECT_EQ(decide({marked}, {Liveness::kDead}).state, RunState::kPreempted);
  EXPECT_EQ(decide({marked}, {Liveness::kDead}).detail, "SIGTERM");
  marked.heartbeat_us = marked.identity.started_us = kNow - 3600'000'000;
  EXPECT_EQ(decide({marked}, {Liveness::kUnknown}).state, RunState::kPreempted) << "its container went with it";
  EXPECT_EQ(decide({ended(marked, RunState::kPreempted, 3)}, {Liveness::kDead}).detail, "exit code 3");
  marked.identity.rank = 1;
  EXPECT_EQ(
      decide({ended(writer(1, 0, kNow), RunState::kPreempted), marked}, {Liveness::kDead, Liveness::kDead}).detail, "")
      << "a marked rank has not crashed";
}

TEST(RunStateTest, AnyLiveWriterKeepsTheRunRunning) {
  const std::vector<WriterSnapshot> writers{ended(writer(1, 0, kNow), RunState::kFinished), writer(1, 1, kNow - 1)};
  EXPECT_EQ(decide(writers, {Liveness::kDead, Liveness::kLive}).state, RunState::kRunning);
  EXPECT_EQ(decide(writers, {Liveness::kDead, Liveness::kLive}).ended_us, 0);
}

// Promise P5: A dead process is never "running".
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
  EXPECT_EQ(decide_state({}, {}, {}, kNow - 1, kNow).state, RunState::kRunning);
  EXPECT_EQ(decide_state({}, {}, {}, kNow - kHeartbeatTrust.count(), kNow).state, RunState::kCrashed);
}

TEST(RunStateTest, ARunWithoutWritersRunsExactlyWhileItsMakerLives) {
  EXPECT_EQ(decide_state({}, {}, {{1, kNow - 3600'000'000, Liveness::kLive}}, kNow, kNow).state, RunState::kRunning);
  EXPECT_EQ(decide_state({}, {}, {{1, kNow - 1, Liveness::kDead}}, kNow, kNow).state, RunState::kCrashed);
}

// "finished", of the attempt before, where the newest one was killed before its first commit.
TEST(RunStateTest, TheNewestAttemptDecidesAlsoWhereItLeftNoWriter) {
  const std::vector<WriterSnapshot> writers{ended(writer(1, 0, kNow), RunState::kFinished)};
  const auto state = [&](int64_t attempt, int64_t begun_us, Liveness maker) {
    return decide_state(writers, {Liveness::kDead}, {{attempt, begun_us, maker}}, kNow, kNow);
  };
  EXPECT_EQ(state(2, kNow - 1, Liveness::kLive).state, RunState::kRunning);
  EXPECT_EQ(state(2, kNow - 1, Liveness::kUnknown).state, RunState::kRunning);
  EXPECT_EQ(state(2, kNow - kHeartbeatTrust.count(), Liveness::kUnknown).state, RunState::kCrashed);
  const StateVerdict dead = state(2, kNow - 1, Liveness::kDead);
  EXPECT_EQ(dead.state, RunState::kCrashed);
  EXPECT_EQ(dead.detail, "attempt 2: its process ended before anything was stored");
  EXPECT_EQ(dead.ended_us, kNow - 1);
  const std::vector<WriterSnapshot> later{ended(writer(2, 0, kNow), RunState::kFinished)};
  EXPECT_EQ(decide_state(later, {Liveness::kDead}, {{1, 0, Liveness::kLive}}, kNow, kNow).state, RunState::kFinished);
}

TEST(RunStateTest, ForeignNumbersAtTheEdgesDoNoHarm) {
  const std::vector<WriterSnapshot> writers{writer(INT64_MIN, INT64_MAX, INT64_MIN), writer(INT64_MAX, 0, INT64_MAX)};
  EXPECT_EQ(leading_writer(writers), &writers[1]);
  EXPECT_EQ(decide(writers, {Liveness::kUnknown, Liveness::kDead}).state, RunState::kCrashed);
}

}  // namespace
}  // namespace tracker::internal
