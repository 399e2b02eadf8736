// SPDX-License-Identifier: MIT
// A store in other hands: copied while it is written, moved away and back, read by a user who may not write it or not
// even read it. Readers work or report what is wrong, and never disturb the writer. Method: a live writer in a child,
// for the database and for .frames files; a reader as `nobody` if the test is root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/child.h"
#include "support/conditions.h"
#include "support/integrity.h"
#include "support/sandbox.h"

namespace tracker::internal {
namespace {

constexpr uid_t kNobody = 65'534;

struct Progress {
  std::atomic<int64_t> accepted;
  std::atomic<int> ready, stop;
};

void log_until_stopped(const char* files, Progress* progress) {
  ::setenv("TRACKER_STORE_FILES", files, 1);
  trk_run* run = open_run("r", "block");
  for (int64_t step = 0; progress->stop.load() == 0; ++step) {
    CHILD_CHECK(trk_log_i64(run, "x", TRK_NUL_TERMINATED, step * 3, step) == TRK_OK);
    progress->accepted = step + 1;
    if (step % 50 == 0) ::usleep(500);
    if (step == 2000) {
      CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK);
      progress->ready = 1;
    }
  }
  CHILD_CHECK(trk_flush(run, 20'000) == TRK_OK && trk_finish(run, 0, nullptr) == TRK_OK);
}

// The rows 0, 1, 2, … of a run, as far as they go; -1 when others are among them.
int64_t rows_in_order(RunView* view) {
  auto rows = view->history("x", true);
  if (!rows.ok()) return -1;
  for (size_t i = 0; i < rows->size(); ++i)
    if (rows->steps[i] != static_cast<int64_t>(i) || rows->bits[i] != i * 3) return -1;
  return static_cast<int64_t>(rows->size());
}

class OtherReaderTest : public ::testing::TestWithParam<const char*> {
 protected:
  void begin() {
    child_ = start_child([&] {
      log_until_stopped(GetParam(), &*progress_);
      return 0;
    });
    while (progress_->ready.load() == 0) sleep_ms(1);
  }
  void end() {
    progress_->stop = 1;
    EXPECT_EQ(exit_code_of(wait_child(child_)), 0);
    ReadRun run = recover_and_read(sandbox_.store());
    EXPECT_THAT(run.problems, ::testing::IsEmpty());
    EXPECT_EQ(rows_in_order(run.view.get()), progress_->accepted.load());
    EXPECT_THAT(damaged_databases(run.view->dir()), ::testing::IsEmpty());
  }
  void let_everybody_read() {
    for (const std::string& folder : {sandbox_.folder(), sandbox_.store()}) ::chmod(folder.c_str(), 0755);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox_.store()))
      ::chmod(entry.path().c_str(), entry.is_directory() ? 0755 : 0644);
  }
  // Exit code of `body` as the user nobody.
  static int as_nobody(const std::function<int()>& body) {
    return exit_code_of(run_child([&] {
      CHILD_CHECK(::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
      return body();
    }));
  }
  int64_t rows_seen_by_nobody(std::string* problems) {
    Shared<std::atomic<int64_t>> rows;
    struct Text {
      char text[4096];
    };
    Shared<Text> said;
    EXPECT_EQ(as_nobody([&] {
                ReadRun run = recover_and_read(sandbox_.store());
                std::string all;
                for (const std::string& problem : run.problems) all += problem + "\n";
                std::snprintf(said->text, sizeof said->text, "%s", all.c_str());
                *rows = run.view == nullptr ? -2 : rows_in_order(run.view.get());
                return 0;
              }),
              0);
    *problems = said->text;
    return rows->load();
  }

  Sandbox sandbox_;
  Shared<Progress> progress_;
  pid_t child_ = -1;
};

TEST_P(OtherReaderTest, ACopyOfALiveRunHoldsAPrefixOfItOrNamesItsDamage) {
  begin();
  int whole = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string copy = sandbox_.folder() + "/copy" + std::to_string(i);
    std::error_code error;  // a -wal may go while it is copied
    std::filesystem::copy(sandbox_.store(), copy, std::filesystem::copy_options::recursive, error);
    auto store = Store::open(copy);
    ASSERT_TRUE(store.ok());
    auto view = RunView::open(store->list_runs().at(0));
    ASSERT_TRUE(view.ok());
    const int64_t rows = rows_in_order(view->get());
    if ((*view)->problems().empty()) {
      EXPECT_GE(rows, 0);
      EXPECT_LE(rows, progress_->accepted.load());
      ++whole;
    }
    sleep_ms(23);
  }
  EXPECT_GT(whole, 0);
  end();
}

TEST_P(OtherReaderTest, AStoreThatIsMovedAwayAndBackCostsNothing) {
  begin();
  const std::string away = sandbox_.folder() + "/away";
  ASSERT_EQ(::rename(sandbox_.store().c_str(), away.c_str()), 0);
  auto view = RunView::open(Store::open(away)->list_runs().at(0));
  ASSERT_TRUE(view.ok());
  EXPECT_GE(rows_in_order(view->get()), 2000);
  sleep_ms(1500);
  EXPECT_FALSE(path_exists(sandbox_.store())) << "nothing new is made in its place";
  ASSERT_EQ(::rename(away.c_str(), sandbox_.store().c_str()), 0);
  end();
}

TEST_P(OtherReaderTest, AnotherUserReadsALiveRunWithoutDisturbingIt) {
  NEEDS(kRoot);
  begin();
  let_everybody_read();
  std::string problems;
  EXPECT_GE(rows_seen_by_nobody(&problems), 2000) << problems;
  EXPECT_EQ(problems, "");
  end();
  let_everybody_read();
  EXPECT_EQ(rows_seen_by_nobody(&problems), progress_->accepted.load()) << problems;
}

TEST_P(OtherReaderTest, AnotherUserReadsWhatACrashedRunHadCommitted) {
  NEEDS(kRoot);
  begin();
  ::kill(child_, SIGKILL);
  wait_child(child_);
  let_everybody_read();
  std::string problems;
  EXPECT_GE(rows_seen_by_nobody(&problems), 2000) << problems;
  ReadRun run = recover_and_read(sandbox_.store());
  EXPECT_GE(rows_in_order(run.view.get()), progress_->accepted.load());
}

TEST_P(OtherReaderTest, AnotherUserWhoMayNotReadIsToldSo) {
  NEEDS(kRoot);
  begin();
  let_everybody_read();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox_.store()))
    if (!entry.is_directory() && entry.path().filename() != "run.json" && entry.path().filename() != "store.json")
      ::chmod(entry.path().c_str(), 0600);
  std::string problems;
  EXPECT_EQ(rows_seen_by_nobody(&problems), -1);
  EXPECT_THAT(problems, ::testing::HasSubstr("ermission denied"));
  EXPECT_THAT(problems, ::testing::HasSubstr(sandbox_.store().substr(sandbox_.store().find("tracker-test"))));
  end();
}

INSTANTIATE_TEST_SUITE_P(Files, OtherReaderTest, ::testing::Values("sqlite", "frames"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tracker::internal
