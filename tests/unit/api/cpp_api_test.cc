// SPDX-License-Identifier: MIT
// Goal: tracker.hpp does what its comments say. Method: runs made through the shared library in a folder of their own,
// read back by the readers' code of this tree.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracker/tracker.hpp>

#include <cmath>
#include <limits>
#include <thread>
#include <type_traits>

#include "query/view/run_view.h"
#include "support/conditions.h"
#include "support/store_builder.h"
#include "unit/api/plain_user.h"

namespace {

using tracker::Code;
using tracker::Metric;

using tracker::internal::History;
using tracker::internal::RunState;
using tracker::internal::RunView;
using tracker::internal::Store;
using tracker::internal::to_json;
using tracker::internal::ValueType;

static_assert(!std::is_copy_constructible_v<tracker::Run> && std::is_nothrow_move_constructible_v<tracker::Run>);
static_assert(noexcept(std::declval<const Metric&>().log(0.5, 1)));
static_assert(noexcept(std::declval<const tracker::Run&>().log(std::string_view(), 0.5, 1)));

class CppApiTest : public testing::Test {
 protected:
  std::string dir() const { return folder_.path() + "/store"; }
  tracker::InitOptions options() const { return {.project = "mnist", .dir = dir(), .quiet = true}; }

  std::unique_ptr<RunView> view(const std::string& id) const {
    auto store = Store::open(dir());
    EXPECT_TRUE(store.ok()) << store.status().to_string();
    auto folder = store->resolve_run("mnist/" + id);
    EXPECT_TRUE(folder.ok()) << folder.status().to_string();
    auto opened = RunView::open(*folder);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return std::move(*opened);
  }
  static std::vector<double> doubles(const History& history) {
    std::vector<double> out;
    for (size_t row = 0; row < history.size(); ++row)
      out.push_back(tracker::internal::to_double(history.row_type(row), history.row_bits(row)));
    return out;
  }

