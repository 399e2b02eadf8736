// SPDX-License-Identifier: MIT
// tracker artifact lineage, and what show, gc and verify say of artifacts.
#include <fmt/format.h>

#include <map>
#include <set>

#include "artifact/artifact_store.h"
#include "artifact/blob_collect.h"
#include "base/shell_word.h"
#include "cli/commands/artifact_command.h"
#include "cli/output/progress.h"
#include "cli/output/run_json.h"
#include "cli/output/show_sections.h"
#include "cli/output/text.h"
#include "query/runs/find_run.h"

namespace tracker::internal {
namespace {

std::string run_name(const LineageEdge& edge) { return edge.run.project + "/" + edge.run.id; }

std::string name_here(const LineageEdge& edge, VersionNumbers* numbers) {
  if (const auto number = numbers->of(edge.version()))
    return fmt::format("{}/{}:v{}", edge.project, edge.name, *number);
  return fmt::format(
      "{}/{}@{} ({})", edge.project, edge.name, edge.content.hex().substr(0, 12),
      numbers->may_be_unread(edge.version()) ? "not among the versions here that can be read" : "not in this store");
}

// From one run or version against the way of the data, then along it.
class LineageTree {
 public:
  LineageTree(const Lineage& lineage, VersionNumbers* numbers) : lineage_(lineage), numbers_(numbers) {}

  // Against the way of the data first.
  void run(const std::string& uid, int depth, const std::string& indent, bool backwards, bool forwards) {
    if (backwards) uses_of_run(uid, ArtifactUse::kInput, depth, indent);
    if (forwards) uses_of_run(uid, ArtifactUse::kOutput, depth, indent);
  }
  void version(const VersionId& id, int depth, const std::string& indent, bool backwards, bool forwards) {
    if (backwards) uses_of_version(id, ArtifactUse::kOutput, depth, indent);
    if (forwards) uses_of_version(id, ArtifactUse::kInput, depth, indent);
  }
  // Versions of other names that runs made or used.
  void same_content(const VersionId& id, const std::string& indent) {
    std::set<VersionId> shown{id};
    for (const LineageEdge& edge : lineage_.edges)
      if (edge.content == id.content && shown.insert(edge.version()).second)
        line(indent, "same content as", name_here(edge, numbers_), edge.version().node());
  }
  std::string text() const {
    return left_out_ == 0 ? out_ : out_ + fmt::format("and {} more; --json has all\n", counted(left_out_, "line"));
  }

 private:
  void uses_of_run(const std::string& uid, ArtifactUse use, int depth, const std::string& indent) {
    const bool is_input = use == ArtifactUse::kInput;
    for (const LineageEdge& edge : lineage_.edges) {
      if (edge.use != use || edge.run.uid.hex() != uid) continue;
      const std::string as = edge.use_as.empty() ? "" : " as " + edge.use_as;
      const std::string name = name_here(edge, numbers_), node = edge.content.hex() + name + as;
      if (!line(indent, is_input ? "used" : "made", name + as, node)) continue;
      if (depth > 1) version(edge.version(), depth - 1, indent + "  ", is_input, !is_input);
      done_.erase(node);
    }
  }
  void uses_of_version(const VersionId& id, ArtifactUse use, int depth, const std::string& indent) {
    const bool is_output = use == ArtifactUse::kOutput;
    for (const LineageEdge& edge : lineage_.edges) {
      if (edge.use != use || edge.version() != id) continue;
      const std::string node = edge.run.uid.hex();
      if (!line(indent, is_output ? "made by" : "used by", run_name(edge), node)) continue;
      if (depth > 1) run(node, depth - 1, indent + "  ", is_output, !is_output);
      done_.erase(node);
    }
  }
  // False where this is above already: a run may use what it made.
  bool line(const std::string& indent, std::string_view what, const std::string& name, const std::string& node) {
    if (!done_.insert(node).second) return false;
    if (++lines_ <= kLineageTreeLinesMax) out_ += fmt::format("{}{} {}\n", indent, what, visible(name));
    else ++left_out_;
    return lines_ <= 10 * kLineageTreeLinesMax;
  }

