// SPDX-License-Identifier: MIT
// tracker artifact: what is stored under which name, in and out of the store.
#include "cli/commands/artifact_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "artifact/alias_history.h"
#include "artifact/artifact_store.h"
#include "base/fs.h"
#include "cli/output/progress.h"
#include "cli/output/show_sections.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "model/key.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

std::string default_project() {
  const char* given = std::getenv("TRACKER_PROJECT");
  return given != nullptr && *given != 0 ? given : "default";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

Value texts(const std::vector<std::string>& words) { return Value::List(words.begin(), words.end()); }

std::vector<std::string> lines_of(const std::vector<Status>& problems) {
  std::vector<std::string> out;
  for (const Status& problem : problems) out.push_back(problem.to_string());
  return out;
}

void print_json(Console& console, const Value& value) { console.print(visible_json(to_json(value, 2)) + "\n"); }

// What runs are called, by uid. Cost: the first question reads every run of the store.
class RunLabels {
 public:
  explicit RunLabels(const Store& store) : store_(store) {}
  std::string of(const std::string& uid) {
    if (uid.empty()) return "";
    if (!names_) {
      names_.emplace();
      for (const RunFolder& run : store_.list_runs())
        names_->emplace(run.identity.uid.hex(), run.identity.project + "/" + run.identity.id);
    }
    const auto at = names_->find(uid);
    return at != names_->end() ? at->second : "run " + uid + ", which is not among those of this store";
  }

 private:
  const Store& store_;
  std::optional<std::map<std::string, std::string>> names_;
};

int list(Console& console, const Store& store, const ArtifactOptions& options) {
  const size_t slash = options.name.rfind('/');
  std::string project = options.name.substr(0, slash);
  std::string name = slash == std::string::npos ? "" : options.name.substr(slash + 1);
  std::vector<Status> problems;
  std::vector<ArtifactInfo> found = ArtifactRegistry(store).list(project, &problems);
  if (found.empty() && slash == std::string::npos && !project.empty()) {
    // No project: an artifact, as the other commands take it.
    const auto one = find_listed_artifact(store, options.name);
    if (!one.ok() && one.status().code() != Code::kNotFound) return fail(console, one.status());
    if (one.ok()) {
      project = one->info.project;
      name = one->info.name;
      found.push_back(one->info);
    }
  }
  Value::List all;
  Table table({{"ARTIFACT"},
               {"VERSION"},
               {"TYPE", false, 6, 1},
               {"ALIASES", false, 10, 3},
               {"FILES", true, 0, 4},
               {"SIZE", true, 0, 2},
               {"CREATED", false, 0, 5}});
  bool is_named = false;
  for (const ArtifactInfo& info : found) {
    if (!name.empty() && info.name != name) continue;
    is_named = true;
    problems.insert(problems.end(), info.problems.begin(), info.problems.end());
    // Without a name the newest version of each is enough for a page.
    for (auto at = info.versions.rbegin(); at != info.versions.rend(); ++at) {
      if (at->deleted) continue;
      all.push_back(version_json(info, *at));
      table.add({info.project + "/" + info.name, at->name(), info.type, joined(at->aliases),
                 count_text(at->files + at->references), bytes_text(at->bytes),
                 ago_text(at->created_us, console.now_us)});
      if (name.empty() && !options.json) break;
    }
  }
  // A project with runs has none, which is no mistake; what nothing is called may be one.
  if (!is_named && !options.name.empty() && problems.empty() &&
      !is_directory(join_path(join_path(store.path(), kRunsFolder), folder_name(options.name))))
    return fail(console, Status(Code::kNotFound,
                                fmt::format("no artifact{} \"{}\"", slash == std::string::npos ? " and no project" : "",
                                            options.name),
                                "`tracker artifact ls` lists them"));
  if (options.json)
    print_json(console,
               Value::Map{{"store", store.path()}, {"versions", all}, {"problems", texts(lines_of(problems))}});
  else if (all.empty())
    console.print(
        visible(fmt::format("No artifacts{}{} in {}", options.name.empty() ? "" : " of ", options.name, store.path())) +
        "\n");
  else console.print(table.render(console));
  return finish_with(console, problems);
}

Result<Value::List> entries_json(const Store& store, const ArtifactVersion& version) {
  Value::List out;
  const auto manifest = StoredManifest::open(store, version.manifest);
  if (!manifest.ok()) return manifest.status();
  const Status status = manifest->visit([&](const ManifestEntry& entry) {
    Value::Map item{{"path", entry.path}, {"bytes", json_count(entry.bytes)}};
    if (entry.kind == EntryKind::kFile) item.emplace_back("digest", entry.digest.hex());
    else item.emplace_back("uri", entry.uri);
    out.emplace_back(std::move(item));
    return Status();
  });
  if (!status.ok()) return status;
  return out;
}

Value history_json(const ArtifactInfo& info) {
  Value out = Value::List();
  const auto version = [](std::optional<int64_t> number) {
    return number ? Value(fmt::format("v{}", *number)) : Value();
  };
  for (const AliasMove& move : alias_history(info))
    out.as_list()->push_back(Value::Map{{"alias", move.alias},
                                        {"from", version(move.from)},
                                        {"to", version(move.to)},
                                        {"time_us", move.time_us},
                                        {"run", move.run.empty() ? Value() : Value(move.run)}});
  return out;
}

// The last moves of all aliases of the artifact.
void print_history(Console& console, const ArtifactInfo& info, RunLabels* runs) {
  constexpr size_t kMovesShown = 20;
  const std::vector<AliasMove> moves = alias_history(info);
  if (moves.empty()) return;
  console.print(title(console, "History of aliases"));
  const auto version = [](std::optional<int64_t> number) { return number ? fmt::format("v{}", *number) : "none"; };
  for (size_t i = moves.size() - std::min(moves.size(), kMovesShown); i < moves.size(); ++i)
    console.print(fmt::format("  {}  {}: {} -> {}{}\n", time_text(moves[i].time_us), visible(moves[i].alias),
                              version(moves[i].from), version(moves[i].to),
                              moves[i].run.empty() ? "" : "  by " + visible(runs->of(moves[i].run))));
  if (moves.size() > kMovesShown)
    console.print(fmt::format("  and {} earlier; --json shows all\n", count_text(moves.size() - kMovesShown)));
}

int show(Console& console, const Store& store, const ArtifactOptions& options) {
  constexpr size_t kFilesShown = 50;
  const auto found = find_listed_artifact(store, options.name);
  if (!found.ok()) return fail(console, found.status());
  const ArtifactVersion& version = found->version;
  const auto entries = entries_json(store, version);
  if (!entries.ok()) return fail(console, entries.status());
  if (options.json) {
    Value out = version_json(found->info, version);
    out.set("files", *entries);
    out.set("alias_history", history_json(found->info));
    print_json(console, out);
    return finish_with(console, found->info.problems);
  }
  const auto line = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) console.print(fmt::format("  {:<9} {}\n", label, visible(text)));
  };
  console.print(
      console.paint(visible(fmt::format("{}/{}:{}", found->info.project, found->info.name, version.name())), "1") +
      "  " + visible(found->info.type) + "\n");
  line("aliases", joined(version.aliases));
  line("tags", joined(version.tags));
  line("created", fmt::format("{} ({})", time_text(version.created_us), ago_text(version.created_us, console.now_us)));
  if (version.expires_us) line("expires", time_text(*version.expires_us));
  line("digest", version.content.hex());
  RunLabels runs(store);
  line("made by", runs.of(version.run));
  line("about", version.description);
  if (const Value::Map* map = version.metadata.as_map(); map != nullptr && !map->empty()) {
    std::string tree = title(console, "Metadata");
    append_tree(console, *map, 2, &tree);
    console.print(tree);
  }
  print_history(console, found->info, &runs);
  console.print(
      fmt::format("\n{}, {}\n", counted(version.files + version.references, "file"), bytes_text(version.bytes)));
  for (size_t i = 0; i < entries->size() && i < kFilesShown; ++i) {
    const Value& entry = (*entries)[i];
    const std::string uri = entry.text_or("uri", "");
    console.print(fmt::format("  {:>10}  {}\n",
                              uri.empty() ? bytes_text(static_cast<uint64_t>(entry.int_or("bytes", 0))) : "",
                              visible(entry.text_or("path", "") + (uri.empty() ? "" : " -> " + uri))));
  }
  if (entries->size() > kFilesShown)
    console.print(fmt::format("  and {} more; --json shows all\n", count_text(entries->size() - kFilesShown)));
  return finish_with(console, found->info.problems);
}

