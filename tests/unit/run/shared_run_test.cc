// SPDX-License-Identifier: MIT
// Goal: with ranks="all" every rank of a launch is a writer of one attempt of one run, in whatever order they come,
// after restarts and resumes too; where nothing names the run the others are refused with a line. Method: processes
// that play launcher and ranks at the same time.
#include "run/shared_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <barrier>
#include <set>
#include <thread>

#include "query/view/attempts.h"
#include "query/view/rank_status.h"
#include "run/run.h"
#include "run/services/stop.h"
#include "storage/store/attempt_claim.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

struct Job {
  int size = 8;
  const char* ranks = "all";
  const char* run_id = nullptr;  // TRACKER_RUN_ID
  bool torchrun = true;          // one node, launched by a common parent
  const char* restarts = "0";
  const char* resume = "";
  const char* resume_from = "";
  int killed = -1;  // this rank is killed after its points are logged
};

int rank_process(const Job& job, int rank) {
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(job.size).c_str(), 1);
  if (job.torchrun) {
    ::setenv("LOCAL_WORLD_SIZE", std::to_string(job.size).c_str(), 1);
    ::setenv("TORCHELASTIC_RUN_ID", "none", 1);
    ::setenv("TORCHELASTIC_RESTART_COUNT", job.restarts, 1);
  }
  if (job.run_id != nullptr) ::setenv("TRACKER_RUN_ID", job.run_id, 1);
  InitOptions options;
  options.project = "p";
  options.quiet = true;
  options.ranks = job.ranks;
  options.resume = job.resume;
  options.resume_from = job.resume_from;
  auto run = Run::init(options);
  CHILD_CHECK(run.ok());
  if ((*run)->recording()) {
    const uint32_t id = (*run)->series_id("loss", ValueType::kInt64);
    const int64_t first = (*run)->next_step();
    for (int64_t step = first; step < first + 10 + rank; ++step) {
      const ValuePair pair{static_cast<uint64_t>(rank), id, 0};
      CHILD_CHECK(log_pairs((*run)->hot(), &pair, 1, step) == Code::kOk);
    }
  } else {
    CHILD_CHECK((*run)->series_id("loss", ValueType::kInt64) == 0);
    CHILD_CHECK((*run)->log_text("t", "x", 0) == Code::kClosed);
    CHILD_CHECK((*run)->set_config("lr", rank) == Code::kOk);
    CHILD_CHECK((*run)->status().points_logged == 0 && !(*run)->status().why_not_recording.empty());
  }
  if (rank == job.killed) ::raise(SIGKILL);
  CHILD_CHECK((*run)->flush(std::chrono::seconds(60)));  // finish() has two seconds only: too few on a loaded machine
  CHILD_CHECK((*run)->finish(RunState::kFinished).ok());
  return 0;
}

// All ranks at once, children of this process. How many ended badly.
int start_ranks(const Job& job) {
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < job.size; ++rank) ranks.push_back(start_child([&] { return rank_process(job, rank); }));
  int failed = 0;
  for (const pid_t rank : ranks) failed += exit_code_of(wait_child(rank)) != 0;
  return failed;
}

// By a launcher of their own.
int launch(const Job& job) {
  return exit_code_of(run_child([&job] { return start_ranks(job); }));
}

std::vector<std::unique_ptr<RunView>> all_runs(const Sandbox& sandbox) {
  std::vector<std::unique_ptr<RunView>> out;
  auto store = Store::open(sandbox.store());
  EXPECT_TRUE(store.ok());
  (void)recover_dead_writers(*store);
  for (const RunFolder& folder : store->list_runs()) out.push_back(std::move(*RunView::open(folder)));
  return out;
}

// (attempt, rank) of every writer.
std::multiset<std::pair<int64_t, int64_t>> writers(const RunView& run) {
  std::multiset<std::pair<int64_t, int64_t>> out;
  for (const WriterSnapshot& writer : run.writers()) out.emplace(writer.identity.attempt, writer.identity.rank);
  return out;
}
std::multiset<std::pair<int64_t, int64_t>> ranks_of_attempts(int64_t attempts, int64_t ranks) {
  std::multiset<std::pair<int64_t, int64_t>> out;
  for (int64_t attempt = 1; attempt <= attempts; ++attempt)
    for (int64_t rank = 0; rank < ranks; ++rank) out.emplace(attempt, rank);
  return out;
}

