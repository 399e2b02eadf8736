// SPDX-License-Identifier: MIT
// doctor: the journals of this user on this machine.
#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <utility>

#include "base/fs.h"
#include "base/shell_word.h"
#include "cli/commands/doctor_parts.h"
#include "cli/output/text.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/waiting_points.h"
#include "storage/store/store.h"

namespace tracker::internal {
namespace {

uint64_t bytes_in(const std::string& dir) {
  uint64_t out = 0;
  for (const std::string& name : list_dir(dir).value_or({})) {
    struct stat st{};
    if (::lstat(join_path(dir, name).c_str(), &st) == 0 && S_ISREG(st.st_mode))
      out += static_cast<uint64_t>(st.st_size);
  }
  return out;
}

struct Tally {
  uint64_t count = 0, bytes = 0;
  std::string first;  // a folder, for the advice
  void add(const std::string& dir) {
    if (count++ == 0) first = dir;
    bytes += bytes_in(dir);
  }
};

struct Journals {
  // kept: of any store, for a person alone decides about them.
  Tally live, waiting, kept, unreadable, unborn, unrecovered;
  std::vector<FoundJournal> of_others;  // those that `unrecovered` counts
  Code worst = Code::kOk;               // of the unreadable ones
};

void look_at(const std::string& dir, bool kept, const Store* store, Journals* out) {
  if (kept) return out->kept.add(dir);
  if (is_locked(dir).value_or(false)) return out->live.add(dir);
  auto writer = store != nullptr ? writer_of_journal(dir, *store) : read_writer_identity(dir);
  const auto is_unreadable = [&](const Status& status) {
    if (out->worst != Code::kVersion) out->worst = status.code();
    out->unreadable.add(dir);
  };
  if (!writer.ok()) {
    if (writer.status().code() == Code::kNotFound) return;  // being made, or unborn
    return is_unreadable(writer.status());
  }
  if (store == nullptr || !is_of(*writer, *store)) {
    out->unrecovered.add(dir);
    out->of_others.push_back({dir, std::move(*writer)});
  } else if (const auto journal = DeadJournal::look(dir, &*writer); journal.status().code() == Code::kVersion) {
    is_unreadable(journal.status());  // a ring or a spill file; of damage in them a recovery saves what it can
  } else {
    out->waiting.add(dir);
  }
}

Journals find_journals(const std::string& store_path, const Store* store) {
  Journals out;
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root)) continue;
    for (const std::string& dir : list_unborn_journals(root)) out.unborn.add(dir);
    for (const std::string& name : list_dir(root).value_or({})) {
      const bool kept = name.starts_with("damaged-");
      if (kept || Id128::from_hex(name)) look_at(join_path(root, name), kept, store, &out);
    }
  }
  return out;
}

// The store that a journal can be recovered into, and the command for it.
struct Home {
  std::optional<Store> store;
  std::string to_do;
};

Home home_of(const FoundJournal& journal, const Store* here) {
  const WriterIdentity& writer = journal.writer;
  const std::string ls = fmt::format("`tracker ls --dir {}` recovers", shell_word(writer.store_path));
  const bool was_copied = here != nullptr && parent_path(journal.dir) == store_journal_root(here->path());
  if (!was_copied) {
    auto store = Store::open(writer.store_path);
    if (store.ok() && is_of(writer, *store)) return {std::move(*store), ls + " them"};
    if (writer.store.is_zero()) return {std::nullopt, ls + " them, when that store can be made"};
  }
  if (here != nullptr && here->id() == writer.store)
    return {*here,
            fmt::format("`tracker doctor --recover {}` recovers them into this copy of it", shell_word(here->path()))};
  return {std::nullopt,
          ls + " them when it is back there, `tracker doctor --recover DIR` in a copy of it that DIR names; `rm -r` of "
               "the folders removes them for ever"};
}

