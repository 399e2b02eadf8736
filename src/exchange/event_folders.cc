// SPDX-License-Identifier: MIT
#include "exchange/event_folders.h"

#include <set>

#include "base/fs.h"
#include "exchange/event_file.h"
#include "exchange/import_source.h"
#include "exchange/run_import.h"
#include "exchange/wire.h"

namespace tracker::internal {
namespace {

using Folders = std::map<std::string, std::vector<std::string>>;  // their event files

constexpr int kHparamsRecordsMax = 16;  // add_hparams() writes the hyperparameters before anything else

// The properties of a folder's files that show which call wrote them.
struct Contents {
  std::string tag;  // of the numbers, if all of them have the same and there is nothing else
  bool has_one_tag = true;
  bool has_experiment = false;
  std::string session;  // the hyperparameters, as bytes

  void add(const EventValue& value) {
    if (value.tag == kExperimentTag) has_experiment = true;
    else if (value.tag == kSessionStartTag) session = value.plugin_content;
    else if (value.tag.starts_with("_hparams_/")) return;
    else if (!value.has_number || (!tag.empty() && tag != value.tag)) has_one_tag = false;
    else tag = value.tag;
  }
  bool is_of_add_hparams() const { return has_experiment && !session.empty(); }
};

void add_record(std::string_view record, Contents* out) {
  WireReader reader(record);
  WireField field, item;
  while (reader.next(&field)) {
    if (!field.is(5, WireType::kBytes)) continue;
    WireReader values(field.bytes);
    while (values.next(&item)) {
      EventValue value;
      if (item.is(1, WireType::kBytes) && read_event_value(item.bytes, &value)) out->add(value);
    }
  }
}

// Damage is named by the import.
Contents contents_of(const std::vector<std::string>& files) {
  Contents out;
  int records = 0;
  for (const std::string& path : files) {
    auto file = EventFile::open(path);
    std::string_view record;
    while (file.ok()) {
      const auto got = file->next(&record);
      if (!got.ok() || !*got) break;
      add_record(record, &out);
      if (++records >= kHparamsRecordsMax && !out.has_one_tag) return out;
    }
  }
  return out;
}

// A tag in the form that writers put into the name of a folder.
std::string folder_text(std::string_view tag) {
  std::string out(tag);
  for (char& c : out)
    if (std::string_view(" /:\\?*\"<>|").find(c) != std::string_view::npos) c = '_';
  return out;
}

// The nearest folder above it that has event files, or "".
std::string folder_above(const Folders& folders, const std::string& source, const std::string& folder) {
  for (std::string above = parent_path(folder); above.size() >= source.size() && above.starts_with(source);
       above = parent_path(above))
    if (folders.contains(above)) return above;
  return "";
}

bool has_folder_below(const Folders& folders, const std::string& folder) {
  const auto next = folders.upper_bound(folder + "/");
  return next != folders.end() && next->first.starts_with(folder + "/");
}

// A writer with several sets of hyperparameters logged several trials: each remains a run.
using Sessions = std::map<std::string, std::set<std::string>>;

}  // namespace

std::map<std::string, std::vector<EventFolder>> event_runs(ImportStore* store, const ImportOptions& options,
                                                           const std::vector<std::string>& files) {
  Folders folders;
  for (const std::string& path : files) folders[parent_path(path)].push_back(path);
  std::map<std::string, Contents> below;
  std::map<std::string, std::string> run_of;
  Sessions sessions;
  for (const auto& [folder, paths] : folders) {
    if (options.join == std::optional(false) || !is_directory(options.source)) break;
    if (store->find(RunImport::uid_of(kTensorBoardKind, folder)) != nullptr) continue;
    std::string above = folder_above(folders, options.source, folder);
    const bool joins_all = options.join.value_or(false);
    if (joins_all && above.empty() && folder != options.source && !has_folder_below(folders, folder))
      above = parent_path(folder);
    if (above.empty()) continue;
    run_of[folder] = above;
    Contents contents = contents_of(paths);
    if (contents.is_of_add_hparams()) sessions[above].insert(contents.session);
    below.emplace(folder, std::move(contents));
  }
  std::map<std::string, std::vector<EventFolder>> runs;
  for (auto& [folder, paths] : folders) {  // a folder comes before those below it
    const auto found = below.find(folder);
    EventFolder part{std::move(paths), found != below.end(), "", ""};
    if (!part.is_below) {
      runs[folder].push_back(std::move(part));
      continue;
    }
    const Contents& contents = found->second;
    std::string run = run_of[folder];
    while (run_of.contains(run) && options.join.value_or(false)) run = run_of[run];
    const std::string name = name_below(run, folder), key = folder_text(contents.tag) + "_";
    const bool is_of_scalars = contents.session.empty() && contents.has_one_tag && !contents.tag.empty() &&
                               folder_text(name).starts_with(key) && name.size() > key.size();
    const bool is_of_hparams = contents.is_of_add_hparams() && sessions[run].size() == 1;
    if (is_of_scalars) part.only_name = contents.tag + "/" + name.substr(key.size());
    else if (!is_of_hparams) part.prefix = name + "/";
    if (is_of_scalars || is_of_hparams || options.join.value_or(false)) {
      runs[run].push_back(std::move(part));
    } else {
      part.is_below = false;
      part.prefix.clear();
      runs[folder].push_back(std::move(part));
    }
  }
  return runs;
}

}  // namespace tracker::internal