// Promise P7: `ranks="all"`: every rank is a writer of one run.
TEST(SharedRunTest, EightRanksAreEightWritersOfOneAttempt) {
  for (const bool torchrun : {true, false}) {
    Sandbox sandbox;
    EXPECT_EQ(launch({.run_id = torchrun ? nullptr : "job", .torchrun = torchrun}), 0);
    const auto runs = all_runs(sandbox);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(1, 8));
    EXPECT_EQ(runs[0]->points(), 8u * 10 + 28);
    EXPECT_EQ(runs[0]->state(), RunState::kFinished);
    const auto history = runs[0]->history("loss");
    ASSERT_TRUE(history.ok());
    EXPECT_EQ(history->bits[5], 0u) << "rank 0 is what is shown by default";
  }
}

TEST(SharedRunTest, LaunchesInARowMakeRunsOfTheirOwn) {
  for (const bool torchrun : {true, false}) {
    Sandbox sandbox;
    const Job job{.size = 4, .run_id = "job", .torchrun = torchrun};
    EXPECT_EQ(launch(job) + launch(job), 0);
    const auto runs = all_runs(sandbox);
    ASSERT_EQ(runs.size(), 2u);
    for (const auto& run : runs) EXPECT_EQ(writers(*run), ranks_of_attempts(1, 4)) << run->identity().id;
  }
}

// Promise P7: An elastic restart is a new attempt of the same run, in every mode.
TEST(SharedRunTest, AnElasticRestartIsANewAttemptForEveryRank) {
  for (const char* ranks : {"all", "observe"}) {
    Sandbox sandbox;
    EXPECT_EQ(exit_code_of(run_child([ranks] {  // one launcher starts its workers again
                return start_ranks({.size = 4, .ranks = ranks}) +
                       start_ranks({.size = 4, .ranks = ranks, .restarts = "1"});
              })),
              0);
    const auto runs = all_runs(sandbox);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(2, 4));
  }
  Sandbox sandbox;  // a launcher that was itself started again
  EXPECT_EQ(launch({.size = 4, .run_id = "job"}) + launch({.size = 4, .run_id = "job", .restarts = "1"}), 0);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(2, 4));
}

TEST(SharedRunTest, AResumeIsOneAttemptOfAllRanksFromOneStep) {
  Sandbox sandbox;
  EXPECT_EQ(launch({.size = 4, .run_id = "job", .torchrun = false}), 0);
  EXPECT_EQ(launch({.size = 4, .run_id = "job", .torchrun = false, .resume = "must"}), 0);
  EXPECT_EQ(launch({.size = 4, .torchrun = false, .resume_from = "job@3"}), 0);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(3, 4));
  const auto steps = runs[0]->history("loss")->steps;
  EXPECT_EQ(steps.size(), 4u + 13) << "0 to 3, and what the longest rank logged after it";
  EXPECT_EQ(steps.back(), 16);
}

TEST(SharedRunTest, AKilledRankIsRecoveredAndNamed) {
  Sandbox sandbox;
  EXPECT_EQ(launch({.size = 8, .killed = 3}), 1);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]->points(), 8u * 10 + 28) << "every accepted point of the killed rank is there";
  EXPECT_EQ(runs[0]->state(), RunState::kFinished);
  EXPECT_EQ(runs[0]->state_detail(), "rank 3 crashed");
  const auto ranks = runs[0]->ranks();
  ASSERT_EQ(ranks.size(), 8u);
  EXPECT_EQ(ranks[3].state, "crashed");
  EXPECT_EQ(ranks[3].last_step, 12);
}

