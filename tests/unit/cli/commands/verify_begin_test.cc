// SPDX-License-Identifier: MIT
// Goal: verify judges only where it can read, and a run that does not say when it began is damaged.
// Method: too few descriptors; a run.json with a byte changed.
#include <fcntl.h>
#include <sys/resource.h>

#include <string>

#include "base/fs.h"
#include "unit/cli/verify_fixture.h"

namespace tracker::internal {
namespace {

// Bug: a lack of descriptors was "damage" of the catalog, with the advice to remove it.
TEST_F(VerifyTest, AProcessThatMayOpenTooFewFilesIsToldSoAndJudgesNothing) {
  builder_.run("p", "otter");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto next = open_file("/dev/null", O_RDONLY);
  ASSERT_TRUE(next.ok());
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next->get()) + 6;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const int code = run({"verify"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(code, kExitFailed) << out_ << err_;
  EXPECT_NE(err_.find("this process may open too few files"), std::string::npos) << err_;
  EXPECT_EQ(out_, "");
}

// Bug: without a valid created_us a run was 20,782 days old and intact.
TEST_F(VerifyTest, ARunJsonThatDoesNotSayWhenTheRunBeganIsDamage) {
  const RunFolder run_folder = builder_.run("p", "otter");
  builder_.writer(run_folder).log("x", 0, 1).end(RunState::kFinished).finish();
  const std::string path = run_folder.path + "/run.json", good = *read_file(path, 1 << 20);
  EXPECT_EQ(run({"verify"}), kExitOk) << out_;
  const size_t at = good.find("created_us");
  ASSERT_NE(at, std::string::npos);
  std::string bad = good;
  bad[at + 9] = 'z';
  ASSERT_TRUE(write_file_atomic(path, bad).ok());
  EXPECT_EQ(run({"verify"}), kExitDamaged) << out_;
  EXPECT_NE(out_.find("no valid created_us"), std::string::npos) << out_;
}

}  // namespace
}  // namespace tracker::internal
