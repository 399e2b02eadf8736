// SPDX-License-Identifier: MIT
#include "journal/ring/liveness.h"

#include <signal.h>

#include <cerrno>

#include "base/fs.h"
#include "journal/ring/owner_lock.h"
#include "journal/ring/place.h"

namespace tracker::internal {
namespace {

bool is_here(const WriterIdentity& writer, const WriterIdentity& self) {
  return !writer.boot_id.empty() && writer.boot_id == self.boot_id && writer.pid_namespace == self.pid_namespace;
}

// `dir`: of its journal, empty where none was found.
Liveness probe(const WriterIdentity& writer, const std::string& dir) {
  if (writer.received) return Liveness::kUnknown;
  const WriterIdentity self = this_process();
  // A writer of this very process that another copy of the library made: its lock file must not be opened here
  // (owner_lock.h).
  if (is_here(writer, self) && is_same_process(writer, self))
    return writer.journal_dir.empty() || is_own_journal(writer.writer.hex()) || !dir.empty() ? Liveness::kLive
                                                                                             : Liveness::kDead;
  if (!dir.empty()) {
    const std::optional<bool> locked = is_locked(dir);
    if (locked.has_value() && !*locked) return Liveness::kDead;
    if (locked.has_value()) {
      const Liveness process = in_process_table(writer);
      // Of a process that is known to be dead a recoverer holds it. Of one in another pid namespace nothing is known,
      // and where only the OFD lock is held that may be by a child that it has forked.
      if (process == Liveness::kUnknown && !is_locked_by_process(dir).value_or(true)) return Liveness::kUnknown;
      return process == Liveness::kDead ? Liveness::kDead : Liveness::kLive;
    }
  }
  if (writer.boot_id.empty() || writer.boot_id != self.boot_id) {
    // The same host after a reboot: whatever ran before is gone. Containers share a boot id, so the host name alone
    // decides nothing.
    return !writer.host.empty() && writer.host == self.host ? Liveness::kDead : Liveness::kUnknown;
  }
  // Same boot, no lock file to be seen: recovered and removed, another container's or user's /dev/shm, private memory,
  // or a logout that unlinked the journal. In the same pid namespace the process table answers.
  return in_process_table(writer);
}

}  // namespace

Liveness in_process_table(const WriterIdentity& writer) {
  const WriterIdentity self = this_process();
  if (!is_here(writer, self) || writer.pid <= 0) return Liveness::kUnknown;
  if (writer.pid == self.pid) return is_same_process(writer, self) ? Liveness::kLive : Liveness::kDead;
  auto stat = read_file("/proc/" + std::to_string(writer.pid) + "/stat", 4096);
  if (stat.ok())
    return pid_start_of(*stat) == writer.pid_start && !is_zombie(*stat) ? Liveness::kLive : Liveness::kDead;
  // /proc may hide the processes of other users (hidepid), or be missing.
  return ::kill(static_cast<pid_t>(writer.pid), 0) != 0 && errno == ESRCH ? Liveness::kDead : Liveness::kUnknown;
}

std::string find_journal(const WriterIdentity& writer, const std::string& store_path) {
  if (writer.journal_dir.empty() || writer.writer.is_zero()) return "";
  for (const std::string& root : journal_roots(store_path)) {
    std::string dir = join_path(root, writer.writer.hex());
    if (path_exists(join_path(dir, "lock"))) return dir;
  }
  return "";
}

Liveness probe_writer(const WriterIdentity& writer, const std::string& store_path) {
  return probe(writer, find_journal(writer, store_path));
}

Liveness probe_journal(const WriterIdentity& writer, const std::string& dir) {
  return probe(writer, path_exists(join_path(dir, "lock")) ? dir : "");
}

}  // namespace tracker::internal
