// SPDX-License-Identifier: MIT
// verify: the journals of dead processes on this machine. They are read as a recovery would read them, and left alone.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "storage/database/schema.h"
#include "storage/database/table_sum.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/frames_reader.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/waiting_points.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {
namespace {

constexpr int64_t kUnbornAgeS = 60;                 // as remove_unborn_journals()
constexpr int64_t kLockReplacedNs = 2'000'000'000;  // twice what a living process takes
constexpr const char* kRecoverAdvice = "the next `tracker ls` or init recovers them";
constexpr const char* kKeepAdvice =
    "the next `tracker ls` stores what can be read, counts the rest as lost and keeps the journal beside the others";

// What a writer's files hold of its journal.
struct Stored {
  uint64_t last_seq = 0;
  std::vector<RingPosition> positions;
  bool is_over = false;  // it has ended, or was recovered: its rings may go
};

Stored stored_in_database(const std::string& path) {
  Stored out;
  const bool wal = size_of_file(path + "-wal") > 0;
  auto db = Sqlite::open(path, wal ? SqliteOpen::kReadPrivateWal : SqliteOpen::kReadImmutable, 0);
  if (!db.ok() || !check_database(*db, path).ok()) return out;
  std::string damage;  // of the counts: then the log has the newest frame
  auto meta = read_meta(*db, path, &damage);
  auto positions = read_positions(*db);
  const auto newest = damage.empty() ? Result<uint64_t>(0) : newest_frame(*db);
  if (meta.ok() && positions.ok() && newest.ok())
    out = {damage.empty() ? meta->last_seq : *newest, std::move(*positions), meta->end || meta->recovered};
  return out;
}

Stored stored_in_frames(const std::string& path) {
  auto reader = FramesReader::open(path);
  auto stored = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
  if (!stored.ok()) return {};
  return {stored->last_seq, std::move(stored->positions), stored->end || stored->recovered};
}

Stored stored_of(const std::string& store_path, const WriterIdentity& writer) {
  auto store = Store::open(store_path);
  if (!store.ok()) return {};
  auto folder = store->find_run(writer.run.project, writer.run.id);
  if (!folder || folder->identity.uid != writer.run.uid) {
    folder.reset();
    for (RunFolder& other : store->list_runs(writer.run.project))
      if (other.identity.uid == writer.run.uid) folder = std::move(other);
  }
  if (!folder) return {};
  const std::vector<PartFile> parts = parts_of(join_path(folder->path, writer.writer.hex() + ".db"));
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    Stored stored = part->is_frames ? stored_in_frames(part->path) : stored_in_database(part->path);
    if (stored.last_seq > 0) return stored;  // else its state frames are missing yet
  }
  return {};
}

class JournalCheck {
 public:
  JournalCheck(Verifier& verifier, const std::string& store_path, const std::set<Id128>& runs)
      : verifier_(verifier), store_path_(store_path), store_(Store::open(store_path)), runs_(runs) {}

  void look_at(const std::string& root, const std::string& name) {
    const std::string dir = join_path(root, name);
    if (!is_directory(dir)) return;
    if (name.starts_with(".new-")) return look_at_unborn(dir);
    const bool kept = name.starts_with("damaged-");
    if ((!kept && !Id128::from_hex(name)) || is_own_journal(dir)) return;
    // Alone: the definitions of others may be long, and those of ours are read with its rings.
    const auto writer = writer_of(dir);
    if (!writer.ok() && writer.status().code() == Code::kNotFound) return look_at_unborn(dir);
    if (writer.ok() && !is_ours(*writer)) return;
    if (kept) return say_kept(dir);
    ++verifier_.report.journals;
    const std::optional<bool> locked = writer.ok() ? confirmed_lock(dir) : is_locked(dir);
    if (locked.value_or(false) || !is_directory(dir)) return;  // its process lives, or has ended meanwhile
    if (!writer.ok()) {
      if (!runs_.empty()) return;
      verifier_.failed("journal-definitions", join_path(dir, "defs"), writer.status(),
                       "its rings cannot be assigned to a run; remove the folder when nothing is missing");
      if (writer.status().code() == Code::kCorrupt) say_nameless(dir);
      return;
    }
    if (!locked) return say_without_lock(dir);
    read(dir, *writer);
  }

 private:
  Result<WriterIdentity> writer_of(const std::string& dir) const {
    return store_.ok() ? writer_of_journal(dir, *store_) : read_writer_identity(dir);
  }