int get(Console& console, const Store& store, const ArtifactOptions& options) {
  const auto found = find_listed_artifact(store, options.name);
  if (!found.ok()) return fail(console, found.status());
  const std::string folder = !options.path.empty() ? options.path : found->info.name + "-" + found->version.name();
  ProgressBar bar(console, "reading KiB");
  const uint64_t bytes = found->version.bytes;
  const auto report = download_artifact(store, found->version, folder, {},
                                        [&](uint64_t, uint64_t done) { bar.show(done >> 10, bytes >> 10); });
  bar.clear();
  if (!report.ok()) return fail(console, report.status());
  if (options.json)
    print_json(console, Value::Map{{"folder", absolute_path(folder)},
                                   {"files", json_count(report->files)},
                                   {"bytes", json_count(report->bytes)},
                                   {"kept", json_count(report->kept)},
                                   {"references", texts(report->references)}});
  else
    console.print(
        visible(fmt::format("{}, {} into {}", counted(report->files, "file"), bytes_text(report->bytes), folder)) +
        (report->kept > 0 ? fmt::format("; {} were there already", count_text(report->kept)) : "") + "\n");
  for (const std::string& path : report->references) console.note(path + " is a reference: it is not in the store");
  return finish(console, {}, Code::kOk);
}

int put(Console& console, const Store& store, const ArtifactOptions& options) {
  const bool is_folder = is_directory(options.path);
  const std::string path = absolute_path(options.path);
  const size_t slash = options.name.rfind('/');
  const std::string project = slash == std::string::npos ? default_project() : options.name.substr(0, slash);
  std::string name = slash == std::string::npos ? options.name : options.name.substr(slash + 1);
  if (name.empty()) name = last_name(path);
  std::string type = options.type;
  if (type.empty()) {  // all versions have the same one
    const auto known = ArtifactRegistry(store).read(project, name);
    type = known.ok() ? known->type : is_folder ? "folder" : "file";
  }
  auto draft = ArtifactDraft::make(name, type);
  if (!draft.ok()) return fail(console, draft.status());
  const Status added = is_folder ? draft->add_folder(options.path) : draft->add_file(options.path);
  if (!added.ok()) return fail(console, added);
  for (const std::string& left : draft->stores_left_out()) console.note(left + " is a store: it is left out");
  draft->description = options.description;
  StoreArtifactOptions how;
  how.aliases = options.aliases;
  how.tags = options.tags;
  ProgressBar bar(console, "storing KiB");
  const uint64_t bytes = draft->bytes();
  how.progress = [&](uint64_t, uint64_t done) { bar.show(done >> 10, bytes >> 10); };
  const auto stored = store_artifact(store, project, *draft, how);
  bar.clear();
  if (!stored.ok()) return fail(console, stored.status());
  ArtifactInfo info;
  info.project = project;
  info.name = name;
  info.type = draft->type;
  if (options.json) {
    Value out = version_json(info, stored->version);
    out.set("is_new", stored->is_new);
    print_json(console, out);
  } else {
    console.print(visible(fmt::format("{}/{}:{}", project, name, stored->version.name())) +
                  fmt::format("  {}, {}{}\n", counted(stored->version.files, "file"), bytes_text(stored->version.bytes),
                              stored->is_new ? "" : "; this content was there already"));
  }
  return finish(console, {}, Code::kOk);
}

