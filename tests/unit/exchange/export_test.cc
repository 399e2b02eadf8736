// SPDX-License-Identifier: MIT
// Goal: an export is complete and reads back to the very bits that were logged, in each form.
// Method: whole exports compared to texts, and a reader of CSV written here on random doubles.
#include "exchange/export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "exchange/export_tensorboard.h"
#include "model/value.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

class ExportTest : public testing::Test {
 protected:
  std::string exported(const ExportOptions& options) {
    auto view = RunView::open(run_);
    EXPECT_TRUE(view.ok());
    std::string out;
    result_ = export_run(view->get(), options, [&out](std::string_view piece) {
      out.append(piece);
      return Status();
    });
    EXPECT_TRUE(result_.ok()) << result_.status().to_string();
    return out;
  }
  Status failure(const ExportOptions& options) {
    auto view = RunView::open(run_);
    return export_run(view->get(), options, [](std::string_view) { return Status(); }).status();
  }
  void write_small_run() {
    auto writer = builder_.writer(run_, {.rank = 2});
    writer.log("loss", 1, 0.5, 1'000'000).log("loss", 0, NAN, 2'000'000).log("loss", 1, -0.0, 3'000'001);
    writer.log_bits("a,b", ValueType::kInt64, std::nullopt, bits_of(INT64_MIN), 4'000'000);
    writer.log("inf", 1, INFINITY, 5'000'000).log("inf", 2, -INFINITY, 6'000'000);
    writer.text("note", 7, "say \"hi\",\nplease", 7'000'000).finish();
  }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
  Result<ExportResult> result_ = ExportResult{};
};

TEST_F(ExportTest, TheLongCsvHoldsEveryResolvedRow) {
  write_small_run();
  EXPECT_EQ(exported({}),
            "metric,step,time,value,rank,attempt\n"
            "\"a,b\",,4.000000,-9223372036854775808,2,1\n"
            "inf,1,5.000000,inf,2,1\n"
            "inf,2,6.000000,-inf,2,1\n"
            "loss,0,2.000000,nan,2,1\n"
            "loss,1,3.000001,-0.0,2,1\n"
            "note,7,7.000000,\"say \"\"hi\"\",\nplease\",2,1\n");
  EXPECT_EQ(result_->rows, 6u);
  EXPECT_EQ(result_->metrics, (std::vector<std::string>{"a,b", "inf", "loss", "note"}));
}

TEST_F(ExportTest, AllRowsIncludesThoseThatLaterOnesReplace) {
  write_small_run();
  EXPECT_EQ(exported({.metrics = {"loss"}, .all = true}),
            "metric,step,time,value,rank,attempt\n"
            "loss,1,1.000000,0.5,2,1\n"
            "loss,0,2.000000,nan,2,1\n"
            "loss,1,3.000001,-0.0,2,1\n");
}

TEST_F(ExportTest, JsonLinesAreEachAJsonObject) {
  write_small_run();
  const std::string text = exported({.format = ExportFormat::kJsonl, .metrics = {"inf", "a,b", "note"}});
  EXPECT_EQ(
      text,
      "{\"metric\":\"inf\",\"step\":1,\"time\":5.000000,\"value\":\"Infinity\",\"rank\":2,\"attempt\":1}\n"
      "{\"metric\":\"inf\",\"step\":2,\"time\":6.000000,\"value\":\"-Infinity\",\"rank\":2,\"attempt\":1}\n"
      "{\"metric\":\"a,b\",\"step\":null,\"time\":4.000000,\"value\":-9223372036854775808,\"rank\":2,\"attempt\":1}\n"
      "{\"metric\":\"note\",\"step\":7,\"time\":7.000000,\"value\":\"say "
      "\\\"hi\\\",\\nplease\",\"rank\":2,\"attempt\":1}\n");
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_TRUE(from_json(text.substr(at, text.find('\n', at) - at)).ok());
}

TEST_F(ExportTest, TheWideFormHasARowAStepAndLosesNoRowWithoutOne) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 0.5)
      .log("loss", 2, 0.25)
      .log("acc", 2, 0.9)
      .log("acc", std::nullopt, 0.1)
      .text("note", 1, "x,y")
      .finish();
  EXPECT_EQ(exported({.wide = true}),
            "step,acc,loss,note\n"
            "0,,0.5,\n"
            "1,,,\"x,y\"\n"
            "2,0.9,0.25,\n"
            ",0.1,,\n");
}

