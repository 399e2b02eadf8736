// SPDX-License-Identifier: MIT
// Which processes may be writing a run, to be checked before its folder is removed. Nothing is written. Threads: any.
// Cost: a snapshot a writer, a check of every journal of this user on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/records.h"
#include "storage/log/writer_snapshot.h"
#include "storage/store/store.h"

namespace tracker::internal {

struct LiveWriter {
  WriterIdentity identity;
  bool seen = true;          // false: on another host or in another container, with a heartbeat within kHeartbeatTrust
  std::string text() const;  // "pid 4242 on testhost writes it", …
};

// A writer's file of which it is unknown whether a process is writing it.
struct UnreadWriter {
  std::string path;
  Status status;  // kVersion: of a newer version
};

// The writers of the run `uid` of `store`, whose folder is now at `run_path`: those that hold their journal's lock,
// with a database or not yet, and those of other hosts with a recent heartbeat. `unread`: files that could not be read,
// or that have frames of a newer version.
std::vector<LiveWriter> live_writers(const Store& store, const Id128& uid, const std::string& run_path, int64_t now_us,
                                     std::vector<UnreadWriter>* unread = nullptr);

// Another process that writes a run now: of `locked`, whose journals' locks are held, or of the run's `snapshots`.
std::optional<LiveWriter> other_writer(const std::vector<WriterIdentity>& locked,
                                       const std::vector<WriterSnapshot>& snapshots, const std::string& store_path);

// The writers of the journals below, whatever these hold.
std::vector<WriterIdentity> journal_writers_of(const Store& store, const Id128& uid);
// Journals on this machine of processes that write or wrote the run and that belong to this store (is_of() of
// journal_home.h).
std::vector<std::string> journal_dirs_of(const Store& store, const Id128& uid);

}  // namespace tracker::internal
