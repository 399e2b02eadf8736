// SPDX-License-Identifier: MIT
// Which of several sources of a rank counts, which launches have no run in common, and what a process says that
// records nothing. Method: all sources at once, of which the first is taken away again and again; processes that play
// a rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "run/ranks.h"
#include "run/run.h"
#include "support/child.h"
#include "support/environment.h"
#include "support/said.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

// Promise P7: The order of ranks: argument, TRACKER_RANK, torch.distributed, RANK, Open MPI, PMI, PMIx, Slurm, JSM,
// then a local or node rank.
TEST(RankOrderTest, EachSourceBeatsAllThatStandBehindIt) {
  Environment environment{{"TRACKER_RANK", "2"},
                          {"RANK", "5"},
                          {"WORLD_SIZE", "64"},
                          {"OMPI_COMM_WORLD_RANK", "6"},
                          {"PMI_RANK", "7"},
                          {"OMPI_COMM_WORLD_SIZE", "64"},
                          {"PMI_SIZE", "64"},
                          {"PMIX_RANK", "8"},
                          {"PMIX_SIZE", "64"},
                          {"SLURM_PROCID", "9"},
                          {"SLURM_NTASKS", "64"},
                          {"JSM_NAMESPACE_RANK", "10"},
                          {"JSM_NAMESPACE_SIZE", "64"},
                          {"LOCAL_RANK", "11"},
                          {"NODE_RANK", "12"},
                          {"GROUP_RANK", "13"}};
  RankRequest request;
  request.rank = 1;
  request.world_size = 64;
  request.torch_rank = 4;
  request.torch_world_size = 64;
  const auto decided = [&] {
    auto rank = resolve_rank(request, getter(environment));
    EXPECT_TRUE(rank.ok());
    return std::pair<std::string, int>(rank->source, rank->rank);
  };
  EXPECT_EQ(decided(), (std::pair<std::string, int>("argument", 1)));
  request.rank = -1;
  EXPECT_EQ(decided(), (std::pair<std::string, int>("TRACKER_RANK", 2)));
  environment.erase("TRACKER_RANK");
  EXPECT_EQ(decided(), (std::pair<std::string, int>("torch.distributed", 4)));
  request.torch_rank = -1;
  const std::pair<const char*, int> after[] = {
      {"RANK", 5},        {"OMPI_COMM_WORLD_RANK", 6}, {"PMI_RANK", 7},
      {"PMIX_RANK", 8},   {"SLURM_PROCID", 9},         {"JSM_NAMESPACE_RANK", 10},
      {"LOCAL_RANK", -1}, {"NODE_RANK", -1},           {"GROUP_RANK", -1}};
  for (const auto& [source, rank] : after) {
    EXPECT_EQ(decided(), (std::pair<std::string, int>(source, rank)));
    environment.erase(source);
  }
  EXPECT_EQ(decided(), (std::pair<std::string, int>("", 0)));
}

// Of these, with ranks="all" or "observe", only rank 0 records.
TEST(RankOrderTest, ALaunchThatNothingNamesHasNoRunInCommon) {
  const Environment cases[] = {
      {{"RANK", "1"}, {"WORLD_SIZE", "8"}},
      {{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}},
      {{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "none"}},
      {{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", ""}},
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "8"}},
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "8"}},
      {{"PMIX_RANK", "1"}, {"PMIX_SIZE", "8"}},
      {{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "8"}},
      {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}},                         // no job
      {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}},  // an interactive allocation
      {{"SLURM_JOB_ID", "7"}, {"RANK", "1"}, {"WORLD_SIZE", "8"}},            // started within it by hand
  };
  for (const Environment& each : cases)
    EXPECT_EQ(launch_key(getter(each), "boot/1/2"), std::nullopt) << ::testing::PrintToString(each);
}

InitOptions named_by_launch(const std::string& dir) {
  InitOptions options;
  options.project = "p";
  options.dir = dir;
  options.quiet = true;
  return options;
}

// The store's identity is part of the name: a launch that writes to two stores has two runs, not one that is torn.
TEST(RankOrderTest, OneLaunchInTwoStoresHasARunInEach) {
  Sandbox sandbox;
  struct Uids {
    char text[2][33];
  };
  Shared<Uids> uids;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(exit_code_of(run_child([&] {
                for (const char* pair : {"RANK=0", "WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=job-7"})
                  ::putenv(const_cast<char*>(pair));
                auto run = Run::init(named_by_launch(sandbox.folder() + "/store" + std::to_string(i)));
                CHILD_CHECK(run.ok());
                std::snprintf(uids->text[i], sizeof uids->text[i], "%s", (*run)->uid().c_str());
                return (*run)->finish(RunState::kFinished).ok() ? 0 : 1;
              })),
              0);
  EXPECT_STRNE(uids->text[0], uids->text[1]);
  EXPECT_EQ(std::string(uids->text[0]).size(), 32u);
}

struct Said {
  const char* environment[3];
  const char* line;
};

// Promise P5: A gated process says once who it is and what changes that.
TEST(RankOrderTest, AProcessThatRecordsNothingSaysThisOnceAndNothingElse) {
  const Said cases[] = {
      {{"SLURM_PROCID=3", "SLURM_NTASKS=8", "SLURM_JOB_ID=5"},
       "tracker: rank 3 of 8 (from SLURM_PROCID) records nothing; ranks=\"all\" or TRACKER_RANK=0 changes that"},
      {{"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1"},
       "tracker: rank 1 of 2 (from RANK) records nothing; ranks=\"all\" or TRACKER_RANK=0 changes that"},
      {{"LOCAL_RANK=2", "MASTER_ADDR=a", "MASTER_PORT=1"},
       "tracker: not rank 0 (LOCAL_RANK=2) records nothing; TRACKER_RANK=0 changes that"},
      {{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "TRACKER_RANKS=all"},
       "tracker: rank 1 of 2 (from OMPI_COMM_WORLD_RANK) records nothing: nothing names the run that the ranks share; "
       "the same TRACKER_RUN_ID on all of them does, and so do MASTER_ADDR, MASTER_PORT and WORLD_SIZE"},
  };
  for (const Said& each : cases) {
    Sandbox sandbox;
    const std::string path = sandbox.folder() + "/stderr";
    EXPECT_EQ(exit_code_of(run_child([&] {
                redirect_stderr(path);
                for (const char* pair : each.environment) ::putenv(const_cast<char*>(pair));
                InitOptions options = named_by_launch(sandbox.store());
                options.quiet = false;
                for (int i = 0; i < 2; ++i) {
                  auto run = Run::init(options);
                  CHILD_CHECK(run.ok() && !(*run)->recording());
                  CHILD_CHECK((*run)->log_text("t", "x", 0) == Code::kClosed);
                  CHILD_CHECK((*run)->finish(RunState::kFinished).ok());
                }
                return 0;
              })),
              0);
    EXPECT_THAT(lines_of(path), ::testing::ElementsAre(each.line));
    EXPECT_FALSE(path_exists(sandbox.store()));
  }
}

}  // namespace
}  // namespace tracker::internal