// Promise P7: `ranks="observe"`: the others leave a sign of life and no metric.
TEST(SharedRunTest, ObservedRanksAreWritersWithoutMetrics) {
  Sandbox sandbox;
  EXPECT_EQ(launch({.size = 4, .ranks = "observe"}), 0);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(1, 4));
  EXPECT_EQ(runs[0]->points(), 10u);
  EXPECT_EQ(to_json(runs[0]->config()), "{}") << "rank 0 set none";
  const auto ranks = runs[0]->ranks();
  EXPECT_FALSE(ranks[0].observed);
  EXPECT_TRUE(ranks[3].observed);
  EXPECT_EQ(ranks[3].state, "finished");
  EXPECT_GT(ranks[3].last_seen_us, 0);
}

TEST(SharedRunTest, WithoutANameForTheRunOnlyRank0Records) {
  Sandbox sandbox;
  EXPECT_EQ(launch({.size = 3, .torchrun = false}), 0);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(writers(*runs[0]), ranks_of_attempts(1, 1));
}

TEST(SharedRunTest, AnAttemptThatIsOnlyClaimedIsJoinedByItsOwnLaunch) {
  const auto taken = [](int64_t attempt, std::optional<std::string> launch, int64_t size) {
    return TakenAttempts{.writers = {}, .claims = {{attempt, std::move(launch), size}}};
  };
  const JoinRequest b{.rank = 3, .world_size = 4, .launch = "b"};
  EXPECT_EQ(attempt_to_join(taken(2, "b", 4), b), 2);
  EXPECT_EQ(attempt_to_join(taken(2, "b", 0), b), 2) << "its size is not known";
  EXPECT_EQ(attempt_to_join(taken(2, "c", 4), b), 3) << "another launch";
  EXPECT_EQ(attempt_to_join(taken(2, "b", 8), b), 3) << "another size";
  EXPECT_EQ(attempt_to_join(taken(1, std::nullopt, 0), b), 1) << "its launch is not known";
  EXPECT_EQ(attempt_to_join(taken(1, "", 0), b), 2) << "made by a process of no launch";
}

// Bug: a rank that took back what is after a step joined the attempt before it, and its own rows were taken back by
// the next rank that did the same.
TEST(SharedRunTest, WhoResumesAtAStepJoinsOnlyAnAttemptThatResumesThere) {
  const auto claimed = [](std::optional<int64_t> step) {
    return TakenAttempts{.writers = {}, .claims = {{2, "b", 4, step}}};
  };
  const auto written = [](std::optional<int64_t> step) {
    WriterIdentity writer;
    writer.attempt = 2, writer.rank = 0, writer.world_size = 4, writer.launch = "b", writer.resume_step = step;
    return TakenAttempts{.writers = {writer}, .claims = {}};
  };
  const JoinRequest at_9{.rank = 3, .world_size = 4, .launch = "b", .resume_step = 9};
  for (const auto& taken : {claimed(std::nullopt), claimed(8), written(std::nullopt), written(8)})
    EXPECT_EQ(attempt_to_join(taken, at_9), 3);
  EXPECT_EQ(attempt_to_join(claimed(9), at_9), 2);
  EXPECT_EQ(attempt_to_join(written(9), at_9), 2);
  TakenAttempts joined = written(std::nullopt);  // by a rank that gave no step
  joined.claims = claimed(9).claims;
  EXPECT_EQ(attempt_to_join(joined, at_9), 2);
  TempFolder folder;
  ASSERT_TRUE(claim_attempt(folder.path(), {2, "b", 4, 9}).ok());
  EXPECT_EQ(attempt_claims(folder.path()).back().resume_step, 9);
}

TEST(SharedRunTest, RanksTakeOneNumberAndProcessesAloneOneEach) {
  TempFolder folder;
  const JoinRequest ranks{.rank = 1, .world_size = 4, .launch = "b"};
  ASSERT_TRUE(claim_attempt(folder.path(), {3, "a", 1}).ok());
  EXPECT_EQ(take_attempt(folder.path(), {}, ranks, true, 0), 4);
  EXPECT_EQ(take_attempt(folder.path(), {}, {.rank = 2, .world_size = 4, .launch = "b"}, true, 0), 4);
  EXPECT_EQ(take_attempt(folder.path(), {}, ranks, false, 0), 5);
  EXPECT_EQ(take_attempt(folder.path(), {}, ranks, false, 7), 8) << "after what cannot be read";
  EXPECT_EQ(claim_attempt(folder.path(), {8, "a", 1}).code(), Code::kExists);
}

