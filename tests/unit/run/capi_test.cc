// SPDX-License-Identifier: MIT
// Misuse of the C ABI is answered, never crashes, and is counted where a point was meant. Method: each function with
// NULL, bad names, bad sizes and after finish; options of every older size; values of every type read back bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr size_t kNul = TRK_NUL_TERMINATED;

trk_value number(double value) {
  trk_value out{};
  out.type = TRK_F64;
  out.as.f64 = value;
  return out;
}

TEST(CApiTest, NullEverywhereIsRefused) {
  const trk_value one = number(1);
  trk_status status = TRK_STATUS_INIT;
  trk_point point{"x", kNul, one};
  EXPECT_EQ(trk_init(nullptr, nullptr, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log(nullptr, &point, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_log_f64(nullptr, "x", kNul, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_log_i64(nullptr, "x", kNul, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_log_text(nullptr, "x", "t", kNul, 0), TRK_INVALID);
  trk_error error = TRK_ERROR_INIT;
  EXPECT_EQ(trk_metric_open(nullptr, "x", kNul, &error), nullptr);
  EXPECT_EQ(error.code, TRK_INVALID);
  EXPECT_EQ(trk_metric_log_f64(nullptr, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_metric_log_f32(nullptr, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_metric_log_i64(nullptr, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_metric_log_bool(nullptr, 1, 0), TRK_INVALID);
  EXPECT_EQ(trk_config_set(nullptr, "x", kNul, &one), TRK_INVALID);
  EXPECT_EQ(trk_summary_set(nullptr, "x", kNul, &one), TRK_INVALID);
  EXPECT_EQ(trk_flush(nullptr, 1), TRK_INVALID);
  EXPECT_EQ(trk_finish(nullptr, 0, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_mark_preempting(nullptr), TRK_INVALID);
  EXPECT_EQ(trk_get_status(nullptr, &status), TRK_INVALID);
  trk_free(nullptr);
  EXPECT_STREQ(trk_run_id(nullptr), "");
  EXPECT_STREQ(trk_run_uid(nullptr), "");
  EXPECT_STREQ(trk_run_name(nullptr), "");
  EXPECT_STREQ(trk_run_project(nullptr), "");
  EXPECT_STREQ(trk_run_dir(nullptr), "");
  EXPECT_EQ(trk_run_step(nullptr), INT64_MIN);
  EXPECT_STRNE(trk_code_name(static_cast<trk_code>(15)), nullptr);
}

TEST(CApiTest, OptionsOfEveryOlderHeaderAreTaken) {
  Sandbox sandbox;
  const size_t sizes[] = {offsetof(trk_init_options, name), offsetof(trk_init_options, tags),
                          offsetof(trk_init_options, mode), offsetof(trk_init_options, on_full),
                          offsetof(trk_init_options, rank), sizeof(trk_init_options)};
  for (const size_t size : sizes) {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.size = size;
    options.project = "p";
    options.name = "named";
    options.mode = "disabled";
    // What lies after the end that the caller gave must not be read.
    if (size <= offsetof(trk_init_options, on_full)) options.on_full = reinterpret_cast<const char*>(1);
    if (size <= offsetof(trk_init_options, mode))
      options.mode = reinterpret_cast<const char*>(1), ::setenv("TRACKER_MODE", "disabled", 1);
    trk_run* run = nullptr;
    EXPECT_EQ(trk_init(&options, &run, nullptr), TRK_OK) << size;
    EXPECT_STREQ(trk_run_project(run), "p");
    trk_free(run);
    ::unsetenv("TRACKER_MODE");
  }
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  trk_error error = TRK_ERROR_INIT;
  trk_run* run = nullptr;
  for (const size_t size : {size_t{0}, size_t{8}, size_t{1} << 40}) {
    options.size = size;
    EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
    EXPECT_THAT(error.message, ::testing::HasSubstr("TRK_INIT_OPTIONS_INIT"));
  }
  options = TRK_INIT_OPTIONS_INIT;
  options.project = "";
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_THAT(error.message, ::testing::HasSubstr("project is empty"));
  options = TRK_INIT_OPTIONS_INIT;
  options.on_sigterm = "finish";
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_THAT(error.message, ::testing::HasSubstr("on_sigterm=\"finish\": expected one of \"mark\""));
  options.on_sigterm = nullptr;
  options.on_exit = "later";
  EXPECT_EQ(trk_init(&options, &run, &error), TRK_INVALID);
  EXPECT_THAT(error.message, ::testing::HasSubstr("expected one of \"finish\", \"leave\""));
}

// The signal passes on to what was there before, here the end of the process; a run that is left has no end.
TEST(CApiTest, SigtermMarksARunThatAskedForItAndAnExitMayLeaveOne) {
  Sandbox sandbox;
  const auto open = [](const char* id, const char* on_sigterm, const char* on_exit) {
    trk_init_options options = TRK_INIT_OPTIONS_INIT;
    options.project = "p";
    options.id = id;
    options.quiet = 1;
    options.on_sigterm = on_sigterm;
    options.on_exit = on_exit;
    static auto* opened = new std::vector<trk_run*>;  // a run that is open at the exit and lies nowhere is a leak
    trk_run* run = nullptr;
    CHILD_CHECK(trk_init(&options, &run, nullptr) == TRK_OK);
    CHILD_CHECK(trk_log_f64(run, "x", kNul, 1, 0) == TRK_OK);
    return opened->emplace_back(run);
  };
  EXPECT_EQ(exit_code_of(run_child([&] {
              (void)open("marked", "mark", nullptr);
              (void)open("other", nullptr, nullptr);
              ::raise(SIGTERM);
              return 0;
            })),
            -1 - SIGTERM);
  EXPECT_EQ(exit_code_of(run_child([&]() -> int {
              (void)open("left", nullptr, "leave");
              CHILD_CHECK(trk_mark_preempting(open("called", nullptr, "finish")) == TRK_OK);
              ::exit(3);
            })),
            3);
  const auto state = [&](const char* id) {
    return run_state_name(recover_and_read(sandbox.store(), id).view->state());
  };
  EXPECT_STREQ(state("marked"), "preempted");
  EXPECT_STREQ(state("other"), "crashed");
  EXPECT_STREQ(state("left"), "crashed");
  EXPECT_STREQ(state("called"), "preempted");
}

// A run whose threads are this process's; gtest runs each test in a process of its own under ctest.
class CApiRunTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(run = open_run("r"), nullptr); }
  void TearDown() override { trk_free(run); }
  Sandbox sandbox;
  trk_run* run = nullptr;
};

TEST_F(CApiRunTest, BadNamesAreRefusedAndCountedAndTheOtherKeysAreKept) {
  const std::string huge(1 << 20, 'n'), edge(1024, 'n'), nul("a\0b", 3),
      latin(
          "gr\xf6\xdf"
          "e");
  const std::pair<const char*, size_t> bad[] = {{nullptr, 0},       {nullptr, kNul},      {"", 0},
                                                {nul.data(), 3},    {latin.data(), kNul}, {huge.data(), huge.size()},
                                                {edge.data(), 1025}};
  uint64_t rejected = 0;
  for (const auto& [name, size] : bad) {
    if (size == 1025) continue;
    EXPECT_EQ(trk_log_f64(run, name, size, 1, 0), TRK_INVALID) << size;
    EXPECT_EQ(trk_log_i64(run, name, size, 1, 0), TRK_INVALID);
    trk_error error = TRK_ERROR_INIT;
    EXPECT_EQ(trk_metric_open(run, name, size, &error), nullptr);
    EXPECT_EQ(error.code, TRK_INVALID);
    const trk_point points[] = {{"good", kNul, number(1)}, {name, size, number(2)}, {"fine", kNul, number(3)}};
    EXPECT_EQ(trk_log(run, points, 3, 0), TRK_INVALID);
    rejected += 3;
  }
  EXPECT_EQ(trk_log_f64(run, edge.data(), edge.size(), 1, 0), TRK_OK);
  const trk_status status = status_of(run);
  EXPECT_EQ(status.values_rejected, rejected);
  EXPECT_EQ(status.points_logged, 2u * 6 + 1);
}

TEST_F(CApiRunTest, BadValuesAreRefusedAndCounted) {
  trk_value bad = number(1);
  bad.type = 99;
  const trk_point points[] = {{"a", kNul, number(1)}, {"b", kNul, bad}, {"c", kNul, number(1)}};
  EXPECT_EQ(trk_log(run, points, 3, 0), TRK_INVALID);
  EXPECT_EQ(trk_log(run, nullptr, 3, 0), TRK_INVALID);
  EXPECT_EQ(trk_log(run, nullptr, 0, 0), TRK_OK);
  EXPECT_EQ(trk_config_set(run, "k", kNul, &bad), TRK_INVALID);
  EXPECT_EQ(trk_config_set(run, "k", kNul, nullptr), TRK_INVALID);
  EXPECT_EQ(trk_config_set(run, nullptr, 0, &bad), TRK_INVALID);
  const trk_value good = number(1);
  EXPECT_EQ(trk_config_set(run, "", 0, &good), TRK_INVALID);
  EXPECT_EQ(trk_summary_set(run, "", 0, &good), TRK_INVALID);
  trk_status short_one = TRK_STATUS_INIT;
  short_one.size = offsetof(trk_status, points_stored);
  short_one.points_stored = 12345;
  EXPECT_EQ(trk_get_status(run, &short_one), TRK_OK);
  EXPECT_EQ(short_one.points_logged, 2u);
  EXPECT_EQ(short_one.points_stored, 12345u) << "not written after its end";
  EXPECT_EQ(status_of(run).values_rejected, 2u) << "b and the empty key of the summary";
}

TEST_F(CApiRunTest, AfterFinishEveryCallSaysClosed) {
  trk_metric* metric = trk_metric_open(run, "x", kNul, nullptr);
  EXPECT_EQ(trk_metric_log_f64(metric, 1, 1), TRK_OK);
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  EXPECT_EQ(trk_finish(run, 1, "again"), TRK_OK);
  EXPECT_EQ(trk_flush(run, 100), TRK_OK);
  const trk_value one = number(1);
  const trk_point point{"x", kNul, one};
  EXPECT_EQ(trk_metric_log_f64(metric, 1, 2), TRK_CLOSED);
  EXPECT_EQ(trk_log_f64(run, "x", kNul, 1, 2), TRK_CLOSED);
  EXPECT_EQ(trk_log_f64(run, "new", kNul, 1, 2), TRK_CLOSED);
  EXPECT_EQ(trk_log(run, &point, 1, 2), TRK_CLOSED);
  EXPECT_EQ(trk_log_text(run, "t", "text", kNul, 2), TRK_CLOSED);
  EXPECT_EQ(trk_config_set(run, "k", kNul, &one), TRK_CLOSED);
  EXPECT_EQ(trk_mark_preempting(run), TRK_CLOSED);
  EXPECT_EQ(trk_flush(run, 100), TRK_CLOSED) << "not all that was logged is stored";
  const trk_status status = status_of(run);
  EXPECT_EQ(status.recording, 0);
  EXPECT_EQ(status.points_stored, 1u);
  EXPECT_EQ(status.points_dropped, 4u) << "numbers logged after the end, also of a metric that is new";
  EXPECT_EQ(status.points_logged, 5u);
  EXPECT_EQ(status.texts_dropped, 1u);
  EXPECT_EQ(status.texts_logged, 1u);
}

TEST_F(CApiRunTest, AutomaticStepsAreOneBehindTheLargest) {
  trk_metric* metric = trk_metric_open(run, "x", kNul, nullptr);
  EXPECT_EQ(trk_run_step(run), INT64_MIN);
  const auto log_auto = [&] {
    EXPECT_EQ(trk_metric_log_f64(metric, 1, TRK_STEP_AUTO), TRK_OK);
    return trk_run_step(run);
  };
  EXPECT_EQ(log_auto(), 0);
  EXPECT_EQ(log_auto(), 1);
  EXPECT_EQ(trk_metric_log_f64(metric, 1, 100), TRK_OK);
  EXPECT_EQ(trk_metric_log_f64(metric, 1, 50), TRK_OK);
  EXPECT_EQ(log_auto(), 101);
  EXPECT_EQ(trk_log_text(run, "t", "small", kNul, 200), TRK_OK);
  EXPECT_EQ(log_auto(), 201);
  EXPECT_EQ(trk_log_text(run, "t", std::string(200'000, 't').c_str(), kNul, 300), TRK_OK);
  EXPECT_EQ(log_auto(), 301) << "a text too large for a ring counts too";
}

TEST_F(CApiRunTest, TextsUpToTheirLimitAreKeptAndLargerOnesCounted) {
  const size_t sizes[] = {0, 65'536, 65'537, 1 << 20, 5 << 20};
  for (const size_t size : sizes)
    EXPECT_EQ(trk_log_text(run, "t", std::string(size, 't').data(), size, static_cast<int64_t>(size)), TRK_OK);
  ASSERT_EQ(trk_flush(run, 30'000), TRK_OK);
  EXPECT_EQ(trk_log_text(run, "t", std::string(17u << 20, 't').data(), 17u << 20, 1), TRK_LIMIT);
  EXPECT_EQ(status_of(run).points_dropped, 0u);
  EXPECT_EQ(status_of(run).texts_dropped, 1u);
  EXPECT_EQ(status_of(run).texts_stored, std::size(sizes));
  ASSERT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  ReadRun read = recover_and_read(sandbox.store());
  auto texts = read.view->texts("t", true);
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), std::size(sizes));
  for (const TextRow& row : *texts) EXPECT_EQ(static_cast<int64_t>(row.text.size()), row.step);
}

TEST_F(CApiRunTest, NumbersOfEveryTypeComeBackBitForBit) {
  const double doubles[] = {0.0,
                            -0.0,
                            1e-310,
                            std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::bit_cast<double>(0x7ff8dead00beef01ull)};
  const int64_t ints[] = {0, -1, INT64_MAX, INT64_MIN};
  int64_t step = INT64_MAX - 20;
  const auto at = [&] { return step++; };
  for (const double value : doubles) {
    EXPECT_EQ(trk_log_f64(run, "f64", kNul, value, at()), TRK_OK);
    EXPECT_EQ(trk_metric_log_f32(trk_metric_open(run, "f32", kNul, nullptr), static_cast<float>(value), step - 1),
              TRK_OK);
  }
  for (const int64_t value : ints) EXPECT_EQ(trk_log_i64(run, "i64", kNul, value, at()), TRK_OK);
  for (const uint64_t bits : {0x3c01ull, 0xfc00ull, 0x7e01ull}) {
    trk_point points[2] = {{"f16", kNul, {TRK_F16, 0, {.u64 = bits}}}, {"bf16", kNul, {TRK_BF16, 0, {.u64 = bits}}}};
    EXPECT_EQ(trk_log(run, points, 2, at()), TRK_OK);
  }
  EXPECT_EQ(trk_metric_log_bool(trk_metric_open(run, "bool", kNul, nullptr), 7, -5), TRK_OK);
  ASSERT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  ReadRun read = recover_and_read(sandbox.store());
  const History f64 = rows_of(read, "f64"), f32 = rows_of(read, "f32"), i64 = rows_of(read, "i64");
  ASSERT_EQ(f64.size(), std::size(doubles));
  for (size_t i = 0; i < f64.size(); ++i) {
    EXPECT_EQ(f64.bits[i], std::bit_cast<uint64_t>(doubles[i]));
    EXPECT_EQ(f32.bits.at(i), std::bit_cast<uint32_t>(static_cast<float>(doubles[i])));
    EXPECT_EQ(f64.steps[i], INT64_MAX - 20 + static_cast<int64_t>(i));
  }
  ASSERT_EQ(i64.size(), std::size(ints));
  for (size_t i = 0; i < i64.size(); ++i) EXPECT_EQ(static_cast<int64_t>(i64.bits[i]), ints[i]);
  EXPECT_EQ(i64.type, ValueType::kInt64);
  EXPECT_EQ(rows_of(read, "f16").bits, (std::vector<uint64_t>{0x3c01, 0xfc00, 0x7e01}));
  EXPECT_EQ(rows_of(read, "bf16").bits, (std::vector<uint64_t>{0x3c01, 0xfc00, 0x7e01}));
  EXPECT_EQ(rows_of(read, "bool").bits, (std::vector<uint64_t>{1}));
  EXPECT_EQ(rows_of(read, "bool").steps, (std::vector<int64_t>{-5}));
}

TEST_F(CApiRunTest, MetricsAreFreedWithTheirRunAndAFinishedRunLeavesTheNextAlone) {
  trk_metric* old = trk_metric_open(run, "x", kNul, nullptr);
  EXPECT_EQ(trk_metric_log_f64(old, 1, 1), TRK_OK);
  EXPECT_EQ(trk_finish(run, 0, nullptr), TRK_OK);
  trk_run* next = open_run("next");
  ASSERT_NE(next, nullptr);
  trk_metric* fresh = trk_metric_open(next, "y", kNul, nullptr);
  EXPECT_EQ(trk_metric_log_f64(fresh, 2, 1), TRK_OK);
  EXPECT_EQ(trk_metric_log_f64(old, 3, 2), TRK_CLOSED) << "not into the other run's ring";
  EXPECT_EQ(trk_finish(next, 0, nullptr), TRK_OK);
  EXPECT_EQ(status_of(next).points_stored, 1u);
  trk_free(next);
}

}  // namespace
}  // namespace tracker::internal
