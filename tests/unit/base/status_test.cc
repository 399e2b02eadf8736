// SPDX-License-Identifier: MIT
// Goal: a Status says what failed, where, and what is still safe; an ok one costs nothing to copy.
// Method: construct, copy, map errno values, read back.
#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace tracker::internal {
namespace {

TEST(StatusTest, ADefaultStatusIsOkAndEmpty) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.hint(), "");
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(StatusTest, AFailureKeepsMessageAndHintThroughCopies) {
  const Status original(Code::kLimit, "the key has 2000 bytes", "shorten it to 1024");
  const Status copy = original;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_FALSE(copy.ok());
  EXPECT_EQ(copy.code(), Code::kLimit);
  EXPECT_EQ(copy.to_string(), "the key has 2000 bytes (shorten it to 1024)");
}

TEST(StatusTest, ErrnoBecomesACodeWithPathAndReason) {
  const Status missing = Status::from_errno(ENOENT, "cannot open", "/no/such");
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_EQ(missing.system_errno(), ENOENT);
  EXPECT_EQ(missing.message(), "cannot open /no/such: No such file or directory");
  EXPECT_EQ(Status::from_errno(EEXIST, "x").code(), Code::kExists);
  EXPECT_EQ(Status::from_errno(ENOSPC, "x").code(), Code::kIo);
  EXPECT_EQ(Status::from_errno(ENOSPC, "write failed").message(), "write failed: No space left on device");
}

TEST(StatusTest, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::kUnsupported); ++code)
    EXPECT_TRUE(names.insert(code_name(static_cast<Code>(code))).second) << code;
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(ResultTest, HoldsAValueOrTheReasonWhyNot) {
  const Result<int> good = 7;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  const Result<int> bad = Status(Code::kBusy, "locked");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), Code::kBusy);
  EXPECT_EQ(bad.value_or(-1), -1);
}

TEST(ResultTest, CarriesWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(*result);
  EXPECT_EQ(*taken, 3);
}

TEST(StatusTest, ReturnIfErrorStopsAtTheFirstFailure) {
  int steps = 0;
  const auto work = [&steps](bool fail) -> Status {
    ++steps;
    TRACKER_RETURN_IF_ERROR(fail ? Status(Code::kIo, "stop") : Status());
    ++steps;
    return {};
  };
  EXPECT_EQ(work(true).message(), "stop");
  EXPECT_EQ(steps, 1);
  EXPECT_TRUE(work(false).ok());
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace tracker::internal
