// SPDX-License-Identifier: MIT
// Recovery: journals whose owner is dead are replayed into the dead writer's own database and removed (design 2). Any
// number of recoverers may race and any of them may be killed at any point. Threads: any. Cost: blocks on the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/store/store.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

// Limit: time that a call waits for another process that recovers the same journals. Beyond it: the call reports what
// is missing.
constexpr std::chrono::seconds kRecovererWait{2};
constexpr std::chrono::seconds kLeftoverAge{3600};  // nobody takes so long to make a file

// The folder of `run` in this store (it may have moved since, or been made while no disk could be written); made when
// it is not there. Another run may have taken the label meanwhile: then this one gets the next free label, once.
Result<RunFolder> folder_of_run(const Store& store, const RunIdentity& run, const Id128& writer);

struct RecoveredWriter {
  WriterIdentity identity;
  std::string folder;   // of the run
  uint64_t points = 0;  // replayed from spill file and rings; samples of the system are none
  uint64_t texts = 0;   // likewise
  uint64_t frames = 0;
  uint64_t lost_in_memory = 0;        // points that were in rings which were no files, for want of room
  uint64_t texts_lost_in_memory = 0;  // that were too large for a ring
  Logged removed;                     // stored in a file that is gone
};

// Rows of a run that were not there to read when recovery was done, and the line that says so.
struct UnfinishedRecovery {
  RunIdentity run;
  std::string text;
};

struct RecoveryReport {
  std::vector<RecoveredWriter> recovered;
  std::vector<WriterIdentity> living;  // whose journal's lock is held: they may have stored nothing yet
  // One line for what a recovered writer has lost without any damage of its journal.
  std::vector<std::string> left;
  // One for each journal that somebody else has been recovering for longer than is waited for: what is read of the run
  // lacks the rows it says.
  std::vector<UnfinishedRecovery> unfinished;
  // One line each: a damaged journal, an unreachable store; the journal is left alone.
  std::vector<std::string> problems;
  // kOk without problems; kVersion where a newer version wrote one of them; kCorrupt where one is damaged; else kIo,
  // kBusy or kTimeout: what waits is whole, and could not be stored now.
  Code worst = Code::kOk;
  void add_problem(Code code, std::string text);
};

// Points of one metric in a journal: that wait, and that the process has counted as lost. Both may be of no metric
// (""), such as those beyond the limit of metrics.
struct WaitingMetric {
  std::string name;
  uint64_t points = 0;
  std::map<LossReason, uint64_t> dropped;
};

// What a journal holds and the databases do not: points and texts, and counts of what was lost.
struct WaitingPoints {
  WriterIdentity writer;
  bool live = false;  // its process stores them itself as soon as it can; else the next recovery does
  uint64_t points = 0, texts = 0;
  uint64_t unread_rings = 0;        // of a dead process: nobody can say what they held
  bool newer = false;               // its journal is of a newer version, which alone can say what it holds
  std::optional<int64_t> step_max;  // the largest step of rows, texts and media that wait
  std::vector<WaitingMetric> metrics;
  // kRejected among them: values that never became points. What a recovery may find damaged is not: it says so itself.
  std::map<LossReason, uint64_t> dropped, texts_dropped, entries_dropped;
  bool waits() const { return points + texts + unread_rings > 0; }
  bool holds_anything() const {
    return waits() || newer || !dropped.empty() || !texts_dropped.empty() || !entries_dropped.empty();
  }
};

// What recovery would replay into the run in `folder` if every writer died now, writers of this process included;
// nothing is changed. Only journals of this user and of the store around `folder` are seen. `stored` answers what is
// stored of a writer by now (asked behind the look at its journal), an empty snapshot where that is nothing. Cost:
// reads the journals of the run, and the definitions of all others.
std::vector<WaitingPoints> points_waiting(const RunFolder& folder,
                                          const std::function<WriterSnapshot(const Id128& writer)>& stored);

enum class JournalsOf {
  kPlace,  // those that belong to the store: is_of() of journal_home.h
  kId,     // also those that name its id alone, of the store that it is a copy of: on request only
};

// Where another process or thread is at it, waits for it, at most kRecovererWait in all. Recovers the dead writers of
// `store`; with `run_uid` not zero only those of that run.
RecoveryReport recover_dead_writers(const Store& store, Id128 run_uid = {}, JournalsOf whose = JournalsOf::kPlace);

}  // namespace tracker::internal