int verify(Console& console, const Store& store, const ArtifactOptions& options) {
  const auto found = find_listed_artifact(store, options.name);
  if (!found.ok()) return fail(console, found.status());
  ProgressBar bar(console, options.deep ? "checking KiB" : "checking files");
  const ArtifactVersion& version = found->version;
  const auto findings = verify_artifact(store, version, options.deep, [&](uint64_t files, uint64_t bytes) {
    if (options.deep) bar.show(bytes >> 10, version.bytes >> 10);
    else bar.show(files, version.files);
  });
  bar.clear();
  if (!findings.ok()) return fail(console, findings.status());
  const std::string name = fmt::format("{}/{}:{}", found->info.project, found->info.name, found->version.name());
  if (options.json) {
    Value::List all;
    for (const ArtifactFinding& each : findings->listed)
      all.push_back(Value::Map{{"path", each.path}, {"what", each.what}});
    print_json(console, Value::Map{{"artifact", name},
                                   {"deep", options.deep},
                                   {"intact", all.empty()},
                                   {"findings", all},
                                   {"left_out", static_cast<int64_t>(findings->left_out)}});
  } else {
    for (const ArtifactFinding& each : findings->listed)
      console.print(fmt::format("{} {}  {}\n", console.paint("damage", "31"), visible(each.path), visible(each.what)));
    if (findings->left_out > 0)
      console.print(fmt::format("{} not shown.\n", counted(findings->left_out, "more finding")));
    if (findings->empty())
      console.print(visible(name) +
                    (options.deep ? " is intact: every byte was read.\n" : " is complete; --deep reads every byte.\n"));
  }
  return finish_with(console, found->info.problems, findings->empty() ? Code::kOk : Code::kCorrupt);
}

