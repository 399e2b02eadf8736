// SPDX-License-Identifier: MIT
// Goal: each row of a run is in its live event file exactly once, wherever the process that wrote it was killed.
// Method: a run made by hand, the file cut at every tenth byte and continued, and a disk that is full meanwhile.
#include "exchange/live_events.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "exchange/event_file.h"
#include "exchange/wire.h"
#include "support/store_builder.h"

namespace tracker::internal {
namespace {

using Rows = std::vector<std::pair<std::string, int64_t>>;  // tag and step; "start" of a process

void take_values(std::string_view summary, int64_t step, Rows* out) {
  WireReader values(summary);
  WireField field;
  while (values.next(&field)) {
    EventValue value;
    if (field.is(1, WireType::kBytes) && read_event_value(field.bytes, &value)) out->emplace_back(value.tag, step);
  }
}

Rows rows_of(const std::string& path) {
  Rows out;
  auto file = EventFile::open(path);
  EXPECT_TRUE(file.ok());
  std::string_view record;
  for (auto got = file->next(&record); got.ok() && *got; got = file->next(&record)) {
    WireReader event(record);
    WireField field;
    int64_t step = 0;
    while (event.next(&field)) {
      if (field.number == 2) step = static_cast<int64_t>(field.value);
      if (field.number == 7) out.emplace_back("start", step);
      if (field.number == 5) take_values(field.bytes, step, &out);
    }
  }
  return out;
}

class LiveEventsTest : public testing::Test {
 protected:
  Status follow(LiveEvents* events) {
    auto view = RunView::open(run_);
    EXPECT_TRUE(view.ok());
    path_ = LiveEvents::path_of(folder_.path(), **view);
    return events->follow(path_, view->get(), [] { return true; });
  }

  TempFolder folder_;
  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
  std::string path_;
};

// Promise P10: A live TensorBoard file holds each stored row once, wherever its writer was killed.
TEST_F(LiveEventsTest, AFileThatWasCutAnywhereIsGoneOnWithAndHoldsEachRowOnce) {
  auto writer = builder_.writer(run_);
  writer.set(EventType::kConfig, "lr", 0.1).log("loss", 0, 1.0).commit();
  LiveEvents first({});
  ASSERT_TRUE(follow(&first).ok());
  for (int step = 1; step < 6; ++step) {
    writer.log("loss", step, 1.0 / step).text("note", step, "a text").commit();
    ASSERT_TRUE(follow(&first).ok());
  }
  const Rows whole = rows_of(path_);
  ASSERT_EQ(whole.size(), 13u);  // start, config, 6 losses, 5 texts
  const auto bytes = std::filesystem::file_size(path_);
  for (uint64_t cut = 0; cut < bytes; cut += 10) {
    TempFolder other;
    std::filesystem::copy(folder_.path(), other.path(), std::filesystem::copy_options::recursive);
    const std::string copy = other.path() + path_.substr(folder_.path().size());
    std::filesystem::resize_file(copy, cut);
    LiveEvents next({});
    auto view = RunView::open(run_);
    ASSERT_TRUE(next.follow(copy, view->get(), [] { return true; }).ok());
    Rows again = rows_of(copy);
    std::map<std::pair<std::string, int64_t>, int> counts;
    for (const auto& row : again) ++counts[row];
    EXPECT_EQ(again.size(), 13u) << cut;
    for (const auto& row : whole) EXPECT_EQ(counts[row], 1) << cut << " " << row.first << " " << row.second;
  }
}

TEST_F(LiveEventsTest, AResumeAtAStepMakesTensorBoardForgetLaterRows) {
  builder_.writer(run_).log("loss", 0, 1.0).log("loss", 1, 0.5).log("loss", 2, 0.25).finish();
  builder_.writer(run_, {.attempt = 2, .continues = 1, .resume_step = 1}).log("loss", 2, 0.75).commit();
  LiveEvents events({0, 2, 1});
  ASSERT_TRUE(follow(&events).ok());
  EXPECT_EQ(rows_of(path_), (Rows{{"start", 0}, {"loss", 0}, {"loss", 1}, {"loss", 2}, {"start", 2}, {"loss", 2}}));
  LiveEvents again({0, 2, 1});
  ASSERT_TRUE(follow(&again).ok());
  EXPECT_EQ(rows_of(path_).size(), 6u);
}

TEST_F(LiveEventsTest, OtherRanksAreNotInIt) {
  builder_.writer(run_, {.rank = 1, .world_size = 2}).log("loss", 7, 1.0).text("note", 7, "text").finish();
  builder_.writer(run_, {.rank = 0, .world_size = 2}).log("loss", 0, 1.0).finish();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  EXPECT_EQ(rows_of(path_), (Rows{{"start", 0}, {"loss", 0}}));
}

TEST_F(LiveEventsTest, MoreRowsThanABatchAreAllThere) {
  auto writer = builder_.writer(run_);
  for (uint64_t step = 0; step <= kLiveEventsRows; ++step) {
    writer.log("loss", static_cast<int64_t>(step), 0.5);
    if (step % 1000 == 999) writer.commit();
  }
  writer.finish();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  EXPECT_EQ(rows_of(path_).size(), kLiveEventsRows + 2);
}

TEST_F(LiveEventsTest, ADiskThatIsFullLeavesAWholeFileThatGoesOnLater) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1.0).commit();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  const auto before = std::filesystem::file_size(path_);
  for (int step = 1; step < 1000; ++step) writer.log("loss", step, 1.0);
  writer.commit();
  auto view = RunView::open(run_);
  struct rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small{before + 1000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = events.follow(path_, view->get(), [] { return true; });
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::filesystem::file_size(path_), before);
  ASSERT_TRUE(follow(&events).ok());
  EXPECT_EQ(rows_of(path_).size(), 1001u);
}

