// SPDX-License-Identifier: MIT
#include "journal/liveness.h"

#include <signal.h>

#include <cerrno>

#include "base/fs.h"
#include "journal/owner_lock.h"
#include "journal/place.h"

namespace tracker::internal {
namespace {

// Of a process of this boot and pid namespace.
Liveness in_process_table(const WriterIdentity& writer) {
  auto stat = read_file("/proc/" + std::to_string(writer.pid) + "/stat", 4096);
  if (stat.ok())
    return pid_start_of(*stat) == writer.pid_start && !is_zombie(*stat) ? Liveness::kLive : Liveness::kDead;
  // /proc may hide the processes of other users (hidepid), or be missing.
  return ::kill(static_cast<pid_t>(writer.pid), 0) != 0 && errno == ESRCH ? Liveness::kDead : Liveness::kUnknown;
}

}  // namespace

Liveness probe_writer(const WriterIdentity& writer) {
  const WriterIdentity self = this_process();
  const bool same_boot = !writer.boot_id.empty() && writer.boot_id == self.boot_id;
  // A writer of this very process that another copy of the library made: its lock file must not be opened here
  // (owner_lock.h).
  if (same_boot && writer.pid == self.pid && writer.pid_start == self.pid_start &&
      writer.pid_namespace == self.pid_namespace)
    return writer.journal_dir.empty() || is_own_journal(writer.journal_dir) ||
                   path_exists(join_path(writer.journal_dir, "lock"))
               ? Liveness::kLive
               : Liveness::kDead;
  if (!writer.journal_dir.empty()) {
    const std::optional<bool> locked = is_locked(writer.journal_dir);
    if (locked.has_value()) return *locked ? Liveness::kLive : Liveness::kDead;
  }
  if (!same_boot) {
    // The same host after a reboot: whatever ran before is gone. Containers share a boot id, so the host name alone
    // decides nothing.
    return !writer.host.empty() && writer.host == self.host ? Liveness::kDead : Liveness::kUnknown;
  }
  // Same boot, no lock file to be seen: recovered and removed, another container's or user's /dev/shm, private memory,
  // or a logout that unlinked the journal. In the same pid namespace the process table answers.
  if (writer.pid_namespace == self.pid_namespace && writer.pid > 0) return in_process_table(writer);
  return Liveness::kUnknown;
}

}  // namespace tracker::internal
