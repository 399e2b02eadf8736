// SPDX-License-Identifier: MIT
#include "cli/commands/doctor.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/commands/doctor_parts.h"
#include "cli/output/show_sections.h"
#include "cli/output/text.h"
#include "codec/frame.h"
#include "codec/segment.h"
#include "codec/shuffled.h"
#include "journal/ring/place.h"
#include "journal/ring/ring_format.h"
#include "model/did_you_mean.h"
#include "model/key.h"
#include "model/redact/redact.h"
#include "model/variables.h"
#include "run/ranks.h"
#include "storage/catalog/catalog.h"
#include "storage/database/schema.h"
#include "storage/frames/frames_format.h"
#include "storage/store/run_folder.h"
#include "storage/store/share_store.h"
#include "storage/writer/store_files.h"
#include "tracker/version.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): not in every libc's headers

namespace tracker::internal {
namespace {

const char* get_env(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe): sets none

void examine_versions(DoctorReport* out) {
  DoctorSection section{"Versions", {}};
  add_fact(&section, "tracker", TRK_VERSION_STRING);
  add_fact(&section, "sqlite", sqlite_version());
  add_fact(&section, "zstd", zstd_version());
  const std::pair<const char*, int> formats[] = {{"store", kStoreVersion},
                                                 {"database", kDatabaseVersion},
                                                 {"frame", kFrameVersion},
                                                 {"segment", kSegmentVersion},
                                                 {"frames_file", kFramesMagic.back() - '0'},
                                                 {"ring", static_cast<int>(kRingVersion)},
                                                 {"catalog", kCatalogVersion}};
  Value map = Value::map();
  std::string text;
  for (const auto& [name, version] : formats) {
    map.set(name, version);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, version);
  }
  add_fact(&section, "formats", map, text);
  out->sections.push_back(std::move(section));
}

std::string origin_of(const std::string& given, const std::string& path) {
  if (!given.empty()) return "--dir";
  const char* variable = get_env("TRACKER_DIR");
  if (variable != nullptr && *variable != 0) return "TRACKER_DIR";
  return is_directory(path) ? "the nearest .tracker upward" : "no .tracker upward: here";
}

uint64_t count_runs(const std::string& store) {
  uint64_t out = 0;
  const std::string runs = join_path(store, kRunsFolder);
  for (const std::string& project : list_dir(runs).value_or({}))
    out += list_dir(join_path(runs, project)).value_or({}).size();
  return out;
}

void examine_space(const std::string& path, DoctorSection* section, DoctorReport* out) {
  struct statvfs st{};
  if (::statvfs(path.c_str(), &st) != 0) return;
  const uint64_t free = uint64_t{st.f_bavail} * st.f_frsize, total = uint64_t{st.f_blocks} * st.f_frsize;
  add_fact(section, "free_bytes", static_cast<int64_t>(free),
           fmt::format("{} of {}", bytes_text(free), bytes_text(total)));
  if (free < kFreeBytesLow || static_cast<double>(free) < kFreeShareLow * static_cast<double>(total))
    out->advice.push_back(
        {Code::kOk, fmt::format("only {} are free where the store lies", bytes_text(free)),
         "`tracker rm` and `tracker gc` make room; a full disk drops nothing until the journal is full"});
}

// The nearest folder that is there: what a store would be made in.
std::string existing(std::string path) {
  while (path != "/" && !path_exists(path)) path = parent_path(path);
  return path;
}

// Which users may write the store, and what helps where this user may not, or the group may write only a part of it.
void examine_rights(const std::string& path, const std::string& there, DoctorSection* section, DoctorReport* out) {
  const std::string runs = join_path(path, kRunsFolder);
  const bool is_shared = is_shared_folder(there);
  add_fact(section, "shared", is_shared, is_shared ? "yes: its group reads and writes it" : "no: as its modes say");
  const bool top = ::access(there.c_str(), W_OK | X_OK) == 0;
  const bool writable = top && (!path_exists(runs) || ::access(runs.c_str(), W_OK | X_OK) == 0);
  add_fact(section, "writable", writable, writable ? "yes" : "no");
  const std::string& closed = top ? runs : there;
  if (!writable)
    out->advice.push_back({Code::kOk, fmt::format("{} cannot be written by this user", closed),
                           there == path ? way_into(path) + "; or choose another store with TRACKER_DIR"
                                         : "choose another store with TRACKER_DIR"});
  else if (is_shared && is_directory(runs) && !is_shared_folder(runs))
    out->advice.push_back(
        {Code::kOk, fmt::format("{} is its group's, and {} in it is not", path, runs), way_into(path)});
}

StoreFilesChoice examine_store(const std::string& given, const std::string& path, DoctorReport* out) {
  DoctorSection section{"Store", {}};
  add_fact(&section, "path", path);
  add_fact(&section, "from", origin_of(given, path));
  const auto store = Store::open(path);
  const bool other = !store.ok() && path_exists(path) && !is_directory(path);
  const bool forbidden = !store.ok() && store.status().hint() == way_into(path);
  add_fact(&section, "exists", store.ok() || forbidden,
           store.ok()  ? "yes"
           : forbidden ? "yes, and this user may not read it"
           : other     ? "no, what is there is no folder"
                       : "no");
  if (store.ok()) {
    add_fact(&section, "id", store->id().hex());
    const uint64_t runs = count_runs(path);
    add_fact(&section, "runs", static_cast<int64_t>(runs), count_text(runs));
    if (!store->problem().empty())
      out->advice.push_back({Code::kCorrupt, store->problem(), "the next run writes it again; nothing is lost"});
  } else if (store.status().code() == Code::kNotFound) {
    const bool has_runs = !list_dir(join_path(path, kRunsFolder)).value_or({}).empty();
    out->advice.push_back(
        has_runs ? DoctorAdvice{Code::kOk, store.status().message(), store.status().hint()}
                 : DoctorAdvice{Code::kOk, fmt::format("there is no store at {}", path), "the first run makes it"});
  } else if (forbidden) {
    out->advice.push_back({Code::kIo, store.status().message(), store.status().hint()});
  } else {
    out->advice.push_back({store.status().code() == Code::kVersion ? Code::kVersion : Code::kCorrupt,
                           store.status().message(), "`tracker verify` says more"});
  }
  const std::string there = existing(path);
  const StoreFilesChoice files = choose_store_files(there, store_files_option(), false);
  add_fact(&section, "file_system", files.file_system);
  examine_space(there, &section, out);
  examine_rights(path, there, &section, out);
  add_fact(&section, "files", store_files_name(files.kind),
           files.kind == StoreFiles::kFrames ? ".frames files, a database at a run's end" : "a database a writer");
  if (!files.why.empty()) add_fact(&section, "files_why", files.why);
  out->sections.push_back(std::move(section));
  return files;
}

void examine_journal(const std::string& store, const StoreFilesChoice& files, DoctorReport* out) {
  const JournalPlace place = choose_place("", store, false);
  DoctorSection section{"Journal", {}};
  const std::string kind = journal_kind_name(place.kind);
  add_fact(&section, "kind", kind);
  add_fact(&section, "folder", place.root.empty() ? Value() : Value(place.root),
           place.root.empty() ? "none: private memory" : place.root);
  add_fact(&section, "budget_bytes", static_cast<int64_t>(place.budget_bytes), bytes_text(place.budget_bytes));
  add_fact(&section, "why", place.why.empty() ? Value() : Value(place.why),
           place.why.empty() ? "shared memory is the best there is, and it has room" : place.why);
  add_fact(&section, "guarantees", guarantees_text(kind, files.file_system));
  if (place.kind != JournalKind::kShm)
    out->advice.push_back({Code::kOk, fmt::format("the journal is \"{}\": {}", kind, place.why),
                           !place.to_do.empty()
                               ? place.to_do
                               : "give the container more shared memory (docker run --shm-size=1g), or set "
                                 "TRACKER_SHM_DIR to another tmpfs"});
  out->sections.push_back(std::move(section));
}

void examine_limits(DoctorReport* out) {
  DoctorSection section{"Limits", {}};
  add_fact(&section, "key_bytes", static_cast<int64_t>(kKeyBytesMax), bytes_text(kKeyBytesMax));
  add_fact(&section, "label_bytes", static_cast<int64_t>(kLabelBytesMax), bytes_text(kLabelBytesMax));
  add_fact(&section, "ring_text_bytes", static_cast<int64_t>(kInlineTextBytesMax), bytes_text(kInlineTextBytesMax));
  add_fact(&section, "ring_bytes", static_cast<int64_t>(kRingBytesMax), bytes_text(kRingBytesMax));
  add_fact(&section, "journal_bytes", static_cast<int64_t>(kJournalBytesMax), bytes_text(kJournalBytesMax));
  out->sections.push_back(std::move(section));
}

void examine_ulimit(const char* key, int resource, uint64_t low, const char* what, DoctorSection* section,
                    DoctorReport* out) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  const bool none = limit.rlim_cur == RLIM_INFINITY;
  add_fact(section, key, none ? Value() : Value(static_cast<int64_t>(limit.rlim_cur)),
           none ? "unlimited" : std::to_string(limit.rlim_cur));
  if (!none && limit.rlim_cur < low)
    out->advice.push_back({Code::kOk, fmt::format("{} is limited to {}", what, limit.rlim_cur),
                           "raise it with ulimit, or in the job's settings"});
}