TEST_F(LiveEventsTest, AFolderThatWasRemovedIsNotMadeAgain) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1.0).commit();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  std::filesystem::remove_all(folder_.path() + "/mnist");
  writer.log("loss", 1, 1.0).commit();
  EXPECT_EQ(follow(&events).code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Bug: a file of the program that had received the descriptor's number was closed, and the event file was reported as
// removed.
TEST_F(LiveEventsTest, AClosedDescriptorIsOpenedAgainAndAnotherFileUnderItsNumberIsNotTouched) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1.0).commit();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  const std::string own = folder_.path() + "/own";
  int taken = -1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path_) taken = std::stoi(entry.path().filename().string());
  }
  ASSERT_GE(taken, 0);
  const Fd made(::open(own.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::dup2(made.get(), taken), taken);
  ASSERT_EQ(::write(taken, "mine", 4), 4);
  writer.log("loss", 1, 1.0).commit();
  const Status status = follow(&events);
  EXPECT_TRUE(status.ok()) << status.message();
  writer.log("loss", 2, 1.0).commit();
  ASSERT_TRUE(follow(&events).ok());
  EXPECT_EQ(rows_of(path_), (Rows{{"start", 0}, {"loss", 0}, {"loss", 1}, {"loss", 2}}));
  EXPECT_EQ(std::filesystem::file_size(own), 4u);
  events.close();
  EXPECT_EQ(::lseek(taken, 0, SEEK_CUR), 4);  // open still, and where it was
  ::close(taken);
}

TEST_F(LiveEventsTest, AClosedDescriptorOfAFileThatWasRemovedMakesNoOther) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1.0).commit();
  LiveEvents events({});
  ASSERT_TRUE(follow(&events).ok());
  std::filesystem::remove(path_);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).string().starts_with(path_))
      ::close(std::stoi(entry.path().filename().string()));
  }
  EXPECT_EQ(follow(&events).code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LiveEventsTest, AFileAtItsBoundIsLeftAsItIs) {
  auto writer = builder_.writer(run_);
  writer.log("loss", 0, 1.0).commit();
  EXPECT_EQ(LiveEventsPlan().bytes_max, kLiveEventsBytesMax);
  LiveEvents events({.bytes_max = 1000});
  ASSERT_TRUE(follow(&events).ok());
  for (int step = 1; step < 100; ++step) writer.log("loss", step, 1.0);
  writer.commit();
  EXPECT_EQ(follow(&events).code(), Code::kLimit);
  EXPECT_EQ(rows_of(path_), (Rows{{"start", 0}, {"loss", 0}}));
}

}  // namespace
}  // namespace tracker::internal
