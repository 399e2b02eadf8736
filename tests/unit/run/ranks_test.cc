// SPDX-License-Identifier: MIT
// The rank of a process of a distributed job, from every launcher's variables, one before the other. Method: tables of
// environments; pure functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "run/ranks.h"
#include "support/environment.h"

namespace tracker::internal {
namespace {

struct Case {
  Environment environment;
  int rank, size;
  const char* source;
  bool first;
};

// Promise P7: RANK and SLURM_PROCID count only where there are several processes; LOCAL_RANK, NODE_RANK, GROUP_RANK > 0
// mean "not rank 0".
TEST(RanksTest, EachLauncherIsUnderstood) {
  const Case cases[] = {
      {{}, 0, 1, "", true},
      {{{"RANK", "0"}, {"WORLD_SIZE", "8"}}, 0, 8, "RANK", true},
      {{{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "3"}}, 3, 8, "RANK", false},
      // Two nodes of four: local rank 0 of the second node is not the first process.
      {{{"RANK", "4"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "0"}, {"GROUP_RANK", "1"}}, 4, 8, "RANK", false},
      {{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 1, 2, "OMPI_COMM_WORLD_RANK", false},
      {{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, 0, 4, "PMI_RANK", true},
      {{{"PMIX_RANK", "2"}}, 2, 0, "PMIX_RANK", false},
      {{{"PMIX_RANK", "0"}}, 0, 1, "PMIX_RANK", true},
      {{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}}, 3, 8, "SLURM_PROCID", false},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}, 0, 1, "", true},
      {{{"JSM_NAMESPACE_RANK", "5"}, {"JSM_NAMESPACE_SIZE", "6"}}, 5, 6, "JSM_NAMESPACE_RANK", false},
      // One before the other.
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, 0, 2, "RANK", true},
      {{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}},
       1,
       2,
       "OMPI_COMM_WORLD_RANK",
       false},
      // Left over in an image or an interactive allocation: says nothing about a job of several.
      {{{"RANK", "0"}}, 0, 1, "", true},
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 0, 1, "", true},
      {{{"RANK", "1"}, {"WORLD_SIZE", "1"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}}, 2, 4, "SLURM_PROCID", false},
      {{{"RANK", "many"}, {"WORLD_SIZE", "8"}}, 0, 1, "", true},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "8"}}, 0, 1, "", true},
      // None of the above: a local or node rank above 0 is not the first, 0 decides nothing.
      {{{"LOCAL_RANK", "2"}}, -1, 0, "LOCAL_RANK", false},
      {{{"LOCAL_RANK", "0"}}, 0, 1, "", true},
      {{{"LOCAL_RANK", "0"}, {"NODE_RANK", "1"}}, -1, 0, "NODE_RANK", false},
      {{{"LOCAL_RANK", "0"}, {"GROUP_RANK", "3"}}, -1, 0, "GROUP_RANK", false},
      // TRACKER_RANK beats them all.
      {{{"TRACKER_RANK", "0"}, {"RANK", "3"}, {"WORLD_SIZE", "8"}}, 0, 8, "TRACKER_RANK", true},
      {{{"TRACKER_RANK", "2"}, {"LOCAL_RANK", "0"}}, 2, 0, "TRACKER_RANK", false},
      {{{"TRACKER_RANK", ""}, {"RANK", "1"}, {"WORLD_SIZE", "2"}}, 1, 2, "RANK", false},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(::testing::PrintToString(each.environment));
    auto rank = resolve_rank({}, getter(each.environment));
    ASSERT_TRUE(rank.ok());
    EXPECT_EQ(rank->rank, each.rank);
    EXPECT_EQ(rank->world_size, each.size);
    EXPECT_EQ(rank->source, each.source);
    EXPECT_EQ(rank->is_first, each.first);
    EXPECT_EQ(rank->gated_line().empty(), each.first);
  }
}

