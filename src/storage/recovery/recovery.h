// SPDX-License-Identifier: MIT
// Recovery: journals of dead processes are replayed into the dead writer's own database and removed (design 2). Any
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

// how long a call waits, in all, for other recoverers of the same journals
// Limit: time that a call waits for another process that recovers the same journals. Beyond it: the call reports what
// is missing.
constexpr std::chrono::seconds kRecovererWait{2};
constexpr std::chrono::seconds kLeftoverAge{3600};  // no process takes so long to make a file

// The folder of `run` in this store (it may have moved since, or been made while no disk could be written); made if it
// is missing. If another run has taken the label meanwhile, this one gets the next free label, once.
Result<RunFolder> folder_of_run(const Store& store, const RunIdentity& run, const Id128& writer);

struct RecoveredWriter {
  WriterIdentity identity;
  std::string folder;   // of the run
  uint64_t points = 0;  // replayed from spill file and rings, without samples of the system
  uint64_t texts = 0;   // likewise
  uint64_t frames = 0;
  uint64_t lost_in_memory = 0;        // points in rings that were in memory only, because there was no room for files
  uint64_t texts_lost_in_memory = 0;  // that were too large for a ring
  Logged removed;                     // was stored in a file that is gone
};

// Rows of a run that could not be read when recovery was done, and the line that reports this.
struct UnfinishedRecovery {
  RunIdentity run;
  std::string text;
};

struct RecoveryReport {
  std::vector<RecoveredWriter> recovered;
  std::vector<WriterIdentity> living;  // that hold their journal's lock: they may have stored nothing yet
  // One line for the losses of a recovered writer that have no damage of its journal as their cause.
  std::vector<std::string> left;
  // One for each journal that another recoverer is still working on after the longest wait: these rows are missing in
  // what is read of the run.
  std::vector<UnfinishedRecovery> unfinished;
  // One line each: a damaged journal, an unreachable store; the journal is not changed.
  std::vector<std::string> problems;
  // kOk without problems; kVersion if a newer version wrote one of the journals; kCorrupt if one is damaged; else kIo,
  // kBusy or kTimeout: the journals are intact, and could not be stored now.
  Code worst = Code::kOk;
  void add_problem(Code code, std::string text);
};

// Points of one metric in a journal: those not stored yet, and those that the process has counted as lost. The metric
// is "" if there is none, as for those beyond the limit of metrics.
struct WaitingMetric {
  std::string name;
  uint64_t points = 0;
  std::map<LossReason, uint64_t> dropped;
};

// What a journal holds and the databases do not: points and texts, and counts of losses.
struct WaitingPoints {
  WriterIdentity writer;
  bool live = false;  // its process will store them as soon as it can; else the next recovery does
  uint64_t points = 0, texts = 0;
  uint64_t unread_rings = 0;        // of a dead process: their content is unknown
  bool newer = false;               // its journal is of a newer version; only that version can read it
  std::optional<int64_t> step_max;  // the largest step of the rows, texts and media in it
  std::vector<WaitingMetric> metrics;
  // Includes kRejected: values that never became points. Damage that a recovery may find is not included: recovery
  // reports it.
  std::map<LossReason, uint64_t> dropped, texts_dropped, entries_dropped;
  bool waits() const { return points + texts + unread_rings > 0; }
  bool holds_anything() const {
    return waits() || newer || !dropped.empty() || !texts_dropped.empty() || !entries_dropped.empty();
  }
};

// What recovery would replay into the run in `folder` if every writer died now, writers of this process included;
// nothing is changed. Only journals of this user and of the store around `folder` are included. `stored` returns the
// stored data of a writer (called after its journal was read), or an empty snapshot. Cost: reads the journals of the
// run, and the definitions of all others.
std::vector<WaitingPoints> points_waiting(const RunFolder& folder,
                                          const std::function<WriterSnapshot(const Id128& writer)>& stored);

enum class JournalsOf {
  kPlace,  // those that belong to the store: is_of() of journal_home.h
  kId,     // also those that have only its id, of the store that it is a copy of: on request only
};

// Recovers the dead writers of `store`, or only those of the run `run_uid` if it is not zero. If another process or
// thread is recovering one, waits for it, at most kRecovererWait in all.
RecoveryReport recover_dead_writers(const Store& store, Id128 run_uid = {}, JournalsOf whose = JournalsOf::kPlace);

}  // namespace tracker::internal