void examine_machine(int64_t now_us, DoctorReport* out) {
  constexpr int64_t kYear2020Us = 1'577'836'800'000'000;
  DoctorSection section{"Machine", {}};
  add_fact(&section, "host", this_process().host);
  constexpr uint64_t kNoLimit = 1ull << 60;  // the first version of cgroups says so with a number near 2^63
  const uint64_t memory = cgroup_memory_limit();
  add_fact(&section, "memory_limit_bytes", memory >= kNoLimit ? Value() : Value(static_cast<int64_t>(memory)),
           memory >= kNoLimit ? "none" : bytes_text(memory));
  examine_ulimit("open_files", RLIMIT_NOFILE, kOpenFilesLow, "the number of open files", &section, out);
  examine_ulimit("file_size", RLIMIT_FSIZE, kFreeBytesLow, "the size of a file", &section, out);
  examine_ulimit("address_space", RLIMIT_AS, kAddressSpaceLow, "the address space", &section, out);
  const char* ticks = kTickKind == TickKind::kTsc ? "tsc" : kTickKind == TickKind::kCntvct ? "cntvct" : "monotonic";
  add_fact(&section, "ticks", ticks);
  add_fact(&section, "time_us", now_us, time_text(now_us));
  timex clock{};
  const int state = ::adjtimex(&clock);
  const bool known = state >= 0, synchronised = known && state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  add_fact(&section, "clock_synchronised", known ? Value(synchronised) : Value(),
           !known         ? "unknown"
           : synchronised ? "yes"
                          : "no");
  if (now_us < kYear2020Us)
    out->advice.push_back({Code::kOk, "the clock says " + time_text(now_us), "set it: runs carry its times"});
  else if (known && !synchronised)
    out->advice.push_back({Code::kOk, "the clock is not synchronised, as far as the kernel knows",
                           "times of several hosts do not compare; order within a run does not depend on it"});
  out->sections.push_back(std::move(section));
}

