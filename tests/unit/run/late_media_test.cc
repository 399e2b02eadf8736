// SPDX-License-Identifier: MIT
// Goal: what a dead process has spooled of media is added to its own database, once, and only there where it is dead
// and recovered. Method: a child that logs and is killed; files of the spool's names; several takers at once.
#include "run/services/late_media.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "query/media.h"
#include "support/child.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

class LateMediaTest : public ::testing::Test {
 protected:
  // A run of a process that was killed; `left` files wait in its name.
  void kill_one(int left) {
    const int status = run_child([] {
      trk_run* run = open_run("media");
      CHILD_CHECK(trk_log_media(run, "a", TRK_NUL_TERMINATED, 1, "image", "bytes", 5, "png", nullptr) == TRK_OK);
      CHILD_CHECK(trk_flush(run, 10'000) == TRK_OK);
      ::kill(::getpid(), SIGKILL);
      return 1;
    });
    ASSERT_EQ(exit_code_of(status), -1 - SIGKILL);
    folder_ = *Store::open(sandbox_.store())->find_run("p", "media");
    const auto names = list_dir(folder_.path);
    for (const std::string& name : *names)
      if (name.ends_with(".db")) writer_ = name.substr(0, 32);
    ASSERT_EQ(writer_.size(), 32u);
    for (int i = 0; i < left; ++i) spool(writer_, i);
  }
  void spool(const std::string& writer, int number) const {
    std::ofstream(folder_.path + "/media/spool-" + writer + "-000000000000000" + std::to_string(number)) << "x";
  }
  void recover() const { ASSERT_TRUE(recover_dead_writers(*Store::open(sandbox_.store())).problems.empty()); }
  std::unique_ptr<LateMedia> open() const {
    auto late = LateMedia::open(folder_);
    EXPECT_TRUE(late.ok()) << late.status().to_string();
    return late.ok() ? std::move(*late) : nullptr;
  }
  MediaAccount account() const { return media_account(**RunView::open(folder_)); }
  Id128 writer() const { return *Id128::from_hex(writer_); }
  static Value said() { return Value::Map{{"kind", "image"}, {"caption", "by user:secret@host"}}; }

  Sandbox sandbox_;
  RunFolder folder_;
  std::string writer_;
};

TEST_F(LateMediaTest, WhatIsAddedIsThereOnceAndWithoutItsSecrets) {
  kill_one(1);
  recover();
  const MediumPlace place{"b", 7, 9, 1'000'000, 0};
  for (int round = 0; round < 2; ++round) {
    const auto late = open();
    ASSERT_NE(late, nullptr);
    ASSERT_EQ(late->waiting().size(), 1u);
    EXPECT_EQ(late->waiting()[0].writer.hex(), writer_);
    EXPECT_EQ(*late->is_stored(place), round == 1);
    if (round == 0) {
      ASSERT_TRUE(late->add(writer(), place, said()).ok());
      ASSERT_TRUE(late->commit().ok());
    }
    EXPECT_TRUE(*late->is_stored(place));
  }
  auto view = RunView::open(folder_);
  const auto rows = read_media(view->get(), "b", true);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].step, 7);
  EXPECT_EQ((*rows)[0].value.text_or("caption", ""), "by [redacted]@host");
  EXPECT_EQ((*view)->state(), RunState::kCrashed);
  EXPECT_FALSE(path_exists(folder_.path + "/media/" + kSpoolLockFile));
}

TEST_F(LateMediaTest, WhatIsDroppedIsCountedWithItsReason) {
  kill_one(1);
  recover();
  const auto late = open();
  ASSERT_NE(late, nullptr);
  remove_file(late->waiting()[0].path);
  late->drop(writer(), "spool damaged");
  late->drop(writer(), "not encoded");
  late->drop(writer(), "not encoded");
  ASSERT_TRUE(late->commit().ok());
  const MediaAccount now = account();
  EXPECT_EQ(now.dropped, 3u);
  EXPECT_EQ(now.by_reason, (std::vector<std::pair<std::string, uint64_t>>{{"not encoded", 2}, {"spool damaged", 1}}));
}

TEST_F(LateMediaTest, AWriterWhoseJournalWaitsIsLeftAlone) {
  kill_one(1);
  EXPECT_EQ(open(), nullptr) << "what is added would come between its database and its journal";
  recover();
  EXPECT_NE(open(), nullptr);
}

TEST_F(LateMediaTest, OfAWriterThatLivesOrThatTheRunDoesNotHaveNothingIsTaken) {
  for (const char* journal : {"shm", "memory"}) {
    trk_run* run = open_run(journal, nullptr, journal);
    ASSERT_EQ(trk_log_media(run, "a", TRK_NUL_TERMINATED, 1, "image", "bytes", 5, "png", nullptr), TRK_OK);
    ASSERT_EQ(trk_flush(run, 10'000), TRK_OK);
    folder_ = *Store::open(sandbox_.store())->find_run("p", journal);
    const auto view = RunView::open(folder_);
    spool((*view)->writers()[0].identity.writer.hex(), 1);
    spool(std::string(32, '1'), 2);
    EXPECT_EQ(open(), nullptr) << journal;
    trk_free(run);
  }
}

TEST_F(LateMediaTest, OneTakesThemAtATime) {
  kill_one(1);
  recover();
  auto first = open();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(LateMedia::open(folder_).status().code(), Code::kBusy);
  first.reset();
  EXPECT_NE(open(), nullptr);
}

TEST_F(LateMediaTest, OnlyFilesOfThatNameAreMediaThatWaitAndOnlyWhatIsMissingIsPending) {
  kill_one(3);
  recover();
  EXPECT_EQ(account().pending, 0u) << "the run misses none";
  for (const std::string& name :
       {"spool-" + writer_ + "-0000000000000001x", "spool-" + writer_, std::string("spool-x")})
    EXPECT_FALSE(spooled_by(name)) << name;
  EXPECT_EQ(spooled_by("spool-" + writer_ + "-00000000000000ff"), writer());
  EXPECT_EQ(spooled_media(folder_.path).size(), 3u);
}

}  // namespace
}  // namespace tracker::internal
