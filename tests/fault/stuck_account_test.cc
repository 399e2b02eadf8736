// SPDX-License-Identifier: MIT
// F8. What waits in a journal while the disk is stuck is in the account of a reader, before and after the death of its
// process. Method: a child process that logs, stores, or is held and killed.
#include <gtest/gtest.h>

#include <cstring>

#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "journal/ring/spill.h"
#include "run/run.h"
#include "storage/recovery/waiting_points.h"
#include "support/child.h"
#include "support/sandbox.h"
#include "support/stuck.h"

namespace tracker::internal {
namespace {

void expect_waiting(const Sandbox& sandbox, pid_t pid, bool live, const std::string& when) {
  SCOPED_TRACE(when);
  auto view = RunView::open(Store::open(sandbox.store())->list_runs().at(0));
  const LossAccount account = (*view)->losses();
  EXPECT_EQ(account.stored, 100u);
  EXPECT_EQ(account.pending, 5000u);
  EXPECT_EQ(account.logged, 5100u);
  ASSERT_EQ(account.waiting.size(), 1u);
  EXPECT_EQ(account.waiting[0].points, 5000u);
  EXPECT_EQ(account.waiting[0].writer.pid, pid);
  EXPECT_EQ(account.waiting[0].live, live);
  EXPECT_EQ(account.pending_approximate, live);
}

std::shared_ptr<Run> run_of_100_points() {
  auto run = begin_run();
  Shared<Ledger> ledger;
  log_steps(run.get(), &*ledger, 100, in_ms(60'000), 1000);
  CHILD_CHECK(run->flush(std::chrono::seconds(20)));
  return run;
}

// As a writer does with a ring that it leaves.
void spill_and_unlink_rings(const std::string& journal, const Id128& writer) {
  auto rings = DeadJournal::look(journal);
  CHILD_CHECK(rings.ok());
  (*rings)->start({}, true);
  FrameBuilder builder;
  FrameRecord record;
  CHILD_CHECK((*rings)->next(&builder, &record.positions));
  Frame frame = builder.take();
  frame.seq = record.seq = 1;
  record.bytes = encode_frame(frame);
  uint64_t nonce = 0;
  std::memcpy(&nonce, writer.bytes.data(), sizeof nonce);
  CHILD_CHECK(SpillFile(journal, nonce).append(record, kSpillBytesMax));
  const auto names = list_dir(journal);
  for (const std::string& name : *names)
    if (name.starts_with("ring-")) remove_file(join_path(journal, name));
}

// Bug: all that such a ring had ever held was counted once more, as waiting, and its drops too.
TEST(StuckAccountTest, ARingThatIsStoredAndGoneBetweenTheTwoLooksOfAReaderHoldsNothing) {
  Sandbox sandbox;
  const int status = run_child([&] {
    const auto run = run_of_100_points();
    const RunFolder folder = Store::open(sandbox.store())->list_runs().at(0);
    const auto waiting = points_waiting(folder, [&](const Id128&) {
      const std::string journal = sandbox.journal_folders().at(0);
      const auto names = list_dir(journal);
      for (const std::string& name : *names)
        if (name.starts_with("ring-")) remove_file(join_path(journal, name));
      auto reader = WriterReader::open(folder.writer_dbs().at(0));
      CHILD_CHECK(reader.ok());
      WriterSnapshot stored = *(*reader)->snapshot();
      CHILD_CHECK(stored.points == 100 && !stored.positions.empty());
      stored.positions.clear();
      return stored;
    });
    CHILD_CHECK(waiting.empty());
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

// Bug: what such a ring had held was in no account for that look. The spill file had been read before.
TEST(StuckAccountTest, ARingThatIsSpilledAndGoneBetweenTheTwoLooksOfAReaderWaits) {
  Sandbox sandbox;
  const int status = run_child([&] {
    const auto run = run_of_100_points();
    const RunFolder folder = Store::open(sandbox.store())->list_runs().at(0);
    int looks = 0;
    const auto waiting = points_waiting(folder, [&](const Id128& writer) {
      if (++looks == 1) spill_and_unlink_rings(sandbox.journal_folders().at(0), writer);
      return WriterSnapshot();  // nothing is stored
    });
    CHILD_CHECK(looks > 1 && looks <= kJournalLooksMax);
    CHILD_CHECK(waiting.size() == 1 && waiting[0].points == 100 && waiting[0].metrics.at(0).points == 100);
    return 0;
  });
  EXPECT_EQ(exit_code_of(status), 0);
}

// Bug: such a run read "Nothing lost: 100 points stored".
// Promise P5: Points that wait in a journal are counted for readers, before and after the death.
TEST(StuckAccountTest, WhatWaitsInAJournalIsCountedForReadersBeforeAndAfterTheDeath) {
  Sandbox sandbox;
  Shared<Ledger> ledger;
  const pid_t child = start_child([&]() -> int {
    auto run = begin_run();
    log_steps(run.get(), &*ledger, 100, in_ms(60'000), 1000);
    CHILD_CHECK(run->flush(std::chrono::seconds(20)));
    g_hold = true;
    run->set_pause_for_testing(nullptr, hold_while_asked);
    sleep_ms(300);  // the store thread is in it
    log_steps(run.get(), &*ledger, 5000, in_ms(60'000), 1000);
    ledger->ready = 1;
    for (;;) ::pause();
  });
  while (ledger->ready.load() == 0) sleep_ms(1);
  expect_waiting(sandbox, child, true, "in the ring");
  sleep_ms(700);
  expect_waiting(sandbox, child, true, "in the spill file");
  ::kill(child, SIGKILL);
  wait_child(child);
  expect_waiting(sandbox, child, false, "after the death");
  ReadRun run = recover_and_read(sandbox.store());
  EXPECT_EQ(run.view->losses().stored, 5100u);
  EXPECT_EQ(run.view->losses().pending, 0u);
}

}  // namespace
}  // namespace tracker::internal
