// SPDX-License-Identifier: MIT
// F1, F2, F5, F16, F20. Whatever happens to a run, its readers find what a plain model in memory holds: all rows, the
// resolved view, windows of it, charts, texts, config, summary, attempts and counts. Method: worlds of random sessions
// (support/run_model.h): by name, by handle, on threads, in ranks and attached children, into a database or a .frames
// file, short, in bursts or long enough for segments and levels, resumed with and without a step; ended, left by _exit
// or killed at a random instant; recovered by a command, by one that is killed at a random system call, or by the next
// init; compacted further between, now and then by one that is killed at a random system call first, into segments so
// small that they are merged; the store copied and moved between; a tail that goes on through all of it.
// TRACKER_TEST_SEED replays, TRACKER_TEST_KILLS is the number of worlds.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "storage/database/compaction.h"
#include "storage/database/writer_db.h"
#include "storage/sqlite/sqlite.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/integrity.h"
#include "support/kill_at_call.h"
#include "support/run_model_view.h"
#include "support/sandbox.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

constexpr int kWorlds = 4;
constexpr int kSessionsOfAWorld = 7;
constexpr int kLongSession = 3;  // of each world, so that each has levels
constexpr int64_t kSmallGatherNs = 100'000;
constexpr int kEndMs = 180'000 * kSlowDown;  // a long session flushes a hundred times

enum class Ending { kFinish, kExit, kKill };

struct SharedLedger {
  ModelLedger threads[kModelProcessesMax][kModelThreadsMax + 1];
};

// One process of a session; of several each is a rank.
struct Process {
  int64_t rank = 0;
  std::vector<ModelThread> threads;
  std::optional<ModelThread> attached = {};
};

struct Session {
  std::vector<Process> processes;
  Ending ending = Ending::kFinish;
  std::optional<int64_t> resume_step;
  std::string resume_from, launch, store;
  const char* files = "sqlite";
  const char* journal = "shm";
  const char* on_full = "block";
  uint32_t kill_after = 0;  // calls
  int kill_wait_us = 0;
  int64_t gather_ns = kCompactionGatherNs;

  uint32_t calls() const {
    uint32_t out = 0;
    for (const Process& process : processes) {
      for (const ModelThread& thread : process.threads) out += thread.calls;
      if (process.attached) out += process.attached->calls;
    }
    return out;
  }
};

// --- in a child -----------------------------------------------------------------------------------------------------

trk_run* open_session(const Session& session, const Process& process) {
  ::setenv("TRACKER_STORE_FILES", session.files, 1);
  ::setenv("TRACKER_DIR", session.store.c_str(), 1);
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.id = session.resume_step ? nullptr : "r";
  options.resume = session.resume_step ? nullptr : "allow";
  options.resume_from = session.resume_step ? session.resume_from.c_str() : nullptr;
  options.journal = session.journal;
  options.on_full = session.on_full;
  options.quiet = 1;
  if (session.processes.size() > 1) {
    ::setenv("TORCHELASTIC_RUN_ID", session.launch.c_str(), 1);
    options.ranks = "all";
    options.rank = static_cast<int32_t>(process.rank);
    options.world_size = static_cast<int32_t>(session.processes.size());
  }
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &run, &error) != TRK_OK) std::fprintf(stderr, "trk_init: %s\n", error.message);
  return run;
}

int end_of(const Session& session, trk_run* run) {
  if (session.ending == Ending::kExit) ::_exit(0);
  if (session.ending == Ending::kKill) sleep_ms(kEndMs);
  const trk_code finished = trk_finish(run, 0, nullptr);
  if (finished == TRK_TIMEOUT) ::_exit(0);  // the machine is busy: what is not stored in 2 s is recovered
  CHILD_CHECK(finished == TRK_OK);
  trk_status status = TRK_STATUS_INIT;
  CHILD_CHECK(trk_get_status(run, &status) == TRK_OK);
  CHILD_CHECK(status.points_pending == 0 && status.points_logged == status.points_stored + status.points_dropped);
  trk_free(run);
  return 0;
}