WriterSnapshot stored_in(const std::optional<Store>& store, const WriterIdentity& writer) {
  const auto run = store ? store->find_run_by_uid(writer.run.uid, writer.run.project) : std::nullopt;
  for (const std::string& path : run ? run->writer_dbs() : std::vector<std::string>()) {
    if (path.find(writer.writer.hex()) == std::string::npos) continue;
    const auto reader = WriterReader::open(path);
    if (auto snapshot = reader.ok() ? (*reader)->snapshot() : reader.status(); snapshot.ok())
      return std::move(*snapshot);
  }
  return {};
}

uint64_t points_in(const FoundJournal& journal, const std::optional<Store>& store) {
  auto read = DeadJournal::look(journal.dir, &journal.writer);
  return read.ok() ? unstored_logged(stored_in(store, journal.writer), read->get()).points : 0;
}

// One fact each, and a line of advice for those of one store.
void list_unrecovered(const Journals& found, const Store* here, int64_t now_us, DoctorReport* out) {
  DoctorSection section{"Unrecovered journals", {}};
  std::map<std::pair<std::string, std::string>, Tally> stores;  // by path and what to type
  for (const FoundJournal& journal : found.of_others) {
    const WriterIdentity& writer = journal.writer;
    const Home home = home_of(journal, here);
    stores[{writer.store_path, home.to_do}].add(journal.dir);
    if (section.facts.size() == kUnrecoveredListed) continue;
    const uint64_t points = points_in(journal, home.store), bytes = bytes_in(journal.dir);
    add_fact(&section, writer.writer.hex(),
             Value::Map{{"path", journal.dir},
                        {"store", writer.store_path},
                        {"project", writer.run.project},
                        {"id", writer.run.id},
                        {"begun_us", writer.started_us},
                        {"points", static_cast<int64_t>(points)},
                        {"bytes", static_cast<int64_t>(bytes)},
                        {"to_do", home.to_do}},
             fmt::format("{}  {}/{} of {}  begun {}  {}  {}", journal.dir, writer.run.project, writer.run.id,
                         writer.store_path, ago_text(writer.started_us, now_us), counted(points, "point"),
                         bytes_text(bytes)));
  }
  out->sections.push_back(std::move(section));
  for (const auto& [store, tally] : stores)
    out->advice.push_back({Code::kOk,
                           fmt::format("{} of dead processes of the store {} ({})", counted(tally.count, "journal"),
                                       store.first, tally.first),
                           store.second});
}

}  // namespace

std::vector<FoundJournal> unrecovered_journals(const std::string& store_path) {
  const auto store = Store::open(store_path);
  return find_journals(store_path, store.ok() ? &*store : nullptr).of_others;
}

void examine_journals(const std::string& store_path, int64_t now_us, DoctorReport* out) {
  const auto opened = Store::open(store_path);
  const Store* store = opened.ok() ? &*opened : nullptr;
  const Journals found = find_journals(store_path, store);
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
  add("of_other_stores", found.unrecovered);
  out->sections.push_back(std::move(section));
  const auto advise = [out](const Tally& tally, const std::string& what, const char* advice, Code code = Code::kOk) {
    if (tally.count > 0) out->advice.push_back({code, fmt::format("{} ({})", what, tally.first), advice});
  };
  advise(found.waiting, counted(found.waiting.count, "journal") + " of dead processes wait for recovery",
         "`tracker ls` or the next run recovers them");
  advise(found.kept, counted(found.kept.count, "damaged journal") + " kept by a recovery",
         "what could be read is in the run; remove the folder when it is no longer needed");
  advise(found.unreadable, counted(found.unreadable.count, "journal") + " that cannot be read",
         "`tracker verify` says more",
         found.unreadable.count > 0 && found.worst == Code::kVersion ? Code::kVersion : Code::kCorrupt);
  advise(found.unborn, counted(found.unborn.count, "journal") + " of processes that died while they made it",
         "`tracker gc` removes them");
  list_unrecovered(found, store, now_us, out);
}

}  // namespace tracker::internal
