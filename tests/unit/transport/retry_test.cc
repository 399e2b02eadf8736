// SPDX-License-Identifier: MIT
// Goal: the meaning of a response and the wait of a client are as in docs/formats/http.md. Method: pure calls.
#include "transport/retry.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

using std::chrono::milliseconds;

HttpResponse response(int status, std::string body, std::string type = "application/json") {
  HttpResponse out;
  out.status = status;
  out.content_type = std::move(type);
  out.body = std::move(body);
  return out;
}

HttpResponse error(int status, const std::string& code) {
  return response(status, R"({"error": {"code": ")" + code + R"(", "message": "why"}})");
}

TEST(RetryTest, EachStatusOfThePageHasItsMeaning) {
  const std::pair<int, AnswerKind> kinds[] = {
      {400, AnswerKind::kInvalid},       {401, AnswerKind::kNoAccess}, {403, AnswerKind::kNoScope},
      {404, AnswerKind::kNotFound},      {409, AnswerKind::kMissing},  {413, AnswerKind::kTooLarge},
      {415, AnswerKind::kUnknownFormat}, {422, AnswerKind::kDamaged},  {429, AnswerKind::kBusy},
      {503, AnswerKind::kBusy},          {507, AnswerKind::kBusy}};
  for (const auto& [status, kind] : kinds) EXPECT_EQ(judge(error(status, "word")).kind, kind) << status;
  const ServerAnswer ok = judge(response(200, R"({"acked_seq": 7})"));
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.document.int_or("acked_seq", 0), 7);
}

TEST(RetryTest, AForeignResponseIsShownCutAndWithoutControlCharacters) {
  for (const HttpResponse& each :
       {response(200, "<html>\x1b[31mhello", "text/html"), response(200, "[1]"), response(200, "{"),
        response(500, "{}"), response(302, "{}"), response(400, R"({"detail": "another service"})")}) {
    const ServerAnswer answer = judge(each);
    EXPECT_EQ(answer.kind, AnswerKind::kForeign) << each.body;
    EXPECT_TRUE(answer.passes());
    EXPECT_EQ(answer.message.find('\x1b'), std::string::npos);
  }
  EXPECT_LT(judge(response(200, std::string(100'000, 'x'), "text/html")).message.size(), kForeignShownBytes + 100);
}

TEST(RetryTest, AProxyThatTakesNoLargeRequestGetsHalvesWhateverItsPageIs) {
  EXPECT_EQ(judge(response(413, "<html>", "text/html")).kind, AnswerKind::kTooLarge);
}

TEST(RetryTest, WithoutAResponseTheReasonDecides) {
  EXPECT_EQ(judge(Status(Code::kIo, "refused")).kind, AnswerKind::kNoAnswer);
  EXPECT_EQ(judge(Status(Code::kClosed, "ended")).kind, AnswerKind::kCancelled);
  EXPECT_EQ(judge(Status(Code::kUnsupported, "no libcurl")).kind, AnswerKind::kNoUpload);
}

TEST(RetryTest, WaitsGrowAtRandomUpToAMinuteAndStartAgainAfterAnAnswer) {
  Backoff backoff;
  constexpr uint64_t kLargest = UINT64_MAX;
  for (milliseconds most = kBackoffFirst; most < kBackoffMax; most *= 2)
    EXPECT_EQ(backoff.next(static_cast<uint64_t>(most.count())), most);
  for (int i = 0; i < 100; ++i) EXPECT_LE(backoff.next(kLargest), kBackoffMax);
  EXPECT_EQ(backoff.next(0), milliseconds(0));
  backoff.reset();
  EXPECT_EQ(backoff.next(501), milliseconds(0));
}

TEST(RetryTest, ARetryAfterIsHonouredWithinAnHour) {
  Backoff backoff;
  EXPECT_EQ(backoff.next(1, milliseconds(7'000)), milliseconds(7'000));
  EXPECT_EQ(backoff.next(1, milliseconds(86'400'000)), kRetryAfterMax);
}

}  // namespace
}  // namespace tracker::internal
