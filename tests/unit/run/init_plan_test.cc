// SPDX-License-Identifier: MIT
// Which run a process writes: plain, by id, resumed, launched by torchrun or Slurm, restarted; and what init says of
// wrong options. Method: processes that play launcher and workers, and one init after the other in an empty store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/view/attempts.h"
#include "run/run.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

InitOptions quiet() {
  InitOptions options;
  options.project = "p";
  options.quiet = true;
  return options;
}

// Every rank of a torchrun of `size` processes: children of one parent, each logs a point; rank 0's run is the only
// one.
int launch(int size, const char* restart_count) {
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(start_child([&] {
      ::setenv("RANK", std::to_string(rank).c_str(), 1);
      ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      ::setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
      ::setenv("LOCAL_WORLD_SIZE", std::to_string(size).c_str(), 1);
      ::setenv("TORCHELASTIC_RUN_ID", "none", 1);
      ::setenv("TORCHELASTIC_RESTART_COUNT", restart_count, 1);
      auto run = Run::init(quiet());
      CHILD_CHECK(run.ok() && (*run)->recording() == (rank == 0));
      const uint32_t id = (*run)->series_id("x", ValueType::kInt64);
      const ValuePair pair{static_cast<uint64_t>(rank), id, 0};
      CHILD_CHECK((id != 0) == (rank == 0));
      CHILD_CHECK(log_pairs((*run)->hot(), &pair, 1, (*run)->attempt()) == (rank == 0 ? Code::kOk : Code::kClosed));
      CHILD_CHECK((*run)->set_config("lr", 0.1) == Code::kOk && (*run)->config().find("lr") != nullptr);
      CHILD_CHECK(is_directory((*run)->dir()));
      CHILD_CHECK((*run)->flush(std::chrono::seconds(20)) && (*run)->finish(RunState::kFinished).ok());
      return 0;
    }));
  int failed = 0;
  for (const pid_t rank : ranks) failed += exit_code_of(wait_child(rank)) != 0;
  return failed;
}

std::vector<std::unique_ptr<RunView>> all_runs(const Sandbox& sandbox) {
  std::vector<std::unique_ptr<RunView>> out;
  auto store = Store::open(sandbox.store());
  EXPECT_TRUE(store.ok());
  for (const RunFolder& folder : store->list_runs()) out.push_back(std::move(*RunView::open(folder)));
  return out;
}

TEST(InitPlanTest, TwoPlainTorchrunsInARowMakeTwoRuns) {
  Sandbox sandbox;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(exit_code_of(run_child([] { return launch(4, "0"); })), 0);
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 2u);
  for (const auto& run : runs) EXPECT_EQ(run->points(), 1u);
}

TEST(InitPlanTest, AnElasticRestartIsANewAttemptOfTheSameRun) {
  for (const int size : {4, 1}) {
    Sandbox sandbox;
    EXPECT_EQ(exit_code_of(run_child([size] { return launch(size, "0") + launch(size, "1") + launch(size, "2"); })), 0);
    const auto runs = all_runs(sandbox);
    ASSERT_EQ(runs.size(), 1u) << size << " processes";
    EXPECT_EQ(runs[0]->points(), 3u);
    EXPECT_EQ(runs[0]->writers().back().identity.attempt, 3);
  }
}