 private:
  tracker::internal::TempFolder folder_;
};

using Steps = std::vector<int64_t>;
using Doubles = std::vector<double>;

// An empty project counted as not given, and what followed a NUL was cut off.
TEST_F(CppApiTest, AnEmptyProjectAndANulAreRefusedWithAMessage) {
  EXPECT_TRUE(tracker::try_init({.dir = dir(), .quiet = true}).ok());
  for (const auto& [given, expected] :
       {std::pair<tracker::InitOptions, const char*>{{.project = "", .dir = dir()}, "project is empty"},
        {{.project = "  ", .dir = dir()}, "project is blank"},
        {{.project = std::string("a\0b", 3), .dir = dir()}, "NUL character: \"a\""},
        {{.project = "p", .notes = std::string("n\0", 2), .dir = dir()}, "NUL character: \"n\""},
        {{.project = "p", .tags = {std::string("t\0", 2)}, .dir = dir()}, "NUL character: \"t\""}}) {
    const auto run = tracker::try_init(given);
    EXPECT_EQ(run.code(), Code::kInvalid) << expected;
    EXPECT_NE(run.error().find(expected), std::string::npos) << run.error();
  }
}

TEST_F(CppApiTest, AForkedChildThatAttachesRecordsThroughItsRunAndMetrics) {
  NEEDS(tracker::internal::kThreadsInForkedChildren);
  auto given = options();
  given.id = "forked";
  auto run = tracker::init(given);
  const Metric other = run.metric("other"), x = run.metric("x");
  other.log(1, 0);
  x.log(0, 0);
  std::string error;
  EXPECT_EQ(run.attach(&error), Code::kInvalid);
  EXPECT_NE(error.find("records the run already"), std::string::npos);
  const pid_t child = ::fork();
  if (child == 0) {
    bool ok = x.log(1, 1) == Code::kClosed && run.attach() == Code::kOk;
    ok = ok && x.log(1, 1) == Code::kOk && run.log("y", 2, 1) == Code::kOk && run.finish() == Code::kOk;
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  run.finish();
  EXPECT_EQ(doubles(*view("forked")->history("x")), (Doubles{0, 1}));
  EXPECT_EQ(doubles(*view("forked")->history("y")), (Doubles{2}));
  EXPECT_EQ(doubles(*view("forked")->history("other")), (Doubles{1}));
}

TEST_F(CppApiTest, AResumeFromAStepShadowsWhatWasLoggedAfterIt) {
  auto first = options();
  first.id = "base";
  {
    auto run = tracker::init(first);
    for (int step = 0; step <= 10; ++step) run.log("x", step, step);
  }
  auto again = options();
  again.resume_from = "base@4";
  auto run = tracker::init(again);
  EXPECT_EQ(run.step(), 4);
  run.log("x", 100);
  run.finish();
  EXPECT_EQ(doubles(*view("base")->history("x")), (Doubles{0, 1, 2, 3, 4, 100}));
  again.resume_from = "base@soon";
  EXPECT_NE(tracker::try_init(again).error().find("no whole number"), std::string::npos);
}

TEST_F(CppApiTest, ADefinedMetricIsInTheSummaryAsDefined) {
  auto run = tracker::init(options());
  EXPECT_EQ(run.define_metric("loss*", {.summary = {"best", "last"}, .goal = "minimize"}), Code::kOk);
  std::string error;
  EXPECT_EQ(run.define_metric("loss", {.summary = {"best"}}, &error), Code::kInvalid);
  EXPECT_NE(error.find("needs goal"), std::string::npos);
  for (const double v : {3.0, 1.0, 2.0}) run.log("loss", v);
  run.finish();
  EXPECT_EQ(to_json(view(std::string(run.id()))->summary()), R"({"loss":1.0,"loss.best":1.0,"loss.last":2.0})");
}

TEST_F(CppApiTest, TheSampleOfTheDocumentationRecordsWhatItSays) {
  std::string id;
  {
    auto run =
        tracker::init({.project = "mnist", .config = {{"lr", 0.1}, {"net/name", "mlp"}}, .dir = dir(), .quiet = true});
    id = run.id();
    auto loss = run.metric("train/loss");
    EXPECT_EQ(loss.log(0.5, 1), Code::kOk);
    EXPECT_EQ(run.log({{"train/loss", 0.25}, {"train/acc", 0.9}}, 2), Code::kOk);
    EXPECT_EQ(run.finish(), Code::kOk);
  }
  const auto seen = view(id);
  EXPECT_EQ(seen->state(), RunState::kFinished);
  EXPECT_EQ(doubles(*seen->history("train/loss")), (Doubles{0.5, 0.25}));
  EXPECT_EQ(seen->history("train/loss")->steps, (Steps{1, 2}));
  EXPECT_EQ(doubles(*seen->history("train/acc")), (Doubles{0.9}));
  EXPECT_EQ(to_json(seen->config()), R"({"lr":0.1,"net":{"name":"mlp"}})");
}

TEST_F(CppApiTest, EachTypeKeepsItsKindAndItsBits) {
  tracker::Run run = tracker::init(options());
  const std::string id(run.id());
  run.log({{"f64", 0.1}, {"f32", 0.1f}, {"i64", INT64_MIN}, {"flag", true}, {"note", "héllo"}}, -3);
  run.metric("handle/f32").log(std::numeric_limits<float>::denorm_min(), 0);
  run.metric("handle/bool").log(false, 0);
  run.metric("handle/u64").log(std::numeric_limits<uint64_t>::max(), 0);
  run.metric("handle/char").log(uint8_t{7}, 0);
  run.log("name/i64", 42, 0);
  run.log("name/text", std::string("words"), 0);
  run.metric("nan").log(std::nan(""), 0);
  run.finish();
  const auto seen = view(id);
  EXPECT_EQ(seen->history("f64")->type, ValueType::kFloat64);
  EXPECT_EQ(seen->history("f32")->type, ValueType::kFloat32);
  EXPECT_EQ(seen->history("f32")->bits[0], tracker::internal::bits_of(0.1f));
  EXPECT_EQ(seen->history("i64")->type, ValueType::kInt64);
  EXPECT_EQ(static_cast<int64_t>(seen->history("i64")->bits[0]), INT64_MIN);
  EXPECT_EQ(seen->history("flag")->type, ValueType::kBool);
  EXPECT_EQ(seen->history("f64")->steps, (Steps{-3}));
  EXPECT_EQ(seen->texts("note")->at(0).text, "héllo");
  EXPECT_EQ(seen->texts("name/text")->at(0).text, "words");
  EXPECT_EQ(seen->history("handle/f32")->bits[0], 1u);
  EXPECT_EQ(seen->history("handle/bool")->type, ValueType::kBool);
  EXPECT_EQ(seen->history("handle/u64")->type, ValueType::kFloat64);
  EXPECT_EQ(seen->history("handle/char")->type, ValueType::kInt64);
  EXPECT_EQ(seen->history("name/i64")->type, ValueType::kInt64);
  EXPECT_TRUE(std::isnan(doubles(*seen->history("nan"))[0]));
}

TEST_F(CppApiTest, WithoutAStepTheNextOneOfTheRunIsTaken) {
  tracker::Run run = tracker::init(options());
  const std::string id(run.id());
  EXPECT_EQ(run.step(), tracker::kAutoStep);
  const Metric loss = run.metric("loss");
  loss.log(0.0);
  loss.log(1.0, 10);
  loss.log(2.0);
  run.log({{"loss", 3.0}});
  run.log("loss", 4.0);
  EXPECT_EQ(run.step(), 13);
  run.finish();
  EXPECT_EQ(view(id)->history("loss")->steps, (Steps{0, 10, 11, 12, 13}));
}

TEST_F(CppApiTest, ADestructorFinishesTheRun) {
  std::string id;
  {
    tracker::Run run = tracker::init(options());
    id = run.id();
    run.log("loss", 1.0, 0);
  }
  EXPECT_EQ(view(id)->state(), RunState::kFinished);
}

TEST_F(CppApiTest, AnExceptionThatEndsTheScopeFailsTheRun) {
  std::string id;
  try {
    tracker::Run run = tracker::init(options());
    id = run.id();
    run.log("loss", 1.0, 0);
    throw std::runtime_error("out of data");
  } catch (const std::runtime_error&) {}
  EXPECT_EQ(view(id)->state(), RunState::kFailed);
  EXPECT_EQ(doubles(*view(id)->history("loss")), (Doubles{1.0}));
}

// A destructor that runs while another exception unwinds records its own run as finished.
TEST_F(CppApiTest, ARunMadeWhileAnotherExceptionUnwindsIsFinished) {
  struct RecordsOnExit {
    tracker::InitOptions options;
    std::string* id;
    ~RecordsOnExit() {
      tracker::Run run = tracker::init(options);
      *id = run.id();
    }
  };
  std::string id;
  try {
    const RecordsOnExit guard{options(), &id};
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {}
  EXPECT_EQ(view(id)->state(), RunState::kFinished);
}

TEST_F(CppApiTest, AMovedRunGoesOnAndTheOldOneTakesEveryCall) {
  tracker::Run first = tracker::init(options());
  const std::string id(first.id());
  const Metric loss = first.metric("loss");
  tracker::Run second = std::move(first);
  EXPECT_FALSE(first.ok());  // NOLINT(bugprone-use-after-move): what it does then is documented
  EXPECT_EQ(first.log("loss", 9.0, 0), Code::kInvalid);
  EXPECT_EQ(first.status().journal, "none");
  EXPECT_EQ(loss.log(1.0, 0), Code::kOk);
  second = tracker::init(options());  // ends the run that it held
  EXPECT_EQ(view(id)->state(), RunState::kFinished);
  EXPECT_EQ(doubles(*view(id)->history("loss")), (Doubles{1.0}));
}

TEST_F(CppApiTest, StatusAccountsForEveryPoint) {
  tracker::Run run = tracker::init(options());
  for (int step = 0; step < 100; ++step) run.log({{"a", step}, {"b", 0.5}}, step);
  ASSERT_TRUE(run.flush());
  const tracker::Status status = run.status();
  EXPECT_EQ(status.points_logged, 200u);
  EXPECT_EQ(status.points_stored, 200u);
  EXPECT_EQ(status.points_dropped + status.points_pending, 0u);
  EXPECT_TRUE(status.recording);
  EXPECT_FALSE(status.degraded);
  EXPECT_GT(status.bytes_stored, 0u);
  run.finish();
  EXPECT_FALSE(run.status().recording);
  EXPECT_EQ(run.log("a", 1, 100), Code::kClosed);
}

TEST_F(CppApiTest, ThreadsShareOneHandle) {
  tracker::Run run = tracker::init(options());
  const std::string id(run.id());
  const Metric loss = run.metric("loss");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([loss, thread] {
      for (int i = 0; i < 1000; ++i) loss.log(0.5, thread * 1000 + i);
    });
  for (std::thread& thread : threads) thread.join();
  run.finish();
  EXPECT_EQ(view(id)->history("loss", true)->size(), 4000u);
}

TEST_F(CppApiTest, ABadNameIsRefusedAndTheOtherKeysAreKept) {
  tracker::Run run = tracker::init(options());
  const std::string id(run.id());
  EXPECT_FALSE(run.metric("").ok());
  EXPECT_EQ(run.metric("").log(1.0, 0), Code::kInvalid);
  EXPECT_EQ(run.log({{"", 1.0}, {"loss", 2.0}}, 0), Code::kInvalid);
  EXPECT_EQ(run.set_config("", 1), Code::kInvalid);
  run.finish();
  EXPECT_EQ(doubles(*view(id)->history("loss")), (Doubles{2.0}));
}

TEST_F(CppApiTest, AnExplicitSummaryWinsOverTheLastValue) {
  tracker::Run run = tracker::init(options());
  const std::string id(run.id());
  run.log("acc", 0.9, 0);
  run.set_summary("acc", 0.95);
  run.set_summary("verdict", "good");
  run.set_config({{"late/a", 1}, {"late/b", true}});
  run.log("acc", 0.1, 1);
  run.finish();
  const auto seen = view(id);
  EXPECT_EQ(to_json(seen->summary()), R"({"acc":0.95,"verdict":"good"})");
  EXPECT_EQ(to_json(seen->config()), R"({"late":{"a":1,"b":true}})");
}

TEST_F(CppApiTest, ResumeAddsAnAttemptToTheSameRun) {
  tracker::InitOptions same = options();
  same.id = "one";
  same.resume = "allow";
  std::string uid;
  {
    tracker::Run run = tracker::init(same);
    uid = run.uid();
    run.log("loss", 1.0, 5);
  }
  tracker::Run run = tracker::init(same);
  EXPECT_EQ(run.uid(), uid);
  EXPECT_EQ(run.step(), 5);
  run.log("loss", 2.0);
  run.finish();
  EXPECT_EQ(view("one")->history("loss")->steps, (Steps{5, 6}));
}

TEST_F(CppApiTest, ADisabledRunTakesEveryCallAndStoresNothing) {
  tracker::Run run = tracker::init({.project = "mnist", .mode = "disabled", .dir = dir()});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.metric("loss").log(1.0, 0), Code::kClosed);
  EXPECT_EQ(run.log({{"loss", 1.0}}, 0), Code::kClosed);
  EXPECT_TRUE(run.flush());
  EXPECT_EQ(run.finish(), Code::kOk);
  EXPECT_FALSE(Store::open(dir()).ok());
}

TEST_F(CppApiTest, MissingRunToResumeIsAnErrorByName) {
  tracker::InitOptions missing = options();
  missing.id = "absent";
  missing.resume = "must";
  try {
    const tracker::Run run = tracker::init(missing);
    FAIL() << "init() took a run that does not exist";
  } catch (const tracker::Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find("absent"), std::string::npos) << error.what();
  }
  EXPECT_EQ(tracker::try_init(missing).code(), Code::kNotFound);
}

TEST_F(CppApiTest, CodeWithAndWithoutExceptionsLivesInOneProgram) {
  const UserResult with = use_with_exceptions(dir());
  EXPECT_TRUE(with.threw);
  EXPECT_EQ(with.code, TRK_INVALID);
  EXPECT_NE(with.message.find("sometimes"), std::string::npos) << with.message;
  EXPECT_EQ(with.logged, 3);
  const UserResult without = use_without_exceptions(dir());
  EXPECT_FALSE(without.ok);
  EXPECT_EQ(without.code, TRK_INVALID);
  EXPECT_EQ(without.message, with.message);
  EXPECT_EQ(without.logged, 3);
  EXPECT_EQ(with.version, 0);
  EXPECT_EQ(without.version, 0) << "the same content is the same version";
}

TEST_F(CppApiTest, AMetricHasItsAccountAndTheRunItsCost) {
  tracker::Run run = tracker::init(options());
  const Metric loss = run.metric("loss");
  for (int64_t step = 0; step < 50; ++step) loss.log(0.5, step);
  EXPECT_EQ(run.series_status("loss")->points_logged, 50u);
  EXPECT_FALSE(run.series_status("never"));
  EXPECT_FALSE(run.series_status(""));
  ASSERT_TRUE(run.flush());
  EXPECT_EQ(run.series_status("loss")->points_stored, 50u);
  const tracker::Status status = run.status();
  EXPECT_GT(status.cost.in_calls.count(), 0);
  EXPECT_GT(status.cost.memory_bytes_max, 0u);
  EXPECT_FALSE(status.disk_full);
}

TEST_F(CppApiTest, NothingIsHiddenOfWhatThreadsLogWithoutAStep) {
  tracker::InitOptions given = options();
  given.id = "auto";
  given.on_full = "block";
  tracker::Run run = tracker::init(given);
  const Metric loss = run.metric("loss");
  constexpr int kThreads = 4, kCalls = 20000;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([loss, &run, thread] {
      for (int i = 0; i < kCalls; ++i) {
        if (thread % 2 == 0) loss.log(0.5);
        else run.log("loss", 0.5);
      }
    });
  for (std::thread& thread : threads) thread.join();
  run.finish();
  const auto history = view("auto")->history("loss", false);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->size(), size_t{kThreads * kCalls});
  EXPECT_EQ(history->steps.back(), kThreads * kCalls - 1);
}

TEST_F(CppApiTest, AForkedChildGetsErrorsFromFlushAndDefine) {
  tracker::InitOptions given = options();
  given.id = "forked";
  tracker::Run run = tracker::init(given);
  run.log("loss", 0.5, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool closed = run.log("loss", 1.0, 1) == Code::kClosed && !run.flush() &&
                        run.define_metric("loss", {.summary = {"min"}}) == Code::kClosed;
    ::_exit(closed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(run.flush());
}

TEST_F(CppApiTest, ABadMaxDiskIsAnErrorThatSaysWhatWasExpected) {
  tracker::InitOptions given = options();
  given.max_disk = "64MiB";
  EXPECT_TRUE(tracker::try_init(given).ok());
  given.max_disk = "a lot";
  const tracker::Run run = tracker::try_init(given);
  EXPECT_EQ(run.code(), Code::kInvalid);
  EXPECT_NE(run.error().find("max_disk=\"a lot\": expected a number of bytes"), std::string::npos) << run.error();
}

}  // namespace