int run_process(const Session& session, const Process& process, ModelLedger* ledgers) {
  set_compaction_gather_for_testing(session.gather_ns);
  trk_run* run = open_session(session, process);
  CHILD_CHECK(run != nullptr);
  pid_t attached = 0;
  if (process.attached) {
    attached = start_child([&] {
      CHILD_CHECK(trk_attach(run, nullptr) == TRK_OK);
      CHILD_CHECK(perform_all(run, *process.attached, &ledgers[kModelAttached]));
      return end_of(session, run);
    });
  }
  std::vector<std::thread> threads;
  std::atomic<bool> ok{true};
  for (size_t t = 1; t < process.threads.size(); ++t)
    threads.emplace_back([&, t] {
      if (!perform_all(run, process.threads[t], &ledgers[t])) ok = false;
    });
  if (!perform_all(run, process.threads[0], &ledgers[0])) ok = false;
  for (std::thread& thread : threads) thread.join();
  CHILD_CHECK(ok.load());
  if (attached != 0 && session.ending != Ending::kKill) CHILD_CHECK(exit_code_of(wait_child(attached)) == 0);
  return end_of(session, run);
}

// --- one world ------------------------------------------------------------------------------------------------------

class World {
 public:
  World(uint64_t seed, int number) : random_(seed), number_(number), store_path_(sandbox_.store()) {}

  void live() {
    for (int i = 0; i < kSessionsOfAWorld && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("world " + std::to_string(number_) + ", session " + std::to_string(i));
      Session session = draw(i == kLongSession);
      run(&session);
      recover();
      confirm(session);
      if (below(3) == 0) compact();
      if (random_() % 4 == 0) move_store();
      expect_same();
    }
    const auto folder = run_folder();
    if (!folder) return;
    EXPECT_TRUE(damaged_databases(folder->path).empty());
    count("segments", &segments_);
    count("levels", &levels_);
  }
  uint64_t points() const {
    uint64_t out = 0;
    for (const ModelWriter& writer : model_.writers)
      for (const ModelOutcome& thread : writer.threads) out += thread.points();
    return out;
  }
  int kills() const { return kills_; }
  int64_t segments() const { return segments_; }
  int64_t levels() const { return levels_; }

 private:
  size_t below(size_t n) { return random_() % n; }

  enum class Kind { kShort, kBursts, kLong };

  ModelThread draw_thread(const Session& session, size_t number, Kind kind, size_t threads) {
    ModelThread out;
    out.seed = random_();
    out.number = number;
    const size_t calls = kind == Kind::kLong     ? 6000 + below(kModelCallsMax - 6000)
                         : kind == Kind::kBursts ? 1500 + below(2000)
                                                 : below(session.files[0] == 'f' ? 150 : 400);
    out.calls = static_cast<uint32_t>(calls);
    out.habits.settings = number == 0;
    out.habits.auto_steps = number == 0 && threads == 1;
    out.habits.flush_every = kind == Kind::kLong     ? (below(2) == 0 ? 150 : 1000)
                             : kind == Kind::kBursts ? 0
                             : below(3) == 0         ? 8
                                                     : 100;
    out.habits.points_max = kind == Kind::kBursts ? 60 : 6;
    out.habits.rising = kind == Kind::kLong;
    out.step_base = session.resume_step.value_or(model_.step_base());
    return out;
  }