TEST(SharedRunTest, OnlyANumberOfAnAttemptIsAClaim) {
  EXPECT_EQ(claimed_attempt("attempt-2.json"), 2);
  EXPECT_EQ(claimed_attempt("attempt-" + std::to_string(kAttemptMax) + ".json"), kAttemptMax);
  for (const std::string& name :
       {"attempt-" + std::to_string(kAttemptMax + 1) + ".json", std::string("attempt-0.json"),
        std::string("attempt-02.json"), std::string("attempt-.json"), std::string("attempt--1.json"),
        std::string("attempt-9223372036854775808.json"), std::string("attempt-2.json.tmp-0123456789abcdef")})
    EXPECT_EQ(claimed_attempt(name), std::nullopt) << name;
}

TEST(SharedRunTest, BehindTheLastNumberNothingIsClaimedAndNobodyWaits) {
  TempFolder folder;
  ASSERT_TRUE(claim_attempt(folder.path(), {kAttemptMax, "a", 1}).ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(take_attempt(folder.path(), {}, {}, false, 0), kAttemptMax + 1);
  EXPECT_FALSE(path_exists(join_path(folder.path(), "attempt-" + std::to_string(kAttemptMax + 1) + ".json")));
}

int g_claims = 0, g_claims_lost = 0;

TEST(SharedRunTest, SoManyNumbersMayBeTakenByOthersBeforeOneIsItsOwn) {
  const auto claim = [](const std::string& run_path, const AttemptClaim& wanted) {
    return ++g_claims <= g_claims_lost ? Status(Code::kExists, "") : claim_attempt(run_path, wanted);
  };
  for (const int lost : {kClaimTriesMax - 1, kClaimTriesMax}) {
    TempFolder folder;
    g_claims = 0, g_claims_lost = lost;
    EXPECT_EQ(take_attempt(folder.path(), {}, {}, false, 1, claim), 2);
    EXPECT_EQ(g_claims, kClaimTriesMax);
    EXPECT_EQ(path_exists(join_path(folder.path(), "attempt-2.json")), lost < kClaimTriesMax);
  }
}

TEST(SharedRunTest, AClaimThatCannotBeReadCountsByItsNumber) {
  TempFolder folder;
  ASSERT_TRUE(write_file_atomic(join_path(folder.path(), "attempt-5.json"), "{").ok());
  const auto claims = attempt_claims(folder.path());
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].attempt, 5);
  EXPECT_FALSE(claims[0].launch.has_value());
  EXPECT_EQ(take_attempt(folder.path(), {}, {}, false, 0), 6);
}

// `python a.py & python b.py &` in a batch job: each of them is rank 0 of the launch that both are started by.
TEST(SharedRunTest, ProgramsThatALaunchStartsAtTheSameMomentHaveARunEach) {
  constexpr size_t kPrograms = 4, kRounds = 50;
  TempFolder folder;
  ASSERT_TRUE(Store::open_or_create(folder.path()).ok());
  for (size_t round = 0; round < kRounds; ++round) {
    LaunchFacts facts;
    facts.key = "slurm/4711/" + std::to_string(round);
    std::vector<Id128> made(kPrograms);
    std::barrier together(kPrograms);
    std::vector<std::thread> programs;
    for (Id128& uid : made)
      programs.emplace_back([&] {
        auto store = Store::open_or_create(folder.path());
        together.arrive_and_wait();
        const auto run = store.ok() ? run_of_launch(&*store, "p", facts, {}, false) : store.status();
        if (run.ok()) uid = run->identity.uid;
      });
    for (std::thread& program : programs) program.join();
    std::set<Id128> uids(made.begin(), made.end());
    ASSERT_EQ(uids.size(), kPrograms) << "round " << round;
    ASSERT_FALSE(uids.contains(Id128()));
  }
}