int mark(Console& console, const Store& store, const ArtifactOptions& options) {
  const auto found = find_listed_artifact(store, options.name);
  if (!found.ok()) return fail(console, found.status());
  ArtifactMark mark;
  mark.of = found->version.number;
  mark.time_us = console.now_us;
  const bool is_alias = options.action == "alias";
  (is_alias ? mark.aliases_added : mark.tags_added) = options.labels;
  (is_alias ? mark.aliases_removed : mark.tags_removed) = options.removed;
  if (options.labels.empty() && options.removed.empty())
    return fail(console, Status(Code::kInvalid, is_alias ? "no alias was named" : "no tag was named"));
  const ArtifactRegistry registry(store);
  if (const Status status = registry.mark(found->info.project, found->info.name, mark); !status.ok())
    return fail(console, status);
  const auto now = registry.read(found->info.project, found->info.name);
  if (!now.ok()) return fail(console, now.status());
  const ArtifactVersion& version = *now->version(mark.of);
  if (options.json) print_json(console, version_json(*now, version));
  else
    console.print(
        visible(fmt::format("{}/{}:{}  {}: {}", now->project, now->name, version.name(), is_alias ? "aliases" : "tags",
                            joined(is_alias ? version.aliases : version.tags))) +
        "\n");
  return finish(console, {}, Code::kOk);
}

}  // namespace

int finish_with(Console& console, const std::vector<Status>& problems, Code worst) {
  for (const Status& problem : problems) worst = worse_of(worst, problem.code());
  return finish(console, lines_of(problems), worst);
}

Result<FoundArtifact> find_listed_artifact(const Store& store, const std::string& name) {
  auto found = find_artifact(store, name, default_project());
  if (found.ok() || found.status().code() != Code::kNotFound || name.find('/') != std::string::npos) return found;
  const auto parsed = parse_artifact_name(name, default_project());
  if (!parsed.ok()) return parsed.status();
  std::vector<std::string> projects;
  for (const ArtifactInfo& info : ArtifactRegistry(store).list(""))
    if (info.name == parsed->name) projects.push_back(info.project);
  if (projects.size() > 1)
    return Status(Code::kInvalid, fmt::format("\"{}\" is in the projects {}", parsed->name, joined(projects)),
                  "say which: PROJECT/NAME");
  return projects.empty() ? found : find_artifact(store, name, projects.front());
}

Value version_json(const ArtifactInfo& info, const ArtifactVersion& version) {
  return Value::Map{{"project", info.project},
                    {"name", info.name},
                    {"version", version.name()},
                    {"type", info.type},
                    {"aliases", texts(version.aliases)},
                    {"tags", texts(version.tags)},
                    {"digest", version.content.hex()},
                    {"manifest", version.manifest.hex()},
                    {"file_count", json_count(version.files)},
                    {"reference_count", json_count(version.references)},
                    {"bytes", json_count(version.bytes)},
                    {"created_us", version.created_us},
                    {"expires_us", version.expires_us ? Value(*version.expires_us) : Value()},
                    {"run", version.run.empty() ? Value() : Value(version.run)},
                    {"description", version.description},
                    {"metadata", version.metadata}};
}

int run_artifact(Console& console, const GlobalOptions& global, const ArtifactOptions& options) {
  const bool makes = options.action == "put";
  const auto store = makes ? Store::open_or_create(Store::resolve(global.dir)) : open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  if (options.action == "ls") return list(console, *store, options);
  if (options.action == "show") return show(console, *store, options);
  if (options.action == "get") return get(console, *store, options);
  if (options.action == "put") return put(console, *store, options);
  if (options.action == "verify") return verify(console, *store, options);
  if (options.action == "lineage") return run_artifact_lineage(console, *store, options);
  return mark(console, *store, options);
}

}  // namespace tracker::internal