TEST(RanksTest, ArgumentsComeFirstThenTorchThenTheEnvironment) {
  const Environment environment{{"RANK", "3"}, {"WORLD_SIZE", "8"}};
  RankRequest request;
  request.torch_rank = 1;
  request.torch_world_size = 4;
  EXPECT_EQ(resolve_rank(request, getter(environment))->source, "torch.distributed");
  EXPECT_FALSE(resolve_rank(request, getter(environment))->is_first);
  request.rank = 0;
  EXPECT_EQ(resolve_rank(request, getter(environment))->source, "argument");
  EXPECT_TRUE(resolve_rank(request, getter(environment))->is_first);
  RankRequest child;
  child.child_of_run = true;
  EXPECT_FALSE(resolve_rank(child, getter({{"RANK", "0"}}))->is_first);
}

TEST(RanksTest, AWorkerOfAPoolRecordsUnlessItHasASignOfRanks) {
  RankRequest child;
  child.child_of_run = true;
  for (const Environment& none : {Environment{}, Environment{{"RANK", ""}, {"WORLD_SIZE", "8"}},
                                  Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "7"}}})
    EXPECT_TRUE(resolve_rank(child, getter(none))->is_first) << ::testing::PrintToString(none);
  for (const Environment& sign :
       {Environment{{"RANK", "0"}}, Environment{{"LOCAL_RANK", "0"}}, Environment{{"MASTER_ADDR", "node-0"}},
        Environment{{"GROUP_RANK", "0"}}, Environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}},
        Environment{{"PMIX_RANK", "0"}}})
    EXPECT_FALSE(resolve_rank(child, getter(sign))->is_first) << ::testing::PrintToString(sign);
  child.torch_rank = 0;
  child.torch_world_size = 1;
  EXPECT_FALSE(resolve_rank(child, getter({}))->is_first);
}