// Init in a process of its own; returns "id attempt step_next state_of_first" or the error.
std::string init_once(const InitOptions& options, int64_t step = TRK_STEP_AUTO) {
  struct Answer {
    char text[400];
  };
  Shared<Answer> answer;
  const int status = run_child([&] {
    auto run = Run::init(options);
    std::string text;
    if (!run.ok()) {
      text = std::string(code_name(run.status().code())) + ": " + run.status().to_string();
    } else {
      const uint32_t id = (*run)->series_id("x", ValueType::kInt64);
      const ValuePair pair{1, id, 0};
      text = (*run)->id() + " " + std::to_string((*run)->attempt()) + " " + std::to_string((*run)->next_step());
      CHILD_CHECK(log_pairs((*run)->hot(), &pair, 1, step == TRK_STEP_AUTO ? (*run)->next_step() : step) == Code::kOk);
      CHILD_CHECK((*run)->finish(RunState::kFinished).ok());
    }
    std::snprintf(answer->text, sizeof answer->text, "%s", text.c_str());
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
  return answer->text;
}

TEST(InitPlanTest, ResumeGoesOnBehindTheLargestStep) {
  Sandbox sandbox;
  InitOptions options = quiet();
  options.id = "base";
  EXPECT_EQ(init_once(options, 41), "base 1 0");
  EXPECT_EQ(init_once(options), "base-2 1 0") << "never: another run";
  options.resume = "allow";
  EXPECT_EQ(init_once(options), "base 2 42");
  options.resume = "must";
  EXPECT_EQ(init_once(options), "base 3 43");
  options.id = "other";
  EXPECT_THAT(init_once(options),
              ::testing::AllOf(::testing::HasSubstr("no run p/other"), ::testing::HasSubstr("allow")));
  options.resume = "allow";
  EXPECT_EQ(init_once(options), "other 1 0");
}

TEST(InitPlanTest, ASecondInitOfAProcessGoesOnBehindTheFirstAlsoWhereTheDiskIsStuck) {
  Sandbox sandbox;
  EXPECT_EQ(exit_code_of(run_child([] {
              static std::atomic<bool> stuck{true};
              InitOptions options = quiet();
              options.id = "base";
              options.resume = "allow";
              auto first = Run::init(options);
              CHILD_CHECK(first.ok());
              (*first)->set_pause_for_testing(nullptr, [] {
                while (stuck.load()) ::usleep(1000);
              });
              CHILD_CHECK((*first)->log_text("note", "in the ring", 20, true) == Code::kOk);
              auto second = Run::init(options);
              CHILD_CHECK(second.ok() && (*second)->attempt() == 2 && (*second)->step() == 20);
              stuck = false;
              CHILD_CHECK((*second)->finish(RunState::kFinished).ok());
              CHILD_CHECK((*first)->finish(RunState::kFinished).ok());
              return 0;
            })),
            0);
}

TEST(InitPlanTest, ResumeFromAStepGoesOnBehindItAndShadowsTheRest) {
  Sandbox sandbox;
  InitOptions options = quiet();
  options.id = "base";
  EXPECT_EQ(init_once(options, 1000), "base 1 0");
  options.id.clear();
  options.resume_from = "base@600";
  EXPECT_EQ(init_once(options), "base 2 601");
  options.resume_from = "base";
  EXPECT_EQ(init_once(options), "base 3 602") << "what is shadowed is not the run's largest step";
  options.resume_from = "base@-1";
  EXPECT_EQ(init_once(options), "base 4 0");
  options.resume_from = "absent@5";
  EXPECT_THAT(init_once(options), ::testing::HasSubstr("no run p/absent"));
  options.resume = "allow";
  EXPECT_EQ(init_once(options), "absent 1 0") << "a first attempt has no past to shadow";
  const auto runs = all_runs(sandbox);
  ASSERT_EQ(runs.size(), 2u);
  const auto& base = runs[0]->identity().id == "base" ? runs[0] : runs[1];
  const auto attempts = base->attempts();
  ASSERT_EQ(attempts.size(), 4u);
  EXPECT_EQ(attempts[1].resume_step, 600);
  EXPECT_EQ(attempts[1].continues, 1);
  EXPECT_EQ(attempts[2].resume_step, std::nullopt);
  EXPECT_EQ(attempts[2].continues, 2);
  EXPECT_EQ(base->history("x")->steps, std::vector<int64_t>{0});
  EXPECT_EQ(base->history("x", true)->steps, (std::vector<int64_t>{1000, 601, 602, 0}));
}

TEST(InitPlanTest, ResumeFromTakesAProjectOrAUidWhereNoProjectIsGiven) {
  Sandbox sandbox;
  InitOptions options = quiet();
  options.id = "a@b";  // an "@" in an id: the last one begins the step
  EXPECT_EQ(init_once(options, 5), "a@b 1 0");
  InitOptions from;
  from.quiet = true;
  from.resume_from = "p/a@b@3";
  EXPECT_EQ(init_once(from), "a@b 2 4");
  from.resume_from = all_runs(sandbox)[0]->identity().uid.hex() + "@2";
  EXPECT_EQ(init_once(from), "a@b 3 3");
  from.project = "q";
  EXPECT_THAT(init_once(from), ::testing::HasSubstr("a run of the project p, not of q"));
}

TEST(InitPlanTest, TheEnvironmentNamesTheRunUnlessAnArgumentDoes) {
  Sandbox sandbox;
  ::setenv("TRACKER_RUN_ID", "from-env", 1);
  EXPECT_EQ(init_once(quiet()), "from-env 1 0");
  InitOptions options = quiet();
  options.id = "from-argument";
  EXPECT_EQ(init_once(options), "from-argument 1 0");
  ::unsetenv("TRACKER_RUN_ID");
}

struct Wrong {
  const char* what;
  void (*set)(InitOptions*);
  const char* message;
};

TEST(InitPlanTest, AWrongOptionIsAnErrorThatSaysWhatWasExpected) {
  Sandbox sandbox;
  const Wrong cases[] = {
      {"mode", [](InitOptions* o) { o->mode = "remote"; }, "mode=\"remote\": expected one of \"local\""},
      {"resume", [](InitOptions* o) { o->resume = "yes"; }, "expected one of \"never\", \"allow\", \"must\""},
      {"on_full", [](InitOptions* o) { o->on_full = "stop"; }, "expected one of \"wait\", \"drop\", \"block\""},
      {"journal", [](InitOptions* o) { o->journal = "ram"; }, "expected one of"},
      {"ranks", [](InitOptions* o) { o->ranks = "some"; }, "expected one of"},
      {"duplicates", [](InitOptions* o) { o->duplicate_policy = "mean"; }, "expected one of \"last\", \"first\""},
      {"from", [](InitOptions* o) { o->resume_from = "base@soon"; }, "\"soon\" is no whole number"},
      {"from", [](InitOptions* o) { o->resume_from = "base@1.5"; }, "\"1.5\" is no whole number"},
      {"from", [](InitOptions* o) { o->resume_from = "base@"; }, "\"\" is no whole number"},
      {"from", [](InitOptions* o) { o->resume_from = "@7"; }, "no run is named"},
      {"from", [](InitOptions* o) { o->resume_from = "base@9223372036854775808"; }, "beyond int64"},
      {"from", [](InitOptions* o) { o->resume_from = "base@7", o->resume = "never"; }, "exclude each other"},
      {"from", [](InitOptions* o) { o->resume_from = "base@7", o->id = "other"; }, "name two runs"},
      {"rank", [](InitOptions* o) { o->rank = -3; }, "expected a number from 0"},
      {"project", [](InitOptions* o) { o->project = std::string(300, 'p'); }, "project"},
      {"project", [](InitOptions* o) { o->project = "a\nb"; }, "project"},
      {"id", [](InitOptions* o) { o->id = "\xff\xfe"; }, "id"},
      {"tag", [](InitOptions* o) { o->tags = {"ok", ""}; }, "tag"},
      {"notes", [](InitOptions* o) { o->notes = "\xc3"; }, "UTF-8"},
      {"config", [](InitOptions* o) { o->config = Value(3); }, "expected keys and values"},
      {"must", [](InitOptions* o) { o->resume = "must"; }, "expected id="},
  };
  for (const Wrong& each : cases) {
    InitOptions options = quiet();
    each.set(&options);
    const auto run = Run::init(options);
    EXPECT_EQ(run.status().code(), Code::kInvalid) << each.what;
    EXPECT_THAT(run.status().to_string(), ::testing::HasSubstr(each.message));
  }
  EXPECT_FALSE(path_exists(sandbox.store())) << "nothing is made for a wrong call";
}

TEST(InitPlanTest, ADisabledRunTakesEveryCallAndMakesNothing) {
  Sandbox sandbox;
  InitOptions options = quiet();
  options.mode = "disabled";
  auto run = Run::init(options);
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE((*run)->recording());
  EXPECT_EQ((*run)->series_id("x", ValueType::kInt64), 0u);
  EXPECT_EQ((*run)->log_text("x", "text", 1), Code::kClosed);
  EXPECT_EQ((*run)->set_config("a/b", 1), Code::kOk);
  EXPECT_TRUE((*run)->flush(std::chrono::seconds(1)) && (*run)->finish(RunState::kFinished).ok());
  EXPECT_EQ((*run)->status().why_not_recording, "mode=\"disabled\"");
  EXPECT_FALSE(path_exists(sandbox.store()));
}

// Promise P12: Secrets are in no file.
TEST(InitPlanTest, SecretsReachNoFile) {
  Sandbox sandbox;
  const std::string secrets[] = {"hunter2-the-password", "AKIAIOSFODNN7EXAMPLE",
                                 "ghp_0123456789abcdefghijklmnopqrstuvwxyz"};
  EXPECT_EQ(exit_code_of(run_child([&] {
              InitOptions options = quiet();
              options.config =
                  Value::Map{{"db_password", secrets[0]}, {"lr", 0.1}, {"nested", Value::Map{{"key", secrets[1]}}}};
              auto run = Run::init(options);
              CHILD_CHECK(run.ok() && (*run)->set_config("api/token", secrets[0]) == Code::kOk);
              CHILD_CHECK((*run)->set_summary("note", "use " + secrets[2]) == Code::kOk);
              CHILD_CHECK((*run)->log_text("text", "key " + secrets[1], 1) == Code::kOk);
              CHILD_CHECK((*run)->status().values_redacted == 5);
              CHILD_CHECK((*run)->flush(std::chrono::seconds(20)));
              ::raise(SIGKILL);
              return 0;
            })),
            -1 - SIGKILL);
  size_t files = 0;
  for (const std::string& folder : {sandbox.folder(), sandbox.shm()})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const auto bytes = read_file(entry.path().string(), 64u << 20);
      ASSERT_TRUE(bytes.ok());
      ++files;
      for (const std::string& secret : secrets) EXPECT_EQ(bytes->find(secret), std::string::npos) << entry.path();
    }
  EXPECT_GT(files, 4u);
}

// Bug: the reason was cut before it was redacted, and of an address the cut left the password.
TEST(InitPlanTest, OfTheReasonOfAnEndASecretAtTheCutIsNotStored) {
  const std::string secret = " postgres://admin:hunter2secret@db.example.com/x";
  for (const size_t shown : {secret.find('@'), secret.find("2secret"), secret.find("admin"), secret.size()}) {
    Sandbox sandbox;
    auto run = Run::init(quiet());
    ASSERT_TRUE(run.ok());
    const std::string filler(kEndReasonBytesMax - shown, 'x');
    ASSERT_TRUE((*run)->finish(RunState::kFailed, 1, filler + secret).ok());
    const auto view = RunView::open(Store::open(sandbox.store())->list_runs().at(0));
    ASSERT_TRUE(view.ok());
    const std::string detail = (*view)->state_detail();
    EXPECT_EQ(detail.find("hunter2"), std::string::npos) << detail.substr(detail.size() - 80);
    EXPECT_THAT(detail, ::testing::HasSubstr("xxx postgres://"));
    EXPECT_EQ(detail.ends_with(" bytes more)"), shown < secret.size());
  }
}

}  // namespace
}  // namespace tracker::internal
