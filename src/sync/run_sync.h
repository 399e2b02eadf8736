// SPDX-License-Identifier: MIT
// Sends one run to a server: of each writer what the server lacks of its durable frames, then files. Used by the live
// uploader and by `tracker sync`. What it remembers only saves questions: a new one asks the server what is there.
// Threads: one at a time. Cost: blocks on disk and network; memory for one batch.
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

// The writer of this process, for the uploader of a live run. Other writers of the run ship themselves; those that have
// ended are looked at once, by the first rank.
struct OwnWriter {
  Id128 writer;
  std::function<uint64_t()> durable_seq;
  // Held while files of the run are read. Where it cannot be had at once the writer is about to close its files, and
  // nothing is read in this round.
  std::timed_mutex* files = nullptr;
  bool is_first = true;  // else files are left to the first rank until the writer has ended
};

class RunSync {
 public:
  // `project`: on the server; empty: where it is there already, else the one remembered for it, else the run's own.
  RunSync(ServerLink* server, std::string store_path, RunFolder run, std::string project = "");

  void set_own(OwnWriter own) { own_ = std::move(own); }
  // The own writer has ended: from now on its files say what there is, and files are sent whatever the rank.
  void own_has_ended();
  // Sends until all that may be sent now is on the server (kOk), or a request fails. With what `problems` names it is
  // all the same kOk: another try would not send it either.
  ServerAnswer round();
  // Whether the server holds these numbers of these writers: of a run that is at rest nothing is left to send then.
  bool holds(const std::map<std::string, uint64_t>& acked, ServerAnswer* answer);
  // What the server holds of the run's writers, as it last said.
  const std::map<std::string, uint64_t>& acked() const { return acked_; }
  // The artifacts (project, name) that the run made or used.
  const std::set<std::pair<std::string, std::string>>& artifacts() const { return artifacts_; }
  const SyncCounts& counts() const { return counts_; }
  // One line each, and what is still safe: units and files that the server refuses or that cannot be read here.
  const std::vector<std::string>& problems() const { return problems_; }
  // Writers that still live elsewhere, or whose process died without that its journal is here: not all of them is
  // durable.
  uint64_t writers_unfinished() const { return unfinished_; }

 private:
  struct WriterState {
    std::unique_ptr<UnitReader> reader;
    uint64_t acked = 0;       // by the server
    uint64_t read_after = 0;  // acked, or the unit after it that was given up
    uint64_t lost = 0;        // points between acked and the next unit that nobody can read any more
    bool is_over = false;     // it has ended and all of it is there
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
  std::map<std::string, uint64_t> acked_;       // by writer, as the server said
  std::set<std::pair<std::string, std::string>> artifacts_;
  FileUpload files_;
  bool asked_ = false, others_seen_ = false, own_ended_ = false;
  bool files_due_ = true, sending_files_ = false;
  uint64_t unfinished_ = 0;
};

// Rounds until all is there, or nothing has arrived for kNoProgressMax, or an answer that no wait changes. `go_on` is
// asked while it waits; false: kCancelled.
ServerAnswer sync_all(RunSync* sync, ServerLink* server, const std::function<bool()>& go_on);

// What one line says of an answer that ended an upload: what is wrong, that nothing is lost, what to do. `live`: the
// uploader of a running process goes on trying.
std::string upload_problem(const ServerLink& server, const ServerAnswer& answer, bool live = false);

// "online" or "offline" where init() said so in any attempt, else "local". `ended`: every writer has ended, so that
// will not change. Cost: reads the small tables of each writer.
std::string mode_of_run(const RunFolder& run, bool* ended);
constexpr std::string_view kModeKey = "mode";  // an attribute (docs/formats/records.md)

}  // namespace tracker::internal