void examine_launch(DoctorReport* out) {
  DoctorSection section{"Launch", {}};
  const auto rank = resolve_rank(RankRequest{}, get_env);
  if (!rank.ok()) {
    out->advice.push_back({Code::kOk, rank.status().message(), "init refuses it; unset or fix the variable"});
  } else if (rank->source.empty()) {
    add_fact(&section, "launcher", Value(), "none: a process by itself");
  } else {
    add_fact(&section, "launcher", rank->source, "seen by " + rank->source);
    add_fact(&section, "rank", rank->rank, std::to_string(rank->rank));
    add_fact(&section, "world_size", rank->size_known ? Value(rank->world_size) : Value(),
             rank->size_known ? std::to_string(rank->world_size) : "unknown");
    add_fact(&section, "records", rank->is_first,
             rank->is_first ? "yes" : "not with ranks=\"first\": " + rank->gated_line());
    const bool shared = launch_key(get_env, "").has_value() || get_env("TRACKER_RUN_ID") != nullptr;
    const bool claimed = launch_claim(get_env, *rank, "here").has_value();
    add_fact(&section, "shared_run", shared,
             shared    ? "ranks find the same run"
             : claimed ? "ranks find the run of rank 0 by MASTER_ADDR, MASTER_PORT and WORLD_SIZE"
                       : "by the launcher's process");
  }
  out->sections.push_back(std::move(section));
}

// Names without the prefix, which all have in common, so that the nearest one is found by what differs.
void examine_variable(const std::string& name, DoctorReport* out) {
  const std::string rest = name.substr(kVariablePrefix.size());
  const std::vector<std::string> known(std::begin(kVariables), std::end(kVariables));
  if (std::find(known.begin(), known.end(), rest) != known.end()) return;
  const std::vector<std::string> near = close_names(rest, known, 1);
  out->advice.push_back(
      {Code::kOk,
       fmt::format("tracker does not read {}{}", name,
                   near.empty() ? "" : fmt::format("; did you mean {}{}?", kVariablePrefix, near.front())),
       "fix its name, or unset it; docs/environment.md has all that are read"});
}

void examine_environment(DoctorReport* out) {
  DoctorSection section{"Environment", {}};
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with(kVariablePrefix) || text.find('=') == std::string_view::npos) continue;
    Value value = std::string(text.substr(name.size() + 1));
    uint64_t masked = 0;
    redact(name, &value, &masked);
    add_fact(&section, name, value, *value.as_text());
    examine_variable(name, out);
  }
  std::sort(section.facts.begin(), section.facts.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  out->sections.push_back(std::move(section));
}

}  // namespace

void add_fact(DoctorSection* section, const std::string& key, Value value, std::string text) {
  section->facts.push_back({key, std::move(value), std::move(text)});
}

void add_fact(DoctorSection* section, const std::string& key, const std::string& text) {
  section->facts.push_back({key, text, text});
}

DoctorReport examine(const std::string& given_dir, int64_t now_us) {
  DoctorReport out;
  const std::string path = Store::resolve(given_dir);
  examine_versions(&out);
  const StoreFilesChoice files = examine_store(given_dir, path, &out);
  examine_journal(path, files, &out);
  examine_journals(path, now_us, &out);
  examine_limits(&out);
  examine_machine(now_us, &out);
  examine_launch(&out);
  examine_environment(&out);
  return out;
}

}  // namespace tracker::internal
