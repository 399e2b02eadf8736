// SPDX-License-Identifier: MIT
#include "storage/store/run_folder.h"

#include <fmt/format.h>

#include <map>

#include "base/fs.h"
#include "model/key.h"
#include "storage/database/writer_parts.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/document.h"
#include "storage/writer/store_files.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

constexpr int kRunVersion = 1;

constexpr size_t kHexDigits = 32;

}  // namespace

std::string store_document(const Id128& id) {
  return to_json(Value::Map{{"format", "tracker-store"}, {"version", kStoreVersion}, {"id", id.hex()}}, 2) + "\n";
}

Result<Id128> read_store_document(const std::string& path) {
  auto value = read_document(path, "tracker-store", kStoreVersion);
  if (!value.ok()) return value.status();
  const auto id = Id128::from_hex(value->text_or("id", ""));
  if (!id || id->is_zero()) return Status(Code::kCorrupt, fmt::format("{}: no valid id", path));
  return *id;
}

Value this_process_document() {
  const WriterIdentity self = this_process();
  return Value::Map{{"host", self.host},
                    {"boot_id", self.boot_id},
                    {"pid", self.pid},
                    {"pid_start", self.pid_start},
                    {"pid_namespace", static_cast<int64_t>(self.pid_namespace)},
                    {"image", self.image}};
}

std::string run_document(const RunIdentity& run, const std::optional<std::string>& launch) {
  Value::Map map{{"format", "tracker-run"}, {"version", kRunVersion}};
  const Value identity = run.to_value();
  for (const auto& item : *identity.as_map()) map.push_back(item);
  if (launch) map.emplace_back("launch", *launch);
  map.emplace_back("made_by", this_process_document());
  return to_json(map, 2) + "\n";
}

Result<RunIdentity> read_run_document(const std::string& path) {
  auto value = read_document(path, "tracker-run", kRunVersion);
  if (!value.ok()) return value.status();
  auto run = RunIdentity::from_value(*value);
  if (!run.ok()) return Status(Code::kCorrupt, fmt::format("{}: {}", path, run.status().message()));
  return run;
}

Result<RunFolder> read_run_folder(const std::string& path) {
  RunFolder out{{}, path, ""};
  auto identity = read_run_document(join_path(path, kRunFile));
  if (identity.ok()) {
    out.identity = std::move(*identity);
    return out;
  }
  if (identity.status().code() == Code::kVersion) return identity.status();
  // The first file that names a run, or one that names the run of this place: a file of another run may have been
  // copied here.
  for (const std::string& file : out.writer_dbs()) {
    const auto reader = WriterReader::open(file);
    if (!reader.ok() || (*reader)->identity().run.uid.is_zero()) continue;
    const RunFolder said{(*reader)->identity().run, path, ""};
    if (!out.problem.empty() && !is_in_own_place(said)) continue;
    out.identity = said.identity;
    out.problem_code = identity.status().code();
    out.problem = fmt::format("{}; the run's identity is from {}", identity.status().message(), file);
    if (is_in_own_place(said)) break;
  }
  if (!out.problem.empty()) return out;
  return identity.status();
}

namespace {

bool is_damage(Code code) { return code == Code::kCorrupt || code == Code::kLimit; }

// The launch of the first attempt, whose claim is run.json: the ranks of that launch use it to join.
std::optional<std::string> first_launch(const RunFolder& run) {
  for (const std::string& file : run.writer_dbs()) {
    const auto reader = WriterReader::open(file);
    if (reader.ok() && (*reader)->identity().attempt <= 1) return (*reader)->identity().launch;
  }
  return std::nullopt;
}

}  // namespace

Status repair_run_document(RunFolder* run) {
  if (run->problem.empty()) return {};
  if (!is_damage(run->problem_code) && run->problem_code != Code::kNotFound) return {};  // it may be intact
  const auto kept =
      repair_document(join_path(run->path, kRunFile), run_document(run->identity, first_launch(*run)),
                      [](const std::string& path) { return !is_damage(read_run_document(path).status().code()); });
  run->problem += !kept.ok()      ? "; it cannot be written again: " + kept.status().message()
                  : kept->empty() ? "; it is complete again"
                                  : fmt::format("; it is written again, the damaged one is {}", *kept);
  return kept.status();
}

std::vector<ForeignFile> files_of_other_runs(const RunFolder& run) {
  std::vector<ForeignFile> out;
  for (const std::string& path : run.writer_dbs())
    if (const auto reader = WriterReader::open(path); reader.ok() && (*reader)->identity().run.uid != run.identity.uid)
      out.push_back({last_name(path).substr(0, kHexDigits), (*reader)->identity().run});
  return out;
}

std::string place_of(const RunFolder& run) { return last_name(parent_path(run.path)) + "/" + last_name(run.path); }

bool is_in_own_place(const RunFolder& run) {
  const std::string project = folder_name(run.identity.project) + "/", place = place_of(run);
  return place == project + folder_name(run.identity.id) || place == project + run.identity.uid.hex();
}

std::optional<WriterIdentity> read_claim_maker(const std::string& path) {
  const bool is_run = last_name(path) == kRunFile;
  auto document = is_run ? read_document(path, "tracker-run", kRunVersion)
                         : read_document(path, "tracker-attempt", kAttemptVersion);
  const Value* maker = document.ok() ? document->find("made_by") : nullptr;
  if (maker == nullptr || !maker->is_map()) return std::nullopt;
  WriterIdentity out;
  out.host = maker->text_or("host", "");
  out.boot_id = maker->text_or("boot_id", "");
  out.pid = maker->int_or("pid", 0);
  out.pid_start = maker->int_or("pid_start", 0);
  out.pid_namespace = static_cast<uint64_t>(maker->int_or("pid_namespace", 0));
  out.image = maker->int_or("image", 0);
  return out;
}

std::vector<std::string> RunFolder::writer_dbs(Status* unlisted) const {
  std::vector<std::string> out;
  auto names = list_dir(path);
  if (!names.ok() && unlisted != nullptr) *unlisted = names.status();
  if (!names.ok()) return out;
  std::map<std::string, PartFile> lowest;  // by writer
  for (const std::string& name : *names) {
    const int number = part_number(name);
    if (number == 0) continue;
    const PartFile file{number, join_path(path, name), is_frames_path(name)};
    const auto [at, is_new] = lowest.try_emplace(name.substr(0, kHexDigits), file);
    PartFile& known = at->second;
    // The names are sorted, so that of a part in both kinds the database comes first.
    if (!is_new && (number < known.number || (number == known.number && !is_whole_database(known.path)))) known = file;
  }
  for (auto& [writer, file] : lowest) out.push_back(std::move(file.path));
  return out;
}

}  // namespace tracker::internal