  // `long_one`: one whose rows a segment with levels is made of.
  Session draw(bool long_one) {
    Session out;
    out.store = store_path_;
    out.launch = "launch-" + std::to_string(++launches_);
    if (!model_.writers.empty() && below(3) == 0) out.resume_step = static_cast<int64_t>(below(250)) - 5;
    if (out.resume_step && below(3) == 0) out.resume_step = static_cast<int64_t>(below(20'000));
    if (out.resume_step) out.resume_from = "p/r@" + std::to_string(*out.resume_step);
    if (below(4) == 0) out.files = "frames";
    if (below(5) == 0) out.journal = "disk";
    const size_t dice = below(6);
    const Kind kind = long_one || dice == 1 ? Kind::kLong : dice == 0 ? Kind::kBursts : Kind::kShort;
    if (kind == Kind::kBursts) out.on_full = "drop";
    const size_t end = below(10);
    out.ending = end < 4 || long_one ? Ending::kFinish : end < 5 ? Ending::kExit : Ending::kKill;
    const size_t ranks = below(4) == 0 ? 2 + below(kind == Kind::kLong ? 1 : 2) : 1;
    const size_t threads = below(3) != 0 ? 1 : kind == Kind::kLong ? 2 : 2 + below(kModelThreadsMax - 1);
    for (size_t rank = 0; rank < ranks; ++rank) {
      Process process{static_cast<int64_t>(rank), {}};
      for (size_t t = 0; t < threads; ++t) process.threads.push_back(draw_thread(out, t, kind, threads));
      if (rank > 0) process.threads[0].habits.settings = false;  // two that set one key at a time: either may win
      if (ranks == 1 && below(6) == 0 && kThreadsInForkedChildren.holds())
        process.attached = draw_thread(out, kModelAttached, kind, 2);
      out.processes.push_back(std::move(process));
    }
    if (below(3) == 0) out.gather_ns = kSmallGatherNs;
    out.kill_after = static_cast<uint32_t>(below(out.calls() + 1));
    out.kill_wait_us = below(2) == 0 ? 0 : static_cast<int>(below(40'000));
    return out;
  }

  void run(Session* session) {
    Shared<SharedLedger> ledger;
    std::vector<pid_t> children;
    for (size_t p = 0; p < session->processes.size(); ++p)
      children.push_back(start_child([&, p] {
        ::setpgid(0, 0);
        return run_process(*session, session->processes[p], ledger->threads[p]);
      }));
    if (session->ending == Ending::kKill) {
      ++kills_;
      for (const int64_t end = now_ns() + int64_t{kEndMs} * 1'000'000;
           returned(*session, *ledger) < session->kill_after && now_ns() < end;)
        read_while_live();
      ::usleep(static_cast<useconds_t>(session->kill_wait_us));
      for (const pid_t child : children) {
        ::setpgid(child, child);  // where it has not come to that itself
        ::kill(-child, SIGKILL);
      }
    } else {
      read_while_live();
    }
    for (const pid_t child : children) {
      int status = 0;
      EXPECT_TRUE(wait_child_at_most(child, kEndMs, &status)) << "a process hangs";
      EXPECT_TRUE(session->ending == Ending::kKill || exit_code_of(status) == 0) << "status " << status;
    }
    // An attached child of a killed one is ended by the kernel a moment later.
    for (const pid_t child : children)
      for (int i = 0; i < 10'000 && ::kill(-child, 0) == 0; ++i) ::usleep(500);
    take_ledger(*ledger, session);
  }

  static uint32_t returned(const Session& session, SharedLedger& ledger) {
    uint32_t out = 0;
    for (size_t p = 0; p < session.processes.size(); ++p)
      for (ModelLedger& thread : ledger.threads[p]) out += thread.returned.load();
    return out;
  }

  static void take_ledger(SharedLedger& ledger, Session* session) {
    const auto take = [](ModelLedger& from, ModelThread* to) {
      for (uint32_t i = 0; i < from.returned.load(); ++i) to->codes.push_back(from.codes[i].load());
    };
    for (size_t p = 0; p < session->processes.size(); ++p) {
      Process& process = session->processes[p];
      for (size_t t = 0; t < process.threads.size(); ++t) take(ledger.threads[p][t], &process.threads[t]);
      if (process.attached) take(ledger.threads[p][kModelAttached], &*process.attached);
    }
  }

  std::optional<RunFolder> run_folder() const {
    auto store = Store::open(store_path_);
    return store.ok() ? store->find_run("p", "r") : std::nullopt;
  }

  // What a reader sees of a live run is never damaged, and a tail of it has what a later reader finds.
  void read_while_live() {
    ::usleep(2000);
    const auto folder = run_folder();
    auto view = folder ? RunView::open(*folder) : Result<std::unique_ptr<RunView>>(Status(Code::kNotFound, ""));
    if (!view.ok()) return;
    EXPECT_TRUE((*view)->problems().empty()) << (*view)->problems().front();
    tail_.read(view->get());
  }

  void recover() {
    auto store = Store::open(store_path_);
    if (!store.ok()) return;  // killed before it was made
    if (const size_t way = below(4); way == 0) {
      (void)killed_at_call(static_cast<int>(below(400)), [&] {
        (void)recover_dead_writers(*store);
        return 0;
      });
    } else if (way == 1 && run_folder()) {
      Session empty;
      empty.store = store_path_;
      empty.processes = {{0, {ModelThread{}}}};
      run(&empty);
      empty_attempts_ = 1;
    }
    const RecoveryReport report = recover_dead_writers(*store);
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
    EXPECT_TRUE(sandbox_.journal_folders().empty()) << "recovery leaves a journal";
  }

  // Which of the calls in flight are there; from then on nothing of the session may change.
  void confirm(const Session& session) {
    const auto folder = run_folder();
    if (!folder) return expect_nothing(session);
    auto view = RunView::open(*folder);
    ASSERT_TRUE(view.ok()) << view.status().to_string();
    const ReadOfRun read = ReadOfRun::of(view->get());
    std::set<Id128> known;
    for (const ModelWriter& writer : model_.writers) known.insert(writer.writer);
    std::vector<const WriterSnapshot*> fresh;
    for (const WriterSnapshot& writer : (*view)->writers())
      if (!known.contains(writer.identity.writer)) fresh.push_back(&writer);
    for (const Process& process : session.processes) {
      const WriterSnapshot* own = take_writer(process, session.resume_step, &fresh);
      confirm_writer(session, process.rank, process.threads, own, read);
      if (process.attached)
        confirm_writer(session, process.rank, {*process.attached}, take_writer(process, std::nullopt, &fresh), read);
    }
    for (; empty_attempts_ > 0 && !fresh.empty(); --empty_attempts_) {
      const WriterIdentity& id = fresh.back()->identity;
      model_.writers.push_back({id.writer, id.attempt, id.rank, id.resume_step, {}});
      fresh.pop_back();
    }
    empty_attempts_ = 0;
    EXPECT_TRUE(fresh.empty()) << "a writer that was not started, rank " << fresh.back()->identity.rank;
    place_writers((*view)->writers());
  }

  // The new writer of a process: the first of its rank that began; its attached child's, which may have stored nothing
  // yet, is the next one. Writers of empty attempts began after both.
  static const WriterSnapshot* take_writer(const Process& process, std::optional<int64_t> resume_step,
                                           std::vector<const WriterSnapshot*>* fresh) {
    auto first = fresh->end();
    for (auto it = fresh->begin(); it != fresh->end(); ++it) {
      if ((*it)->identity.rank != process.rank || (*it)->identity.resume_step != resume_step) continue;
      if (first == fresh->end() || (*it)->identity.started_us < (*first)->identity.started_us) first = it;
    }
    if (first == fresh->end()) return nullptr;
    const WriterSnapshot* out = *first;
    fresh->erase(first);
    return out;
  }

  void confirm_writer(const Session& session, int64_t rank, const std::vector<ModelThread>& threads,
                      const WriterSnapshot* found, const ReadOfRun& read) {
    if (found == nullptr) {
      for (const ModelThread& thread : threads) expect_no_outcome(outcome_of(thread, false), session);
      return;
    }
    const WriterIdentity& id = found->identity;
    ModelWriter writer{id.writer, id.attempt, rank, id.resume_step, {}};
    for (const ModelThread& thread : threads) writer.threads.push_back(confirmed(session, thread, *found, read));
    count_losses(session, threads, *found, &writer);
    model_.writers.push_back(std::move(writer));
  }

  static ModelOutcome confirmed(const Session& session, const ModelThread& thread, const WriterSnapshot& found,
                                const ReadOfRun& read) {
    ModelOutcome without = outcome_of(thread, false);
    if (session.ending != Ending::kKill || thread.codes.size() >= thread.calls) return without;
    ModelOutcome with = outcome_of(thread, true);
    const auto is_read = [&](const ModelOutcome& outcome) {
      const auto rows = read.rows.find(found.identity.writer);
      const auto texts = read.texts.find({found.identity.attempt, found.identity.rank});
      const ModelRows mine = rows == read.rows.end() ? ModelRows() : of_thread(rows->second, thread.number);
      const ModelTexts notes = texts == read.texts.end() ? ModelTexts() : of_thread(texts->second, thread.number);
      return outcome.rows == mine && outcome.texts == notes;
    };
    const auto is_set = [&](const ModelOutcome& outcome) {
      Value config = Value::map(), stored = Value::map(), summary = Value::map(), stored_summary = Value::map();
      for (const ModelSetting& setting : outcome.config) config.set_path(setting.key, setting.value);
      for (const ModelSetting& setting : outcome.summary) summary.set(setting.key, setting.value);
      for (const Attribute& attribute : found.attributes) {
        if (attribute.type == EventType::kConfig) stored.set_path(attribute.key, attribute.value);
        if (attribute.type == EventType::kSummary) stored_summary.set(attribute.key, attribute.value);
      }
      return RunModel::same_maps(config, stored) && RunModel::same_maps(summary, stored_summary);
    };
    const bool settings = thread.habits.settings;
    const bool in_flight = is_read(with) && (!settings || is_set(with)) && !(is_read(without) && is_set(without));
    return in_flight ? with : without;
  }

  // A call in flight may have been dropped, or refused, and counted; of a large one perhaps a part.
  void count_losses(const Session& session, const std::vector<ModelThread>& threads, const WriterSnapshot& found,
                    ModelWriter* writer) const {
    if (session.ending != Ending::kKill) return;
    uint64_t rejected = 0, expected = model_.settings_lost(writer) - model_.settings_lost(), may_be = 0;
    uint64_t dropped = 0, dropped_known = 0, events_may_be = 0;
    for (const Loss& loss : found.losses) (loss.reason == LossReason::kRejected ? rejected : dropped) += loss.count;
    for (size_t t = 0; t < threads.size(); ++t) {
      ModelOutcome& outcome = writer->threads[t];
      const ModelOutcome with = outcome_of(threads[t], threads[t].codes.size() < threads[t].calls);
      outcome.rejected = outcome_of(threads[t], false).rejected;
      expected += outcome.rejected;
      may_be += with.rejected - outcome.rejected;
      may_be += with.config.size() - outcome.config.size();  // what it replaces is counted before it is stored
      for (const auto& [metric, rows] : with.rows) {
        const auto stored = outcome.rows.find(metric);
        const uint64_t more = rows.size() - (stored == outcome.rows.end() ? 0 : stored->second.size());
        uint64_t counted = 0;
        for (const SeriesStats& series : found.series)
          if (series.def.name == metric) counted += series.dropped;
        const uint64_t known = outcome.dropped[metric];
        if (counted > known && counted <= known + more) outcome.dropped[metric] = counted;
        if (outcome.dropped[metric] == 0) outcome.dropped.erase(metric);
      }
      events_may_be += with.events() - outcome.events();
      for (const auto& [metric, count] : outcome.dropped) dropped_known += count;
    }
    if (dropped > dropped_known && dropped <= dropped_known + events_may_be)
      writer->threads[0].dropped[""] += dropped - dropped_known;
    if (rejected > expected && rejected <= expected + may_be) writer->threads[0].rejected += rejected - expected;
  }

  void expect_nothing(const Session& session) {
    for (const Process& process : session.processes)
      for (const ModelThread& thread : process.threads) expect_no_outcome(outcome_of(thread, false), session);
  }
  // A process without a writer has logged nothing.
  static void expect_no_outcome(const ModelOutcome& outcome, const Session& session) {
    EXPECT_TRUE(outcome.rows.empty() && outcome.texts.empty() && outcome.config.empty() && outcome.summary.empty())
        << "acknowledged, and no writer of it is there; files " << session.files << ", journal " << session.journal;
  }

  // In the order in which readers have them.
  void place_writers(const std::vector<WriterSnapshot>& order) {
    std::vector<ModelWriter> placed;
    for (const WriterSnapshot& snapshot : order)
      for (ModelWriter& writer : model_.writers)
        if (writer.writer == snapshot.identity.writer) placed.push_back(std::move(writer));
    EXPECT_EQ(placed.size(), model_.writers.size()) << "a writer has gone";
    model_.writers = std::move(placed);
  }

  // Compacts files at rest, as the recovery of a dead writer would continue them.
  void compact() {
    const auto folder = run_folder();
    auto view = folder ? RunView::open(*folder) : Result<std::unique_ptr<RunView>>(Status(Code::kNotFound, ""));
    if (!view.ok()) return;
    for (const WriterSnapshot& writer : (*view)->writers()) {
      if (!path_exists(db_path(folder->path, writer.identity)) || below(3) == 0) continue;
      const int64_t gather_ns = below(2) == 0 ? kSmallGatherNs : kCompactionGatherNs;
      const auto body = [&] {
        set_compaction_gather_for_testing(gather_ns);
        auto db = WriterDb::open_or_create(folder->path, writer.identity);
        if (!db.ok()) return 1;
        (*db)->keep_heartbeat();
        while ((*db)->compact(UINT64_MAX)) continue;
        return (*db)->finish().ok() ? 0 : 1;
      };
      if (below(2) == 0 && killed_at_call(static_cast<int>(below(300)), body)) ++kills_;
      EXPECT_EQ(exit_code_of(run_child(body)), 0) << "compaction";
    }
  }

  void count(const std::string& table, int64_t* rows) const {
    const auto names = list_dir(run_folder()->path);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (!name.ends_with(".db")) continue;
      auto db = Sqlite::open(join_path(run_folder()->path, name), SqliteOpen::kRead, 1000);
      *rows += db.ok() ? db->query_int(("SELECT count(*) FROM " + table).c_str()).value_or(0) : 0;
    }
  }

  void move_store() {
    const std::string to = sandbox_.folder() + "/store-" + std::to_string(++launches_);
    if (!path_exists(store_path_)) return;
    if (random_() % 2 == 0) {
      std::filesystem::rename(store_path_, to);
    } else {
      std::filesystem::copy(store_path_, to, std::filesystem::copy_options::recursive);
      if (random_() % 2 == 0) return;  // the copy is left, and the run continues where it was
    }
    store_path_ = to;
  }

  void expect_same() {
    const auto folder = run_folder();
    EXPECT_TRUE(folder || model_.writers.empty());
    if (!folder) return;
    auto view = RunView::open(*folder);
    ASSERT_TRUE(view.ok()) << view.status().to_string();
    EXPECT_NE((*view)->state(), RunState::kRunning);
    model_.expect_same(view->get(), random_());
    tail_.expect_same(view->get());
  }

  Sandbox sandbox_;
  std::mt19937_64 random_;
  const int number_;
  std::string store_path_;
  RunModel model_;
  ModelTail tail_;
  int launches_ = 0, kills_ = 0, empty_attempts_ = 0;
  int64_t segments_ = 0, levels_ = 0;  // at the end
};

TEST(ModelTest, WhateverHappensToARunItsReadersFindWhatAPlainModelHolds) {
  std::mt19937_64 random(test_seed("model"));
  const int worlds = test_count(kWorlds);
  uint64_t points = 0;
  int64_t segments = 0, levels = 0;
  int kills = 0, lived = 0;
  for (; lived < worlds && !HasFailure(); ++lived) {
    World world(random(), lived);
    world.live();
    points += world.points();
    kills += world.kills();
    segments += world.segments();
    levels += world.levels();
  }
  std::printf("%d worlds of %d sessions, %d kills, %llu points, %lld segments, %lld levels\n", lived, kSessionsOfAWorld,
              kills, static_cast<unsigned long long>(points), static_cast<long long>(segments),
              static_cast<long long>(levels));
  EXPECT_TRUE(levels > 0 || kSlowDown > 1) << "charts were held against rows only";
}

}  // namespace
}  // namespace tracker::internal
