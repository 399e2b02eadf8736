// SPDX-License-Identifier: MIT
// Who may be writing a run: what must be asked before its folder is taken away. Nothing is written. Threads: any.
// Cost: a snapshot a writer, a look at every journal of this user on this machine.
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
  bool seen = true;  // false: out of sight (another host or container), with a sign of life within kHeartbeatTrust
  std::string text() const;  // "pid 4242 on testhost writes it", …
};

// A writer's file of which nobody knows whether it is being written.
struct UnreadWriter {
  std::string path;
  Status status;  // kVersion: of a newer version
};

// The writers of the run `uid` of `store`, whose folder stands at `run_path` now: those whose journal's lock is held,
// with a database or not yet, and those out of sight that are not silent. `unread`: files that could not be read, or
// that hold frames of a newer version.
std::vector<LiveWriter> live_writers(const Store& store, const Id128& uid, const std::string& run_path, int64_t now_us,
                                     std::vector<UnreadWriter>* unread = nullptr);

// A process other than this one that writes a run now: of `locked`, whose journals' locks are held, or of the run's
// `snapshots`.
std::optional<LiveWriter> other_writer(const std::vector<WriterIdentity>& locked,
                                       const std::vector<WriterSnapshot>& snapshots, const std::string& store_path);

// Who wrote or writes the journals below, what they hold or not.
std::vector<WriterIdentity> journal_writers_of(const Store& store, const Id128& uid);
// Journals on this machine of processes that write or wrote the run, and that are of this store (is_of() of
// journal_home.h).
std::vector<std::string> journal_dirs_of(const Store& store, const Id128& uid);

}  // namespace tracker::internal