TEST_F(ExportTest, FormsThatExcludeEachOtherAreRefused) {
  write_small_run();
  EXPECT_EQ(failure({.all = true, .wide = true}).code(), Code::kInvalid);
  EXPECT_EQ(failure({.format = ExportFormat::kJsonl, .wide = true}).code(), Code::kInvalid);
}

TEST_F(ExportTest, AnUnknownMetricIsRefusedWithCloseNames) {
  write_small_run();
  const Status status = failure({.metrics = {"los"}});
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("did you mean loss?"), std::string::npos) << status.message();
}

TEST_F(ExportTest, TheSinksFailureEndsTheExport) {
  auto writer = builder_.writer(run_);
  for (int i = 0; i < 20'000; ++i) writer.log("loss", i, i);
  writer.finish();
  auto view = RunView::open(run_);
  int calls = 0;
  const auto result = export_run(view->get(), {}, [&calls](std::string_view) {
    ++calls;
    return Status(Code::kIo, "no room");
  });
  EXPECT_EQ(result.status().message(), "no room");
  EXPECT_EQ(calls, 1);
}

// Doubles of every kind: random bits reach all exponents, denormals, infinities and NaNs.
TEST_F(ExportTest, EveryDoubleReadsBackFromCsvBitForBit) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<double> logged{0.0, -0.0, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, INFINITY, -INFINITY, NAN, -NAN};
  while (logged.size() < 5000) logged.push_back(std::bit_cast<double>(random()));
  auto writer = builder_.writer(run_);
  for (size_t i = 0; i < logged.size(); ++i) writer.log("x", static_cast<int64_t>(i), logged[i]);
  writer.finish();
  for (const bool wide : {false, true}) {
    const std::string text = exported({.wide = wide});
    size_t at = text.find('\n') + 1;
    for (const double expected : logged) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      at += line.size() + 1;
      size_t field = 0;
      for (int commas = wide ? 1 : 3; commas > 0; --commas) field = line.find(',', field) + 1;
      const double read = std::strtod(line.c_str() + field, nullptr);
      if (std::isnan(expected)) {  // text has a NaN and its sign, without payload
        ASSERT_TRUE(std::isnan(read)) << line;
        ASSERT_EQ(std::signbit(read), std::signbit(expected)) << line;
      } else {
        ASSERT_EQ(bits_of(read), bits_of(expected)) << line;
      }
    }
    EXPECT_EQ(at, text.size());
  }
}

TEST_F(ExportTest, ABoundOfMemoryChangesNothingInTheOutput) {
  auto writer = builder_.writer(run_);
  for (int metric = 0; metric < 7; ++metric)
    for (int step = 0; step < 50; ++step) writer.log("m" + std::to_string(metric), step, metric + step);
  writer.finish();
  EXPECT_EQ(exported({.group_points_max = 1}), exported({}));
}

// The progress of an export, for a bar: it rises and ends with everything.
TEST_F(ExportTest, ProgressRisesToAllPointsAndTextsInEachForm) {
  auto writer = builder_.writer(run_);
  for (int i = 0; i < 30'000; ++i) writer.log("loss", i / 2, 0.5);  // half of the rows are replaced by later ones
  writer.log("acc", 1, 0.5).text("note", 1, "hi").finish();
  const uint64_t all = 30'002;
  const auto look = [all](std::vector<uint64_t>* done) {
    return [done, all](uint64_t now, uint64_t total) {
      EXPECT_EQ(total, all);
      EXPECT_TRUE(done->empty() || now >= done->back());
      done->push_back(now);
    };
  };
  std::vector<uint64_t> csv, wide, events;
  exported({.progress = look(&csv)});
  exported({.wide = true, .progress = look(&wide)});
  std::string file;
  auto view = RunView::open(run_);
  ASSERT_TRUE(export_tensorboard(view->get(), {.progress = look(&events)}, builder_.path(), &file).ok());
  EXPECT_GE(csv.size(), 3u);
  EXPECT_EQ(csv.back(), all);
  EXPECT_EQ(wide.back(), 15'002u);
  EXPECT_EQ(events.back(), all);
}

}  // namespace
}  // namespace tracker::internal