TEST(SharedRunTest, TheNewestAttemptIsJoinedOnlyByItsOwnLaunch) {
  const auto writer = [](int64_t attempt, int64_t rank, int64_t size, const std::string& launch) {
    WriterIdentity out;
    out.attempt = attempt;
    out.rank = rank;
    out.world_size = size;
    out.launch = launch;
    return out;
  };
  const TakenAttempts past{.writers = {writer(1, 0, 4, "a"), writer(2, 0, 4, "b"), writer(2, 1, 4, "b")}, .claims = {}};
  EXPECT_EQ(attempt_to_join({}, {.rank = 3, .world_size = 4}), 1);
  EXPECT_EQ(attempt_to_join(past, {.rank = 3, .world_size = 4, .launch = "b"}), 2);
  EXPECT_EQ(attempt_to_join(past, {.rank = 1, .world_size = 4, .launch = "b"}), 3) << "its place is taken";
  EXPECT_EQ(attempt_to_join(past, {.rank = 3, .world_size = 4, .launch = "c"}), 3) << "another launch";
  EXPECT_EQ(attempt_to_join(past, {.rank = 3, .world_size = 8, .launch = "b"}), 3) << "another size";
  EXPECT_EQ(attempt_to_join(past, {.rank = 3, .world_size = 0, .launch = "b"}), 2) << "its size is not known";
  EXPECT_EQ(attempt_to_join(past, {.rank = 3, .world_size = 4, .launch = "b", .restarts = 4}), 5);
}

TEST(SharedRunTest, BehindTheLastRunOfALaunchOrALabelIsAnError) {
  TempFolder folder;
  Store store = *Store::open_or_create(folder.path());
  JoinRequest request{.launch = "a"};
  request.generations_max = 3;
  LaunchFacts facts;
  facts.key = "slurm/1";
  for (int i = 0; i < 4; ++i) {
    const auto run = run_of_launch(&store, "p", facts, request, false);
    EXPECT_EQ(run.status().code(), i < 3 ? Code::kOk : Code::kLimit) << i;
    if (i == 3) {
      EXPECT_THAT(run.status().message(), ::testing::HasSubstr("3 runs of one launch"));
    }
  }
  for (int i = 0; i < 4; ++i) {
    request.launch = "launch " + std::to_string(i);
    const auto run = run_of_label(&store, "p", "otter", request);
    EXPECT_EQ(run.status().code(), i < 3 ? Code::kOk : Code::kLimit) << i;
    if (i < 3) {
      EXPECT_EQ(run->identity.id, i == 0 ? "otter" : "otter-" + std::to_string(i + 1));
    } else {
      EXPECT_THAT(run.status().message(), ::testing::HasSubstr("3 runs are called \"otter\""));
    }
  }
  EXPECT_EQ(JoinRequest{}.generations_max, kGenerationsMax);
}

TEST(SharedRunTest, ARankFindsTheRunOfItsLaunchAmongTheNewestAlone) {
  TempFolder folder;
  const std::string own = folder.path() + "/own";
  const auto make = [](const std::string& path, int64_t mtime_s) {
    ASSERT_TRUE(::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST);
    const timespec times[2]{{mtime_s, 0}, {mtime_s, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  make(own, 1);
  ASSERT_TRUE(claim_attempt(own, {2, "mine", 1}).ok());
  make(own, 1'000'000);
  for (size_t i = 1; i < kStopRunsMax; ++i) make(folder.path() + "/" + std::to_string(i), 2'000'000);
  StopPlace place{"", 1, folder.path(), "mine"};
  EXPECT_TRUE(find_run_of_launch(&place));
  EXPECT_EQ(place.run_path, own);
  EXPECT_EQ(place.attempt, 2);
  make(folder.path() + "/one-more", 2'000'000);
  place.run_path.clear();
  EXPECT_FALSE(find_run_of_launch(&place));
}

}  // namespace
}  // namespace tracker::internal