// N ranks with such variables silently made N runs.
TEST(RanksTest, AVariableThatMakesNoSenseIsNamedWithWhatIsAssumed) {
  const auto warning = [](const Environment& environment) { return resolve_rank({}, getter(environment))->warning; };
  EXPECT_EQ(
      warning({{"RANK", "x"}, {"WORLD_SIZE", "8"}}),
      "RANK is 'x', which is no number from 0 (WORLD_SIZE is 8); it is ignored, and this process is taken for the "
      "only one, which records a run of its own; set it, or TRACKER_RANK");
  EXPECT_THAT(warning({{"RANK", "-1"}, {"WORLD_SIZE", "8"}}), ::testing::StartsWith("RANK is '-1'"));
  EXPECT_THAT(warning({{"RANK", "3"}, {"WORLD_SIZE", "eight"}}), ::testing::StartsWith("WORLD_SIZE is 'eight'"));
  EXPECT_THAT(warning({{"RANK", "x"}, {"WORLD_SIZE", "8"}, {"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}}),
              ::testing::HasSubstr("taken for rank 2 of 4 (from SLURM_PROCID)"));
  EXPECT_THAT(warning({{"PMIX_RANK", "first"}}), ::testing::StartsWith("PMIX_RANK is 'first'"));
  for (const Environment& sound : {Environment{{"RANK", "-1"}, {"WORLD_SIZE", "-1"}},  // "no job", as some write it
                                   Environment{{"RANK", "x"}}, Environment{{"RANK", ""}, {"WORLD_SIZE", "8"}},
                                   Environment{{"RANK", "0"}, {"WORLD_SIZE", ""}},
                                   Environment{{"TRACKER_RANK", "1"}, {"RANK", "x"}, {"WORLD_SIZE", "8"}},
                                   Environment{{"RANK", "1"}, {"WORLD_SIZE", "2"}}})
    EXPECT_EQ(warning(sound), "") << ::testing::PrintToString(sound);
}

// Of a relaunch under the same variables it says the same.
TEST(RanksTest, AClaimIsOfAddressPortAndSizeAndOnALoopbackAddressOfItsPlace) {
  const auto claim = [](Environment environment, const char* place = "boot/1") {
    environment.insert({{"RANK", "1"}, {"MASTER_PORT", "29500"}});
    const GetEnv env = getter(environment);
    return launch_claim(env, *resolve_rank({}, env), place);
  };
  const Environment job{{"WORLD_SIZE", "3"}, {"MASTER_ADDR", "master-0"}};
  EXPECT_EQ(claim(job), "claim/master-0/29500/3");
  EXPECT_EQ(claim(job), claim(job, "boot/2"));
  for (const char* loopback : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
    const Environment local{{"WORLD_SIZE", "3"}, {"MASTER_ADDR", loopback}};
    EXPECT_NE(claim(local), claim(local, "boot/2")) << loopback;
    EXPECT_EQ(claim(local, ""), std::nullopt) << loopback;
  }
  EXPECT_NE(claim(job), claim({{"WORLD_SIZE", "4"}, {"MASTER_ADDR", "master-0"}}));
  EXPECT_NE(claim(job), claim({{"WORLD_SIZE", "3"}, {"MASTER_ADDR", "master-0"}, {"MASTER_PORT", "29501"}}));
  EXPECT_EQ(claim({{"WORLD_SIZE", "3"}}), std::nullopt);
  EXPECT_EQ(claim({{"MASTER_ADDR", "master-0"}}), std::nullopt) << "one process";
}

TEST(RanksTest, AGatedProcessSaysWhoItIsAndWhatChangesThat) {
  const Environment environment{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}};
  EXPECT_EQ(resolve_rank({}, getter(environment))->gated_line(),
            "rank 3 of 8 (from SLURM_PROCID) records nothing; ranks=\"all\" or TRACKER_RANK=0 changes that");
}

TEST(RanksTest, WhatIsNoRankIsAnErrorThatSaysWhatWasExpected) {
  const auto message = [](const RankRequest& request, const Environment& environment) {
    const auto rank = resolve_rank(request, getter(environment));
    EXPECT_EQ(rank.status().code(), Code::kInvalid);
    return rank.status().message();
  };
  RankRequest request;
  EXPECT_THAT(message(request, {{"TRACKER_RANK", "one"}}), ::testing::HasSubstr("expected a number from 0"));
  EXPECT_THAT(message(request, {{"TRACKER_RANK", "-2"}}), ::testing::HasSubstr("expected a number from 0"));
  EXPECT_THAT(message(request, {{"TRACKER_RANK", "8"}, {"WORLD_SIZE", "8"}}),
              ::testing::HasSubstr("below WORLD_SIZE=8"));
  request.rank = 4;
  request.world_size = 4;
  EXPECT_THAT(message(request, {}), ::testing::HasSubstr("not below world_size=4"));
  request.rank = -7;
  EXPECT_THAT(message(request, {}), ::testing::HasSubstr("expected a number from 0"));
}

// Promise P7: The shared run is named by TRACKER_RUN_ID, else TORCHELASTIC_RUN_ID unless "none", else Slurm job and
// step, else the common parent.
TEST(LaunchKeyTest, WhatAllProcessesOfALaunchShareAndNoOtherHas) {
  const auto key = [](const Environment& environment, const char* launcher = "boot/1/2") {
    return launch_key(getter(environment), launcher).value_or("none");
  };
  EXPECT_EQ(key({}), "none");
  EXPECT_EQ(key({{"TORCHELASTIC_RUN_ID", "job-7"}}), "torchelastic/job-7");
  const Environment torchrun{{"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", "4"}, {"WORLD_SIZE", "4"}};
  EXPECT_EQ(key(torchrun), "launcher/boot/1/2");
  EXPECT_NE(key(torchrun, "boot/9/2"), key(torchrun)) << "the next launch";
  EXPECT_EQ(key(torchrun, ""), "none");
  // Over several nodes a parent process says nothing, and MASTER_ADDR is the same for every launch.
  EXPECT_EQ(
      key({{"TORCHELASTIC_RUN_ID", "none"}, {"LOCAL_WORLD_SIZE", "4"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "a"}}),
      "none");
  EXPECT_EQ(key({{"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}),
            "slurm/5/1");
  EXPECT_EQ(key({{"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), "none")
      << "an interactive allocation";
}

}  // namespace
}  // namespace tracker::internal
