// SPDX-License-Identifier: MIT
// doctor: the journals of this user on this machine.
#include <fmt/format.h>
#include <sys/stat.h>

#include <set>

#include "base/fs.h"
#include "cli/doctor_parts.h"
#include "cli/text.h"
#include "journal/dead_journal.h"
#include "journal/place.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/lost_journals.h"
#include "storage/store/store.h"

namespace tracker::internal {
namespace {

struct Tally {
  uint64_t count = 0, bytes = 0;
  std::string first;  // a folder, for the advice
  void add(const LostJournal& journal) {
    if (count++ == 0) first = journal.dir;
    bytes += journal.bytes;
  }
  void add(const std::string& dir) {
    if (count++ == 0) first = dir;
    for (const std::string& name : list_dir(dir).value_or({})) {
      struct stat st{};
      if (::lstat(join_path(dir, name).c_str(), &st) == 0 && S_ISREG(st.st_mode))
        bytes += static_cast<uint64_t>(st.st_size);
    }
  }
};

struct Journals {
  // others: of dead processes of other stores. kept: whosever, for nobody is to do anything with them.
  Tally live, waiting, kept, unreadable, unborn, others;
  Tally awaiting;          // likewise, of stores that were never made
  std::string awaited;     // the first of these
  Code worst = Code::kOk;  // of the unreadable ones
};

void look_at(const std::string& dir, bool kept, const Store* store, const std::set<std::string>& lost, Journals* out) {
  if (lost.contains(dir)) return;
  if (kept) return out->kept.add(dir);
  if (is_locked(dir).value_or(false)) return out->live.add(dir);
  const auto writer = store != nullptr ? writer_of_journal(dir, *store) : read_writer_identity(dir);
  const auto is_unreadable = [&](const Status& status) {
    if (out->worst != Code::kVersion) out->worst = status.code();
    out->unreadable.add(dir);
  };
  if (!writer.ok()) {
    if (writer.status().code() == Code::kNotFound) return;  // being made, or unborn
    return is_unreadable(writer.status());
  }
  const bool ours = store != nullptr && is_of(*writer, dir, *store);
  if (!ours && awaits_store(*writer)) {
    if (out->awaiting.count == 0) out->awaited = writer->store_path;
    out->awaiting.add(dir);
  } else if (!ours) out->others.add(dir);
  else if (const auto journal = DeadJournal::look(dir, &*writer);
           !journal.ok() && journal.status().code() == Code::kVersion)
    is_unreadable(journal.status());  // a ring or a spill file; of damage in them a recovery saves what it can
  else out->waiting.add(dir);
}

Journals find_journals(const std::string& store_path, const std::set<std::string>& lost) {
  Journals out;
  const auto opened = Store::open(store_path);
  const Store* store = opened.ok() ? &*opened : nullptr;
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root)) continue;
    for (const std::string& dir : list_unborn_journals(root)) out.unborn.add(dir);
    for (const std::string& name : list_dir(root).value_or({})) {
      const bool kept = name.starts_with("damaged-");
      if (kept || Id128::from_hex(name)) look_at(join_path(root, name), kept, store, lost, &out);
    }
  }
  return out;
}

// One line each: where it is, whose it was, since when, and what it holds.
Tally list_lost(const std::vector<LostJournal>& journals, int64_t now_us, DoctorReport* out) {
  Tally tally;
  DoctorSection section{"Lost journals", {}};
  for (const LostJournal& journal : journals) {
    tally.add(journal);
    if (tally.count > kLostJournalsListed) continue;
    const WriterIdentity& writer = journal.writer;
    const uint64_t points = points_in_journal(journal.dir);
    add_fact(&section, writer.writer.hex(),
             Value::Map{{"path", journal.dir},
                        {"store", writer.store_path},
                        {"project", writer.run.project},
                        {"id", writer.run.id},
                        {"begun_us", writer.started_us},
                        {"points", static_cast<int64_t>(points)},
                        {"bytes", static_cast<int64_t>(journal.bytes)}},
             fmt::format("{}  {}/{} of {}  begun {}  {}  {}", journal.dir, writer.run.project, writer.run.id,
                         writer.store_path, ago_text(writer.started_us, now_us), counted(points, "point"),
                         bytes_text(journal.bytes)));
  }
  out->sections.push_back(std::move(section));
  return tally;
}

}  // namespace

void examine_journals(const std::string& store_path, int64_t now_us, DoctorReport* out) {
  const std::vector<LostJournal> lost_ones = lost_journals(store_path);
  std::set<std::string> lost_dirs;
  for (const LostJournal& journal : lost_ones) lost_dirs.insert(journal.dir);
  const Journals found = find_journals(store_path, lost_dirs);
  DoctorSection section{"Journals on this machine", {}};
  const auto add = [&section](const char* key, const Tally& tally) {
    add_fact(&section, key,
             Value::Map{{"count", static_cast<int64_t>(tally.count)}, {"bytes", static_cast<int64_t>(tally.bytes)}},
             tally.count == 0 ? "none" : fmt::format("{}, {}", count_text(tally.count), bytes_text(tally.bytes)));
  };
  add("live", found.live);
  add("waiting", found.waiting);
  add("kept_damaged", found.kept);
  add("unreadable", found.unreadable);
  add("half_made", found.unborn);
  add("of_other_stores", found.others);
  add("awaiting_a_store", found.awaiting);
  out->sections.push_back(std::move(section));
  const Tally lost = list_lost(lost_ones, now_us, out);
  const auto advise = [out](const Tally& tally, const std::string& what, const char* advice, Code code = Code::kOk) {
    if (tally.count > 0) out->advice.push_back({code, fmt::format("{} ({})", what, tally.first), advice});
  };
  advise(found.waiting, counted(found.waiting.count, "journal") + " of dead processes wait for recovery",
         "`tracker ls` or the next run recovers them");
  advise(found.kept, counted(found.kept.count, "damaged journal") + " kept by a recovery",
         "what could be read is in the run; remove the folder when nobody wants to look at it");
  advise(found.unreadable, counted(found.unreadable.count, "journal") + " that cannot be read",
         "`tracker verify` says more",
         found.unreadable.count > 0 && found.worst == Code::kVersion ? Code::kVersion : Code::kCorrupt);
  advise(found.unborn, counted(found.unborn.count, "journal") + " of processes that died while they made it",
         "`tracker gc` removes them");
  advise(
      lost, counted(lost.count, "journal") + " of dead processes whose store is gone",
      "when the store is back, `tracker ls --dir` recovers them; `tracker gc --lost-journals` removes them for ever");
  const std::string stores_it =
      fmt::format("`tracker ls --dir {}`, or a run there, makes it and stores what they hold", found.awaited);
  advise(found.awaiting, counted(found.awaiting.count, "journal") + " of dead processes whose store could not be made",
         stores_it.c_str());
  advise(found.others, counted(found.others.count, "journal") + " of dead processes of other stores",
         "`tracker ls --dir` with their store recovers them");
}

}  // namespace tracker::internal
