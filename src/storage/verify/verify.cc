// SPDX-License-Identifier: MIT
// verify: what the parts share, and the walk over a store.
#include "storage/verify/verify.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/fs.h"
#include "model/key.h"
#include "storage/recovery/recovery.h"
#include "storage/recovery/trash.h"
#include "storage/store/run_folder.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {
namespace {

// What a store has beside the runs.
constexpr const char* kStoreNames[] = {kStoreFile, ".gitignore", kRunsFolder,  kTrashFolder, "catalog-intake",
                                       "journal",  "blobs",      "artifacts",  "downloads",  "staging",
                                       "gated",    "server.db",  "import.lock"};

bool is_store_name(const std::string& name) {
  return name.starts_with("catalog.") || name.starts_with("journal-") || name.starts_with("server.") ||
         name == "uploads" || name.starts_with("ingest.db") || is_leftover_name(name) ||
         name.starts_with("store.json.damaged-") ||
         std::find(std::begin(kStoreNames), std::end(kStoreNames), name) != std::end(kStoreNames);
}

uint64_t bytes_of_folder(const std::string& folder) {
  uint64_t out = 0;
  const auto names = list_dir(folder);
  if (!names.ok()) return 0;
  for (const std::string& name : *names)
    if (name.ends_with(".db") || name.ends_with(".frames")) out += size_of_file(join_path(folder, name));
  return out;
}

void look_at_store_folder(Verifier& verifier, const std::string& path) {
  auto names = list_dir(path);
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (!is_store_name(name))
      verifier.note("unknown-file", join_path(path, name), "is no part of a store", "remove it where it is not wanted");
  for (const Leftover& leftover : list_leftovers(path, kLeftoverAge.count()))
    verifier.note("leftover", leftover.path, "was left half made by a process that died", "`tracker gc` removes it");
  const auto trashed = list_dir(join_path(path, kTrashFolder));
  const auto is_run = [](const std::string& name) { return name != kTrashLockFile; };
  if (trashed.ok() && std::any_of(trashed->begin(), trashed->end(), is_run))
    verifier.note("leftover", join_path(path, kTrashFolder), "holds runs whose removal was not finished",
                  "`tracker gc` removes them");
}

struct Folder {
  std::string path, name;  // name: "<project folder>/<run folder>"
};

std::vector<Folder> run_folders(Verifier& verifier, const std::string& store) {
  std::vector<Folder> out;
  const std::string runs = join_path(store, kRunsFolder);
  auto projects = list_dir(runs);
  if (!projects.ok() && projects.status().code() != Code::kNotFound)
    verifier.damage("unreadable", runs, projects.status().message(), "check the disk and its permissions");
  for (const std::string& project : projects.value_or({})) {
    const std::string path = join_path(runs, project);
    auto names = list_dir(path);
    if (!names.ok()) {
      if (is_directory(path))
        verifier.damage("unreadable", path, names.status().message(), "check the disk and its permissions");
      else verifier.note("unknown-file", path, "is no project's folder", "remove it where it is not wanted");
      continue;
    }
    for (const std::string& name : *names) out.push_back({join_path(path, name), project + "/" + name});
  }
  return out;
}

// Runs one after another; those of one uid are copies of each other. Returns the store that they say they are of.
std::optional<Id128> check_runs(Verifier& verifier, const std::vector<Folder>& folders) {
  for (const Folder& folder : folders) verifier.bytes_total += bytes_of_folder(folder.path);
  std::map<Id128, std::string> seen;
  std::optional<Id128> store;
  for (const Folder& folder : folders) {
    const RunVerdict verdict = verify_run_folder(verifier, folder.path, folder.name);
    if (verdict.store) store = verdict.store;
    if (!verdict.run) continue;
    const auto [at, is_new] = seen.emplace(verdict.run->uid, folder.path);
    if (!is_new)
      verifier.note(
          "copy", folder.path, "holds the same run as " + at->second,
          "commands by id or uid mean the one in its own folder, PROJECT/FOLDER the other; remove one of them");
  }
  return store;
}

}  // namespace

Status may_open_files() {
  std::vector<Fd> files;
  for (int i = 0; i < kVerifyFilesOpen; ++i) {
    auto file = open_file("/dev/null", O_RDONLY);
    const int error = file.ok() ? 0 : file.status().system_errno();
    if (error == EMFILE || error == ENFILE)
      return Status(Code::kIo, fmt::format("this process may open too few files: {} more are needed", kVerifyFilesOpen),
                    "raise the limit (`ulimit -n`); nothing was checked");
    if (file.ok()) files.push_back(std::move(*file));
  }
  return {};
}

