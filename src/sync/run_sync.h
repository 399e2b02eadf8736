// SPDX-License-Identifier: MIT
// Sends one run to a server: for each writer the durable frames that the server lacks, then files. Used by the live
// uploader and by `tracker sync`. Its memory only saves requests: a new object asks the server. Threads: one at a time.
// Cost: blocks on disk and network; memory for one batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/store/store.h"
#include "sync/file_upload.h"
#include "sync/unit_reader.h"
#include "transport/server_link.h"

namespace tracker::internal {

// Limit: bytes of a batch to a server, unless one unit is larger. Beyond it: the next batch.
constexpr size_t kSyncBatchBytes = 4 << 20;

// Limit: time that run.upload() and `tracker sync` go on without progress. Beyond it: they stop and name `tracker
// sync`.
constexpr std::chrono::milliseconds kNoProgressMax{30'000};

// The writer of this process, for the uploader of a live run. Other writers of the run upload their own; the first rank
// checks once those that have ended.
struct OwnWriter {
  Id128 writer;
  std::function<uint64_t()> durable_seq;
  // Held while files of the run are read. If it is not free at once, the writer is about to close its files, and
  // nothing is read in this round.
  std::timed_mutex* files = nullptr;
  bool is_first = true;  // else the first rank sends files until the writer has ended
};

class RunSync {
 public:
  // `project`: on the server; empty: the one where the run is, else the one remembered for it, else the run's own.
  RunSync(ServerLink* server, std::string store_path, RunFolder run, std::string project = "");

  void set_own(OwnWriter own) { own_ = std::move(own); }
  // Call when the own writer has ended: from now on its files are complete, and files are sent whatever the rank.
  void own_has_ended();
  // Sends until everything that may be sent now is on the server (kOk), or a request fails. What `problems` names does
  // not count: another try would not send it either.
  ServerAnswer round();
  // Whether the server has these numbers of these writers: of a run that is at rest nothing is left to send then.
  bool holds(const std::map<std::string, uint64_t>& acked, ServerAnswer* answer);
  // The server's numbers of the run's writers, from its last response.
  const std::map<std::string, uint64_t>& acked() const { return acked_; }
  // The artifacts (project, name) that the run made or used.
  const std::set<std::pair<std::string, std::string>>& artifacts() const { return artifacts_; }
  const SyncCounts& counts() const { return counts_; }
  // One line each, with what is still safe: units and files that the server refuses or that cannot be read here.
  const std::vector<std::string>& problems() const { return problems_; }
  // Writers that live elsewhere, or whose process died and whose journal is not here: not all of their rows are
  // durable.
  uint64_t writers_unfinished() const { return unfinished_; }

 private:
  struct WriterState {
    std::unique_ptr<UnitReader> reader;
    uint64_t acked = 0;       // by the server
    uint64_t read_after = 0;  // acked, or the unit after it that was given up
    uint64_t lost = 0;        // points between acked and the next unit that cannot be read any more
    bool is_over = false;     // it has ended and the server has all of it
    int64_t signed_us = 0;
  };
  ServerAnswer ask_acked();
  ServerAnswer send_frames();
  ServerAnswer send_files();
  ServerAnswer send_writer(const std::string& path, bool is_own);
  Result<std::optional<UnitList>> read_units(WriterState* state, bool is_own, uint64_t up_to);
  ServerAnswer send_units(WriterState* state, UnitList* list, size_t first, size_t count, int64_t heartbeat_us);
  ServerAnswer post(WriterState* state, const std::string& batch);
  void give_up(WriterState* state, const StoredUnit& unit, const ServerAnswer& answer);
  Result<uint64_t> up_to(WriterState* state, bool is_own, int64_t* heartbeat_us);

  ServerLink* const server_;
  const RunFolder run_;
  const bool is_named_;  // the project
  std::string project_;
  OwnWriter own_;
  SyncCounts counts_;
  std::vector<std::string> problems_;
  std::map<std::string, WriterState> writers_;  // by path
  std::map<std::string, uint64_t> acked_;       // by writer, from the server
  std::set<std::pair<std::string, std::string>> artifacts_;
  FileUpload files_;
  bool asked_ = false, others_seen_ = false, own_ended_ = false;
  bool files_due_ = true, sending_files_ = false;
  uint64_t unfinished_ = 0;
};

// Rounds until everything is sent, or nothing has arrived for kNoProgressMax, or until an error that waiting does not
// change. `go_on` is called while it waits; false: kCancelled.
ServerAnswer sync_all(RunSync* sync, ServerLink* server, const std::function<bool()>& go_on);

// One line for the response that ended an upload: what is wrong, that nothing is lost, what to do. `live`: the uploader
// of a running process continues to try.
std::string upload_problem(const ServerLink& server, const ServerAnswer& answer, bool live = false);

// "online" or "offline" if init() of any attempt had that mode, else "local". `ended`: every writer has ended, so that
// will not change. Cost: reads the small tables of each writer.
std::string mode_of_run(const RunFolder& run, bool* ended);
constexpr std::string_view kModeKey = "mode";  // an attribute (docs/formats/records.md)

}  // namespace tracker::internal
