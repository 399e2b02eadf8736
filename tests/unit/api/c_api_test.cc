// SPDX-License-Identifier: MIT
// Goal: the C ABI keeps its promises to callers that misuse it or were built against an older header.
// Method: calls through the shared library, the way a foreign language makes them.
#include <gtest/gtest.h>
#include <tracker/tracker.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "storage/store/stop_request.h"
#include "support/store_builder.h"

namespace {

class CApiTest : public testing::Test {
 protected:
  trk_run* open() {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "c";
    options.dir = dir_.c_str();
    options.quiet = 1;
    trk_run* run = nullptr;
    EXPECT_EQ(trk_init(&options, &run, nullptr), TRK_OK);
    return run;
  }
  tracker::internal::TempFolder folder_;
  std::string dir_ = folder_.path() + "/store";
};

TEST_F(CApiTest, NullIsNeverFollowed) {
  const trk_value value = trk_f64(1);
  EXPECT_EQ(trk_init(nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log(nullptr, nullptr, 0, 0), TRK_INVALID);
  EXPECT_EQ(trk_log_f64(nullptr, "a", 1, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_metric_open(nullptr, "a", 1, nullptr), nullptr);
  EXPECT_EQ(trk_metric_log_f64(nullptr, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_config_set(nullptr, "a", 1, &value), TRK_INVALID);
  EXPECT_EQ(trk_flush(nullptr, 10), TRK_INVALID);
  EXPECT_EQ(trk_finish(nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_get_status(nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_alert(nullptr, "a", 1, nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_should_stop(nullptr), 0);
  EXPECT_EQ(trk_stop_reason(nullptr, nullptr, 0), 0u);
  EXPECT_STREQ(trk_run_id(nullptr), "");
  trk_free(nullptr);
  trk_run* run = open();
  EXPECT_EQ(trk_log(run, nullptr, 3, 0), TRK_INVALID);
  EXPECT_EQ(trk_log_f64(run, nullptr, 0, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_config_set(run, "a", 1, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_get_status(run, nullptr), TRK_INVALID);
  trk_free(run);
}

TEST_F(CApiTest, AnAlertOfAKnownLevelIsTaken) {
  trk_run* run = open();
  EXPECT_EQ(trk_alert(run, "slow", TRK_NUL_TERMINATED, "half as fast", TRK_NUL_TERMINATED, "warn"), TRK_OK);
  EXPECT_EQ(trk_alert(run, "slow", TRK_NUL_TERMINATED, nullptr, 0, nullptr), TRK_OK);
  EXPECT_EQ(trk_alert(run, "slow", TRK_NUL_TERMINATED, nullptr, 0, "fatal"), TRK_INVALID);
  EXPECT_EQ(trk_alert(run, nullptr, 0, nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_alert(run, "", 0, nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_alert(run, "slow", 0, nullptr, 0, nullptr), TRK_INVALID);
  trk_finish(run, 0, nullptr);
  EXPECT_EQ(trk_alert(run, "late", TRK_NUL_TERMINATED, nullptr, 0, nullptr), TRK_CLOSED);
  trk_free(run);
}

TEST_F(CApiTest, ARequestToStopIsSeenWithItsReason) {
  trk_run* run = open();
  EXPECT_EQ(trk_should_stop(run), 0);
  char reason[8] = "before";
  EXPECT_EQ(trk_stop_reason(run, reason, sizeof reason), 0u);
  EXPECT_STREQ(reason, "");
  ASSERT_TRUE(tracker::internal::write_stop_request(trk_run_dir(run), {1, 0, "anna on node1", "slow"}).ok());
  for (int i = 0; i < 6'000 && trk_should_stop(run) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(trk_should_stop(run), 1);
  const std::string whole = "slow (anna on node1, 1970-01-01 00:00:00 UTC)";
  EXPECT_EQ(trk_stop_reason(run, nullptr, 0), whole.size());
  EXPECT_EQ(trk_stop_reason(run, reason, sizeof reason), whole.size());
  EXPECT_STREQ(reason, "slow (a");
  trk_free(run);
}

TEST_F(CApiTest, OptionsWithoutTheirSizeAreRefusedWithAMessage) {
  trk_init_options options;
  std::memset(&options, 0, sizeof options);
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_NE(std::string(error.message).find("TRK_INIT_OPTIONS_INIT"), std::string::npos);
  // Bug: in Rust, Go and Julia, which have no macros of C, the message led nowhere.
  EXPECT_NE(std::string(error.message).find("trk_init_options_default()"), std::string::npos) << error.message;
  EXPECT_EQ(run, nullptr);
}

// In Rust, Go and Julia a struct is zeroed; its rank must be that of the launcher all the same.
TEST_F(CApiTest, ZeroedOptionsAndTheDefaultOnesTakeTheRankOfTheLauncher) {
  ::setenv("RANK", "3", 1), ::setenv("WORLD_SIZE", "4", 1);
  trk_init_options zeroed, given;
  std::memset(&zeroed, 0, sizeof zeroed);
  zeroed.size = sizeof zeroed;
  trk_init_options_default(&given, sizeof given);
  for (trk_init_options* options : {&zeroed, &given}) {
    options->dir = dir_.c_str(), options->quiet = 1;
    trk_run* run = nullptr;
    ASSERT_EQ(trk_init(options, &run, nullptr), TRK_OK);
    trk_status status = TRK_STATUS_INIT;
    ASSERT_EQ(trk_get_status(run, &status), TRK_OK);
    EXPECT_EQ(status.rank, 3);
    trk_free(run);
  }
  ::unsetenv("RANK"), ::unsetenv("WORLD_SIZE");
}

TEST_F(CApiTest, TheDefaultOptionsWriteNoMoreThanTheCallerKnows) {
  trk_init_options options;
  std::memset(&options, 0x5a, sizeof options);
  trk_init_options_default(&options, offsetof(trk_init_options, mode));
  EXPECT_EQ(options.size, offsetof(trk_init_options, mode));
  EXPECT_EQ(options.dir, nullptr);
  EXPECT_NE(options.mode, nullptr);
}

TEST_F(CApiTest, AnEmptyProjectIsAnErrorThatSaysWhatWasExpected) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "";
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_NE(std::string(error.message).find("project"), std::string::npos);
}

// A caller built against a header whose structs ended earlier: fields that it does not know keep their defaults and are
// not written.
TEST_F(CApiTest, OlderStructsAreReadAndWrittenOnlyAsFarAsTheyReach) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.size = offsetof(trk_init_options, mode);
  options.dir = dir_.c_str();
  options.mode = "nonsense beyond the end";
  trk_run* run = nullptr;
  ASSERT_EQ(trk_init(&options, &run, nullptr), TRK_OK);
  trk_status status;
  std::memset(&status, 0x5a, sizeof status);
  status.size = offsetof(trk_status, points_dropped);
  EXPECT_EQ(trk_get_status(run, &status), TRK_OK);
  EXPECT_EQ(status.points_stored, 0u);
  EXPECT_EQ(status.points_dropped, 0x5a5a5a5a5a5a5a5au);
  trk_free(run);
}

TEST_F(CApiTest, ABadValueIsCountedAndTheOthersAreKept) {
  trk_run* run = open();
  trk_point points[3] = {{"a", TRK_NUL_TERMINATED, trk_f64(1)}, {"bad", 3, trk_f64(2)}, {"c", 1, trk_i64(3)}};
  points[1].value.type = 99;
  EXPECT_EQ(trk_log(run, points, 3, 0), TRK_INVALID);
  ASSERT_EQ(trk_flush(run, 10000), TRK_OK);
  trk_status status = TRK_STATUS_INIT;
  ASSERT_EQ(trk_get_status(run, &status), TRK_OK);
  EXPECT_EQ(status.points_stored, 2u);
  EXPECT_EQ(status.values_rejected, 1u);
  trk_free(run);
}

TEST_F(CApiTest, AMetricIsDefinedByWordsAndAWrongOneIsNamed) {
  trk_run* run = open();
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_define_metric(run, "loss", "epoch", "min,last", "minimize", &error), TRK_OK) << error.message;
  EXPECT_EQ(trk_define_metric(run, "acc", nullptr, nullptr, nullptr, nullptr), TRK_OK);
  EXPECT_EQ(trk_define_metric(run, "loss", nullptr, "min,median", nullptr, &error), TRK_INVALID);
  EXPECT_NE(std::string(error.message).find("median"), std::string::npos);
  EXPECT_EQ(trk_define_metric(run, nullptr, nullptr, nullptr, nullptr, &error), TRK_INVALID);
  EXPECT_EQ(trk_define_metric(nullptr, "loss", nullptr, nullptr, nullptr, nullptr), TRK_INVALID);
  trk_free(run);
}

TEST_F(CApiTest, EveryCodeHasAName) {
  for (int code = TRK_OK; code <= TRK_UNSUPPORTED; ++code)
    EXPECT_GT(std::strlen(trk_code_name(static_cast<trk_code>(code))), 1u) << code;
  EXPECT_NE(trk_code_name(static_cast<trk_code>(15)), nullptr);
}

}  // namespace
