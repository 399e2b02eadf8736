// SPDX-License-Identifier: MIT
// A thread of a C program that is cancelled while it is in a call comes back from it, and is cancelled behind it.
// Method: the thread cancels itself first, so that every call that waits or writes would be the end of it.
#include <gtest/gtest.h>
#include <pthread.h>

#include <fstream>
#include <string>

#include "support/sandbox.h"
#include "tracker/tracker.h"

namespace tracker::internal {
namespace {

constexpr size_t kNul = TRK_NUL_TERMINATED;
constexpr int64_t kWaitMs = 20'000;

struct CancelledCalls {
  std::string file;
  bool came_back = false;
};

void call_everything(const CancelledCalls& given) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "cancel";
  options.quiet = 1;
  trk_run* run = nullptr;
  ASSERT_EQ(trk_init(&options, &run, nullptr), TRK_OK);
  trk_value value{};
  value.type = TRK_I64;
  const trk_point points[] = {{"x", kNul, value}, {"y", kNul, value}};
  EXPECT_EQ(trk_log(run, points, 2, 0), TRK_OK);
  EXPECT_EQ(trk_log_f64(run, "z", kNul, 1, 0), TRK_OK);
  EXPECT_EQ(trk_log_f64(run, "", 0, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_metric_log_f32(trk_metric_open(run, "m", kNul, nullptr), 1, 0), TRK_OK);
  EXPECT_EQ(trk_log_text(run, "t", "text", kNul, 0), TRK_OK);
  EXPECT_EQ(trk_config_set(run, "c", kNul, &value), TRK_OK);
  EXPECT_EQ(trk_summary_set(run, "s", kNul, &value), TRK_OK);
  EXPECT_EQ(trk_define_metric(run, "x", nullptr, "min", nullptr, nullptr), TRK_OK);
  EXPECT_EQ(trk_alert(run, "title", kNul, "text", kNul, nullptr), TRK_OK);
  EXPECT_EQ(trk_should_stop(run), 0);
  EXPECT_EQ(trk_stop_reason(run, nullptr, 0), 0U);
  EXPECT_EQ(trk_log_media(run, "html", kNul, 0, "html", "<p>", 3, "html", nullptr), TRK_OK);
  trk_artifact* artifact = trk_artifact_new("a", "t", nullptr);
  EXPECT_EQ(trk_artifact_add_file(artifact, given.file.c_str(), nullptr, nullptr), TRK_OK);
  EXPECT_EQ(trk_log_artifact(run, artifact, nullptr, nullptr), TRK_OK);
  EXPECT_EQ(trk_artifact_wait(artifact, kWaitMs, nullptr), TRK_OK);
  EXPECT_EQ(trk_wait_artifacts(run, kWaitMs), TRK_OK);
  EXPECT_EQ(trk_artifact_download(artifact, (given.file + ".folder").c_str(), nullptr, 0, nullptr), TRK_OK);
  trk_artifact_free(artifact);
  trk_artifact* used = trk_use_artifact(run, "a:latest", nullptr, nullptr);
  EXPECT_NE(used, nullptr);
  trk_artifact_free(used);
  trk_status status = TRK_STATUS_INIT;
  EXPECT_EQ(trk_get_status(run, &status), TRK_OK);
  EXPECT_EQ(trk_flush(run, kWaitMs), TRK_OK);
  EXPECT_EQ(trk_mark_preempting(run), TRK_OK);
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  EXPECT_EQ(trk_log(run, points, 2, 1), TRK_CLOSED);
  trk_free(run);
}

// Bug: it was unwound out of a function that is noexcept, and the process aborted.
TEST(CancelTest, AThreadThatIsCancelledIsSoBehindTheCall) {
  const Sandbox sandbox;
  CancelledCalls calls;
  calls.file = sandbox.folder() + "/file";
  std::ofstream(calls.file) << "text";
  const auto body = [](void* argument) -> void* {
    auto* given = static_cast<CancelledCalls*>(argument);
    ::pthread_cancel(::pthread_self());
    call_everything(*given);
    given->came_back = true;
    ::pthread_testcancel();
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, nullptr, body, &calls), 0);
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_TRUE(calls.came_back);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace tracker::internal
