// SPDX-License-Identifier: MIT
#include "storage/recovery/live_writers.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/ring/definitions.h"
#include "journal/ring/liveness.h"
#include "journal/ring/owner_lock.h"
#include "journal/ring/place.h"
#include "storage/recovery/journal_home.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

struct FoundJournal {
  std::string dir;
  WriterIdentity identity;
};

std::vector<FoundJournal> journals_of(const Store& store, const Id128& uid) {
  std::vector<FoundJournal> out;
  for (const std::string& root : journal_roots(store.path())) {
    const auto names = list_dir(root);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (!Id128::from_hex(name)) continue;
      const std::string dir = join_path(root, name);
      const auto writer = writer_of_journal(dir, store);
      if (writer.ok() && writer->run.uid == uid && is_of(*writer, store)) out.push_back({dir, *writer});
    }
  }
  return out;
}

// A writer that has recorded its end is alive only while it holds its lock: its process is about to exit.
std::optional<LiveWriter> live_writer(const WriterSnapshot& writer, const std::string& store_path, int64_t now_us) {
  const WriterIdentity& who = writer.identity;
  if (writer.end || writer.recovered) {
    const std::string dir = find_journal(who, store_path);
    const bool held = !dir.empty() && is_locked(dir).value_or(false);
    return held ? std::optional(LiveWriter{who, true}) : std::nullopt;
  }
  switch (probe_writer(who, store_path)) {
    case Liveness::kLive: return LiveWriter{who, true};
    case Liveness::kDead: return std::nullopt;
    case Liveness::kUnknown: break;
  }
  const int64_t last_us = std::max(writer.heartbeat_us, who.started_us);
  return last_us > now_us - kHeartbeatTrust.count() ? std::optional(LiveWriter{who, false}) : std::nullopt;
}

}  // namespace

std::string LiveWriter::text() const {
  return seen ? fmt::format("pid {} on {} writes it", identity.pid, identity.host)
              : fmt::format("pid {} on {}, which cannot be seen from here, wrote a heartbeat within the last minute",
                            identity.pid, identity.host);
}

std::vector<LiveWriter> live_writers(const Store& store, const Id128& uid, const std::string& run_path, int64_t now_us,
                                     std::vector<UnreadWriter>* unread) {
  std::vector<LiveWriter> out;
  const auto note = [unread](const std::string& path, const Status& status) {
    if (unread != nullptr) unread->push_back({path, status});
  };
  const auto add = [&out](LiveWriter writer) {
    const bool known = std::any_of(out.begin(), out.end(), [&writer](const LiveWriter& other) {
      return other.identity.writer == writer.identity.writer;
    });
    if (!known) out.push_back(std::move(writer));
  };
  for (const FoundJournal& journal : journals_of(store, uid))
    if (is_locked(journal.dir).value_or(false)) add({journal.identity, true});
  for (const std::string& path : RunFolder{RunIdentity{}, run_path}.writer_dbs()) {
    auto reader = WriterReader::open(path);
    auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    if (!snapshot.ok()) {
      note(path, snapshot.status());
      continue;
    }
    for (const LogDamage& damage : snapshot->damage)
      if (damage.code == Code::kVersion) note(path, Status(damage.code, damage.what));
    if (auto live = live_writer(*snapshot, store.path(), now_us)) add(std::move(*live));
  }
  return out;
}

std::optional<LiveWriter> other_writer(const std::vector<WriterIdentity>& locked,
                                       const std::vector<WriterSnapshot>& snapshots, const std::string& store_path) {
  const WriterIdentity self = this_process();
  const auto is_other = [&self](const WriterIdentity& who) {
    return who.pid != self.pid || who.host != self.host || who.pid_namespace != self.pid_namespace;
  };
  for (const WriterIdentity& who : locked)
    if (is_other(who)) return LiveWriter{who, true};
  for (const WriterSnapshot& writer : snapshots)
    if (auto live = live_writer(writer, store_path, realtime_us()); live && is_other(live->identity)) return live;
  return std::nullopt;
}

std::vector<WriterIdentity> journal_writers_of(const Store& store, const Id128& uid) {
  std::vector<WriterIdentity> out;
  for (FoundJournal& journal : journals_of(store, uid)) out.push_back(std::move(journal.identity));
  return out;
}

std::vector<std::string> journal_dirs_of(const Store& store, const Id128& uid) {
  std::vector<std::string> out;
  for (const FoundJournal& journal : journals_of(store, uid)) out.push_back(journal.dir);
  return out;
}

}  // namespace tracker::internal
