// SPDX-License-Identifier: MIT
// Goal: an import of event files shows what TensorBoard shows of them: rows that a restart repeats are shadowed, and
// invalid values are no points. Method: events written here, as SummaryWriter(purge_step=) and a live file after a
// resume have them.
#include <gtest/gtest.h>

#include <cmath>

#include "exchange/run_import.h"
#include "exchange/tensorboard_events.h"
#include "exchange/wire.h"
#include "query/view/attempts.h"
#include "storage/verify/verify.h"
#include "support/import_test.h"

namespace tracker::internal {
namespace {

using StepsAndValues = std::vector<std::pair<int64_t, double>>;

StepsAndValues rows_of(RunView* run, const std::string& metric, bool all = false) {
  StepsAndValues out;
  const auto history = run->history(metric, all);
  EXPECT_TRUE(history.ok());
  for (size_t i = 0; i < history->size(); ++i)
    out.emplace_back(history->steps[i], to_double(history->type, history->bits[i]));
  return out;
}

StepsAndValues expected_rows(int64_t from, int64_t to, double offset) {
  StepsAndValues out;
  for (int64_t step = from; step < to; ++step) out.emplace_back(step, offset + static_cast<double>(step));
  return out;
}

StepsAndValues operator+(StepsAndValues left, const StepsAndValues& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

void append_rows(int64_t from, int64_t to, double offset, std::string* out, const std::string& tag = "loss") {
  for (const auto& [step, value] : expected_rows(from, to, offset))
    append_scalar_event(tag, ValueType::kFloat64, bits_of(value), step, 1.7e9 + static_cast<double>(step), out);
}

// Bug: the rows after the step were there again, beside those that replaced them.
TEST_F(ImportTest, ARestartShadowsWhatIsAtItsStepAndBehindIt) {
  std::string bytes;
  append_start_event(0, 1.7e9, &bytes);
  append_rows(0, 100, 1000, &bytes);
  append_text_event("note", "early", 10, 1.7e9, &bytes);
  append_text_event("note", "late", 90, 1.7e9, &bytes);
  append_start_event(50, 1.7e9 + 200, &bytes);
  append_rows(50, 60, 2000, &bytes);
  append_rows(50, 60, 0, &bytes, "val");
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  auto run = view();
  EXPECT_EQ(rows_of(run.get(), "loss"), expected_rows(0, 50, 1000) + expected_rows(50, 60, 2000));
  EXPECT_EQ(rows_of(run.get(), "loss", true).size(), 110u);
  ASSERT_EQ(run->texts("note")->size(), 1u);
  const auto attempts = attempts_of(run->writers());
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[1].continues, 1);
  EXPECT_EQ(attempts[1].resume_step, 49);
  EXPECT_EQ(attempts[1].started_us, 1'700'000'200'000'000);
  const auto found = verify_store(store_path(), {});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->findings.empty());

  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_FALSE(report_.runs[0].changed);
  append_start_event(20, 1.7e9 + 300, &bytes);
  append_rows(20, 21, 3000, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  run = view();
  EXPECT_EQ(rows_of(run.get(), "loss"), expected_rows(0, 20, 1000) + expected_rows(20, 21, 3000));
  EXPECT_EQ(attempts_of(run->writers())[2].continues, 1);  // it branched off where the second one had not begun
}

TEST_F(ImportTest, ARestartInAFileOfItsOwnShadowsTheFilesBeforeIt) {
  std::string first, second;
  append_rows(0, 100, 1000, &first);
  append_start_event(30, 1.7e9 + 200, &second);
  append_rows(30, 40, 2000, &second);
  write("events.out.tfevents.1.a", first);
  ASSERT_TRUE(import("tensorboard").ok());
  write("events.out.tfevents.2.a", second);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(rows_of(view().get(), "loss"), expected_rows(0, 30, 1000) + expected_rows(30, 40, 2000));
}

TEST_F(ImportTest, ARestartWithNothingAfterItShadowsAllTheSame) {
  std::string bytes;
  append_start_event(0, 1.7e9, &bytes);
  append_rows(0, 10, 0, &bytes);
  append_start_event(8, 1.7e9, &bytes);
  append_start_event(5, 1.7e9, &bytes);
  append_start_event(7, 1.7e9, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(rows_of(view().get(), "loss"), expected_rows(0, 5, 0));
  EXPECT_EQ(attempts_of(view()->writers()).size(), 2u);
}

TEST_F(ImportTest, AStartThatTakesNothingBackIsNoAttempt) {
  std::string bytes;
  append_rows(0, 5, 0, &bytes);  // of a thread that was faster than the thread with the first event of the process
  append_start_event(0, 1.7e9, &bytes);
  append_rows(5, 10, 0, &bytes);
  append_start_event(10, 1.7e9, &bytes);
  append_rows(10, 20, 0, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(rows_of(view().get(), "loss"), expected_rows(0, 20, 0));
  EXPECT_EQ(view()->writers().size(), 1u);
}

TEST_F(ImportTest, RestartsBeyondTheLimitShadowNothingAndAreCounted) {
  auto store = ImportStore::open(store_path());
  ASSERT_TRUE(store.ok());
  auto run = RunImport::begin(store->get(), {"test", "key", "here", "p", "r", "", 0});
  ASSERT_TRUE(run.ok());
  for (size_t i = 0; i < kImportRestartsMax + 2; ++i) ASSERT_TRUE((*run)->restart(static_cast<int64_t>(i), 1).ok());
  ASSERT_TRUE((*run)->finish(RunState::kFinished).ok());
  EXPECT_EQ((*store)->report().left_out["restarts"], 2u);
}

// Bug: a size of 0, which the format omits, was read as one element.
TEST_F(ImportTest, AnEmptyTensorIsNoNumber) {
  std::string shape, tensor, value, summary, event, bytes;
  wire_bytes(2, "", &shape);  // a dimension of size 0
  wire_varint(1, 1, &tensor);
  wire_bytes(2, shape, &tensor);
  wire_bytes(1, "empty", &value);
  wire_bytes(8, tensor, &value);
  wire_bytes(1, value, &summary);
  wire_bytes(5, summary, &event);
  append_event_record(event, &bytes);
  append_rows(0, 3, 0, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(report_.runs.at(0).points, 3u);
  EXPECT_EQ(report_.left_out.at("tensors"), 1u);
}

// Bug: such rows were in 1970, without a message.
TEST_F(ImportTest, ATimeOfAnEventThatCannotBeReadIsCountedAndIsThatOfTheOneBefore) {
  std::string bytes;
  append_scalar_event("loss", ValueType::kFloat64, bits_of(0.5), 0, 1.7e9, &bytes);
  int64_t step = 0;
  for (const double time : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300})
    append_scalar_event("loss", ValueType::kFloat64, bits_of(0.5), ++step, time, &bytes);
  append_scalar_event("loss", ValueType::kFloat64, bits_of(0.5), ++step, 1.7e9 + 1, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(report_.left_out.at("times that cannot be read"), 4u);
  const auto loss = view()->history("loss");
  ASSERT_EQ(loss->size(), 6u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(loss->times_us[i], 1'700'000'000'000'000) << i;
  EXPECT_EQ(loss->times_us[5], 1'700'000'001'000'000);
}

// Bug: there was no point, and nothing was counted as omitted.
TEST_F(ImportTest, AValueLongerThanItsRecordIsCounted) {
  std::string bytes;
  append_scalar_event("loss", ValueType::kFloat64, bits_of(0.5), 0, 1.7e9, &bytes);
  for (const std::string& summary : std::vector<std::string>{"\x0a\x20" + std::string("loss"), "\x0a"}) {
    std::string event;
    wire_fixed64(1, bits_of(1.7e9), &event);
    wire_bytes(5, summary, &event);
    append_event_record(event, &bytes);
  }
  std::string event;
  wire_varint(5, 7, &event);  // no message at all
  append_event_record(event, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(report_.runs.at(0).points, 1u);
  EXPECT_EQ(report_.left_out.at("values that cannot be read"), 3u);
}

TEST_F(ImportTest, ATextUnderTheTagOfASecretIsRedacted) {
  std::string bytes;
  append_text_event("api_key", "plainly", 0, 1.7e9, &bytes);
  append_text_event("api_key/text_summary", "plainly", 0, 1.7e9, &bytes);
  append_text_event("note", "plainly", 0, 1.7e9, &bytes);
  write("events.out.tfevents.1.a", bytes);
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(view()->texts("api_key")->at(0).text, "[redacted]");
  EXPECT_EQ(view()->texts("api_key/text_summary")->at(0).text, "[redacted]");
  EXPECT_EQ(view()->texts("note")->at(0).text, "plainly");
  EXPECT_EQ(report_.left_out.at("secrets in texts"), 2u);
}

}  // namespace
}  // namespace tracker::internal