void VerifyReport::add(Finding finding) {
  const bool is_note = finding.level == FindingLevel::kNote;
  ++found[static_cast<size_t>(finding.level)];
  if (findings.size() >= kFindingsMax) {
    ++left_out;
    if (is_note || notes_listed == 0) return;
    const auto note = std::find_if(findings.rbegin(), findings.rend(),
                                   [](const Finding& each) { return each.level == FindingLevel::kNote; });
    findings.erase(std::next(note).base());
    --notes_listed;
  }
  notes_listed += is_note ? 1 : 0;
  findings.push_back(std::move(finding));
}

void VerifyReport::leave_out(FindingLevel level, uint64_t more) {
  found[static_cast<size_t>(level)] += more;
  left_out += more;
}

void VerifyReport::add_findings(VerifyReport* from) {
  left_out += from->left_out;
  for (size_t level = 0; level < found.size(); ++level) found[level] += from->found[level];
  for (Finding& finding : from->findings) {
    --found[static_cast<size_t>(finding.level)];  // counted by add()
    add(std::move(finding));
  }
}

void NumberRanges::add(uint64_t first, uint64_t last) {
  count_ += last - first + 1;
  if (!ranges_.empty() && ranges_.back().second + 1 == first) ranges_.back().second = last;
  else if (ranges_.size() <= kRangesShown) ranges_.emplace_back(first, last);
}

std::string NumberRanges::text() const {
  std::string out;
  for (size_t i = 0; i < ranges_.size() && i < kRangesShown; ++i) {
    const auto& [first, last] = ranges_[i];
    out += fmt::format("{}{}", i == 0 ? "" : ", ", first);
    if (last != first) out += fmt::format("{}{}", last == first + 1 ? ", " : " to ", last);
  }
  if (ranges_.size() > kRangesShown) out += fmt::format(" and more ({} in all)", count_);
  return out;
}

void Verifier::add(Finding finding) { report.add(std::move(finding)); }

void Verifier::note(std::string kind, std::string path, std::string what, std::string advice) {
  add({FindingLevel::kNote, std::move(kind), std::move(path), std::move(what), "", std::move(advice)});
}

void Verifier::damage(std::string kind, std::string path, std::string what, std::string advice, std::string intact) {
  add({FindingLevel::kDamage, std::move(kind), std::move(path), std::move(what), std::move(intact), std::move(advice)});
}

void Verifier::failed(const std::string& kind, const std::string& path, const Status& status,
                      const std::string& advice) {
  if (status.code() == Code::kVersion)
    add({FindingLevel::kNewer, "newer-version", path, status.message(), "", "update tracker"});
  else if (status.code() == Code::kCorrupt) damage(kind, path, status.message(), advice);
  else damage("unreadable", path, status.message(), "check the disk and the file's permissions");
}

void Verifier::show(uint64_t within) {
  if (options.progress) options.progress(std::min(report.bytes + within, bytes_total), bytes_total);
}

void Verifier::count_bytes(uint64_t bytes) {
  report.bytes += bytes;
  show(0);
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return FileStamp{static_cast<uint64_t>(st.st_size), static_cast<uint64_t>(st.st_ino),
                   st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec};
}

uint64_t size_of_file(const std::string& path) { return stamp_of(path).value_or(FileStamp()).size; }

Result<VerifyReport> verify_store(const std::string& path, const VerifyOptions& options) {
  TRACKER_RETURN_IF_ERROR(may_open_files());
  Verifier verifier(options);
  const std::string file = join_path(path, kStoreFile);
  auto id = read_store_document(file);
  if (!id.ok() && id.status().code() == Code::kNotFound) return no_store_at(path);
  if (!id.ok() && id.status().code() == Code::kVersion) {
    verifier.failed("store-file", file, id.status(), "");
    return std::move(verifier.report);  // nothing in it can be judged
  }
  look_at_store_folder(verifier, path);
  const std::optional<Id128> said = check_runs(verifier, run_folders(verifier, path));
  if (!id.ok())
    verifier.failed(
        "store-file", file, id.status(),
        said ? fmt::format("write it again: {{\"format\": \"tracker-store\", \"version\": {}, \"id\": \"{}\"}}",
                           kStoreVersion, said->hex())
             : "write it again with the id that a copy of the store has");
  if (id.ok() || said) verify_journals(verifier, path, {});
  return std::move(verifier.report);
}

VerifyReport verify_runs(const std::vector<std::string>& folders, const std::string& store_path,
                         const VerifyOptions& options) {
  Verifier verifier(options);
  for (const std::string& folder : folders) verifier.bytes_total += bytes_of_folder(folder);
  std::set<Id128> runs;
  for (const std::string& folder : folders) {
    const RunVerdict verdict = verify_run_folder(verifier, folder, "");
    if (verdict.run) runs.insert(verdict.run->uid);
  }
  const auto id = read_store_document(join_path(store_path, kStoreFile));
  if (!store_path.empty() && id.ok() && !runs.empty()) verify_journals(verifier, store_path, runs);
  return std::move(verifier.report);
}

}  // namespace tracker::internal