  bool is_ours(const WriterIdentity& writer) const {
    return store_.ok() && is_of(writer, *store_) && (runs_.empty() || runs_.contains(writer.run.uid));
  }

  // A process that ends takes its journal away file by file, and one that lives replaces a lock that was removed: only
  // a lock that stays away is missing.
  static std::optional<bool> confirmed_lock(const std::string& dir) {
    std::optional<bool> locked = is_locked(dir);
    for (const int64_t end_ns = monotonic_ns() + kLockReplacedNs;
         !locked && is_directory(dir) && monotonic_ns() < end_ns; locked = is_locked(dir))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return locked;
  }

  void look_at_unborn(const std::string& dir) {
    struct stat st{};
    if (!runs_.empty() || ::lstat(dir.c_str(), &st) != 0 || ::time(nullptr) - st.st_mtime < kUnbornAgeS) return;
    if (is_locked(dir).value_or(false)) return;
    verifier_.note("leftover", dir, "is a journal of a process that died while it made it", "`tracker gc` removes it");
  }

  void say_kept(const std::string& dir) {
    verifier_.note("journal-kept", dir, "is a damaged journal that a recovery has kept",
                   "what could be read of it is in the run; remove it when it is no longer needed");
  }

  // Without the files of its writer it is unknown what it holds beside what is stored; that it holds something is seen.
  void say_nameless(const std::string& dir) {
    uint64_t rings = 0, bytes = 0;
    for (const std::string& name : list_dir(dir).value_or({})) {
      if (!name.starts_with("ring-") && name != "spill") continue;
      rings += name != "spill";
      bytes += size_of_file(join_path(dir, name));
    }
    if (bytes == 0) return;
    verifier_.note("unrecovered", dir,
                   fmt::format("an unknown number of points waits in {} ring{} and spill file, {} bytes, of an "
                               "unknown writer",
                               rings, rings == 1 ? "" : "s", bytes),
                   "they are kept: a store that holds a database of this name recovers them");
  }

  void say_without_lock(const std::string& dir) {
    verifier_.damage("journal", dir, "has no lock file, so whether its process lives is unknown",
                     "when that process is dead, an empty file `lock` in it lets it be recovered");
  }

  void read(const std::string& dir, const WriterIdentity& known) {
    auto journal = DeadJournal::open(dir, &known);
    if (!journal.ok()) {
      const Code code = journal.status().code();
      if (code != Code::kBusy && code != Code::kNotFound)
        verifier_.failed("journal", dir, journal.status(), kKeepAdvice);
      return;
    }
    const WriterIdentity& writer = (*journal)->identity();
    const Stored stored = stored_of(store_path_, writer);
    uint64_t points = 0;
    if (!stored.is_over && !(*journal)->end() && !(*journal)->series().empty()) (*journal)->miss_rings();
    const MissingFrames missing = missing_frames(**journal, stored.last_seq, stored.positions);
    if (!missing.problem.empty()) (*journal)->add_problem(dir + ": " + missing.problem);
    for (const FrameRecord& frame : missing.frames)
      if (auto view = FrameView::parse(frame.bytes); view.ok()) points += view->points();
    (*journal)->start(missing.positions, stored.last_seq == 0);
    for (;;) {
      FrameBuilder builder;
      std::vector<RingPosition> positions;
      if (!(*journal)->next(&builder, &positions)) break;
      points += builder.take().points();
    }
    for (const std::string& problem : (*journal)->problems()) verifier_.damage("journal", dir, problem, kKeepAdvice);
    std::string what = fmt::format("{} points", points);
    if (const uint64_t rings = (*journal)->unreadable_rings(); rings > 0) {
      what = points > 0 ? what + " and " : "";
      what += fmt::format("an unknown number in {} ring{} that cannot be read", rings, rings == 1 ? "" : "s");
    }
    verifier_.note(
        "unrecovered", dir,
        fmt::format("{} of {}/{} wait for recovery: its process died", what, writer.run.project, writer.run.id),
        kRecoverAdvice);
  }

  Verifier& verifier_;
  const std::string& store_path_;
  const Result<Store> store_;
  const std::set<Id128>& runs_;
};

}  // namespace

void verify_journals(Verifier& verifier, const std::string& store_path, const std::set<Id128>& runs) {
  JournalCheck check(verifier, store_path, runs);
  for (const std::string& root : journal_roots(store_path)) {
    const auto names = list_dir(root);
    if (!names.ok()) continue;
    for (const std::string& name : *names) check.look_at(root, name);
  }
}

}  // namespace tracker::internal