  const Lineage& lineage_;
  VersionNumbers* const numbers_;
  std::set<std::string> done_;  // on the way from the root to here
  std::string out_;
  size_t lines_ = 0, left_out_ = 0;
};

}  // namespace

int run_artifact_lineage(Console& console, const Store& store, const ArtifactOptions& options) {
  if (is_run_path(options.name))
    return fail(console,
                Status(Code::kInvalid, "lineage looks through a store, and a run's folder is none",
                       fmt::format("`tracker show {}` says what the run used and made", shell_word(options.name))));
  const Lineage lineage = read_lineage(store);
  std::string start, text;
  VersionNumbers numbers(store);
  LineageTree tree(lineage, &numbers);
  const auto run = options.name.find_first_of(":@") == std::string::npos
                       ? find_run(store, options.name)
                       : Result<RunFolder>(Status(Code::kNotFound, ""));
  if (run.status().code() == Code::kInvalid) return fail(console, run.status());  // ambiguous
  if (run.ok()) {
    start = "run " + run->identity.uid.hex();
    text = fmt::format("{}/{}", run->identity.project, run->identity.id);
    tree.run(run->identity.uid.hex(), kLineageTreeDepth, "  ", true, true);
  } else {
    const auto found = find_listed_artifact(store, options.name);
    if (!found.ok() && found.status().code() == Code::kNotFound)
      return fail(console, Status(Code::kNotFound, fmt::format("no run and no artifact \"{}\"", options.name),
                                  "`tracker ls` and `tracker artifact ls` list them"));
    if (!found.ok()) return fail(console, found.status());
    const VersionId id{found->info.project, found->info.name, found->version.content};
    start = id.node();
    text = fmt::format("{}/{}:{}", found->info.project, found->info.name, found->version.name());
    tree.version(id, kLineageTreeDepth, "  ", true, true);
    if (found->version.files + found->version.references > 0) tree.same_content(id, "  ");
  }
  if (options.json) {
    console.print(visible_json(to_json(lineage_graph(lineage, &numbers, start, kLineageTreeDepth), 2)) + "\n");
  } else {
    const std::string below = tree.text();
    console.print(console.paint(visible(text), "1") + "\n" +
                  (below.empty() ? "  nothing made it, nothing used it\n" : below));
  }
  if (lineage.cut) console.note(fmt::format("only the first {} uses were examined", kLineageEdgesMax));
  return finish_with(console, lineage.problems);
}

std::string artifacts_section(const Console& console, const std::optional<Store>& store,
                              const std::vector<LineageEdge>& edges, const std::vector<RefusedArtifact>& refused) {
  if (edges.empty() && refused.empty()) return "";
  std::optional<VersionNumbers> numbers;
  if (store) numbers.emplace(*store);
  std::string out = title(console, "Artifacts");
  for (const ArtifactUse use : {ArtifactUse::kInput, ArtifactUse::kOutput})
    for (const LineageEdge& edge : edges)
      if (edge.use == use)
        out += fmt::format("  {:<5} {}  {}{}\n", use == ArtifactUse::kInput ? "used" : "made",
                           visible(numbers ? name_here(edge, &*numbers) : edge.version_name()), visible(edge.type),
                           edge.use_as.empty() ? "" : ", as " + visible(edge.use_as));
  for (const RefusedArtifact& each : refused)
    out += fmt::format("  artifact {}/{}{} refused: {}\n", visible(each.project), visible(each.name),
                       each.number > 0 ? fmt::format(", logged as number {},", each.number) : "", visible(each.reason));
  return out;
}

Value refused_json(const std::vector<RefusedArtifact>& refused) {
  Value::List out;
  for (const RefusedArtifact& each : refused)
    out.push_back(Value::Map{{"use", each.use == ArtifactUse::kOutput ? "output" : "input"},
                             {"project", each.project},
                             {"name", each.name},
                             {"type", each.type},
                             {"use_as", each.use_as},
                             {"reason", each.reason},
                             {"number", each.number > 0 ? Value(each.number) : Value()},
                             {"aliases", text_list(each.aliases)},
                             {"time_us", each.time_us}});
  return out;
}

Value edges_json(const std::optional<Store>& store, const std::vector<LineageEdge>& edges, ArtifactUse use) {
  std::optional<VersionNumbers> numbers;
  if (store) numbers.emplace(*store);
  Value::List out;
  for (const LineageEdge& edge : edges) {
    if (edge.use != use) continue;
    const auto number = numbers ? numbers->of(edge.version()) : std::nullopt;
    out.push_back(Value::Map{{"project", edge.project},
                             {"name", edge.name},
                             {"version", number ? Value(fmt::format("v{}", *number)) : Value()},
                             {"type", edge.type},
                             {"digest", edge.content.hex()},
                             {"use_as", edge.use_as}});
  }
  return out;
}

void collect_artifacts(Console& console, const Store& store, bool dry_run, CollectReport* report) {
  ProgressBar listing(console, "listing blobs, folders"), reading(console, "reading manifests");
  BlobCollectOptions options;
  options.dry_run = dry_run;
  options.now_us = console.now_us;
  options.listed = [&listing](uint64_t done, uint64_t total) { listing.show(done, total); };
  options.read = [&](uint64_t done, uint64_t total) {
    listing.clear();
    reading.show(done, total);
  };
  BlobCollectReport found = collect_blobs(store, options);
  listing.clear();
  reading.clear();
  for (Garbage& item : found.removed) {
    if (item.kind != "version") report->bytes += item.bytes;  // its blobs are counted by themselves
    report->removed.push_back(std::move(item));
  }
  for (std::string& problem : found.problems) report->problems.push_back(std::move(problem));
  if (found.gave_up)
    report->problems.emplace_back(
        "no blob was removed: it could be one of what cannot be read (`tracker verify` names all of it)");
}

void verify_artifacts(const std::string& store_path, bool deep, VerifyReport* report, uint64_t* versions,
                      const std::function<void(uint64_t done, uint64_t total)>& progress) {
  const auto store = Store::open(store_path);
  if (!store.ok()) return;  // said by verify_store()
  std::vector<Status> problems;
  const auto find = [&](FindingLevel level, std::string kind, std::string path, std::string what, std::string advice) {
    report->add({level, std::move(kind), std::move(path), std::move(what), "all other artifacts, and all runs",
                 std::move(advice)});
  };
  const auto add = [&](std::string path, std::string what, std::string advice) {
    find(FindingLevel::kDamage, "artifact", std::move(path), std::move(what), std::move(advice));
  };
  const auto add_unread = [&](std::string path, const Status& status, std::string advice) {
    if (status.code() == Code::kVersion)
      find(FindingLevel::kNewer, "newer-version", std::move(path), status.message(), "update tracker");
    else add(std::move(path), status.to_string(), std::move(advice));
  };
  const std::vector<ArtifactInfo> all = ArtifactRegistry(*store).list("", &problems);
  uint64_t total = 0, before = 0;  // in versions that are done
  for (const ArtifactInfo& info : all)
    for (const ArtifactVersion& version : info.versions)
      if (!version.deleted) total += deep ? version.bytes : version.files;
  for (const ArtifactInfo& info : all) {
    for (const Status& problem : info.problems)
      add_unread(info.project + "/" + info.name, problem, "restore it from a copy");
    for (const ArtifactVersion& version : info.versions) {
      if (version.deleted) continue;
      ++*versions;
      const std::string name = fmt::format("{}/{}:{}", info.project, info.name, version.name());
      const auto findings = verify_artifact(*store, version, deep, [&](uint64_t files, uint64_t bytes) {
        if (progress) progress(before + (deep ? bytes : files), total);
      });
      before += deep ? version.bytes : version.files;
      if (!findings.ok()) {
        add_unread(name, findings.status(), "log it again from its files");
        continue;
      }
      for (const ArtifactFinding& each : findings->listed)
        add(name, each.path + ": " + each.what, "log it again from its files: the same content repairs it");
      report->leave_out(FindingLevel::kDamage, findings->left_out);
    }
  }
  for (const Status& problem : problems) add_unread(store_path, problem, "restore it from a copy");
}

}  // namespace tracker::internal
