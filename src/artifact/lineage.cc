// SPDX-License-Identifier: MIT
#include "artifact/lineage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "artifact/registry.h"
#include "base/fs.h"
#include "model/project_here.h"
#include "model/redact/redact.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

const char* use_name(ArtifactUse use) { return use == ArtifactUse::kOutput ? "output" : "input"; }

std::string run_node(const LineageEdge& edge) { return "run " + edge.run.uid.hex(); }
std::string version_node(const LineageEdge& edge) { return edge.version().node(); }

// The nodes at most `depth` edges from `start`, in either direction.
std::set<std::string> near(const Lineage& lineage, std::string_view start, int depth) {
  std::multimap<std::string, std::string> neighbours;
  for (const LineageEdge& edge : lineage.edges) {
    neighbours.emplace(run_node(edge), version_node(edge));
    neighbours.emplace(version_node(edge), run_node(edge));
  }
  std::set<std::string> out{std::string(start)}, last = out;
  for (int i = 0; i < depth && !last.empty(); ++i) {
    std::set<std::string> next;
    for (const std::string& node : last)
      for (auto [at, end] = neighbours.equal_range(node); at != end; ++at)
        if (out.insert(at->second).second) next.insert(at->second);
    last = std::move(next);
  }
  return out;
}

Value run_value(const LineageEdge& edge) {
  return Value::Map{{"id", run_node(edge)},
                    {"kind", "run"},
                    {"uid", edge.run.uid.hex()},
                    {"project", edge.run.project},
                    {"run", edge.run.id}};
}

Value version_value(const LineageEdge& edge, std::optional<int64_t> number) {
  return Value::Map{{"id", version_node(edge)},    {"kind", "version"}, {"project", edge.project},
                    {"name", edge.name},           {"type", edge.type}, {"number", number ? Value(*number) : Value()},
                    {"digest", edge.content.hex()}};
}

// The common fields of artifact events, of an edge or of a refused artifact.
template <typename T>
Value::Map what_is_used(const T& of) {
  uint64_t redacted = 0;
  Value::Map out{{"use", use_name(of.use)}, {"project", of.project}, {"name", of.name}, {"type", of.type}};
  if (!of.use_as.empty()) out.emplace_back("use_as", redact_text(of.use_as, &redacted));
  return out;
}

template <typename T>
std::string part_of(const T& of) {
  uint64_t redacted = 0;
  return of.use_as.empty() ? "" : " as " + redact_text(of.use_as, &redacted);
}

// Returns false if this version understands none of it.
template <typename T>
bool read_what_is_used(const Value& value, T* out) {
  const std::string use = value.text_or("use", "");
  out->use = use == "output" ? ArtifactUse::kOutput : ArtifactUse::kInput;
  out->project = value.text_or("project", "");
  out->name = value.text_or("name", "");
  out->type = value.text_or("type", "");
  out->use_as = value.text_or("use_as", "");
  return (use == "output" || use == "input") && !out->name.empty();
}

bool is_naming(const Value& value) { return value.find("named_us") != nullptr; }

void visit_artifact_events(const RunFolder& run, std::vector<Status>* problems,
                           const std::function<void(const WriterSnapshot&, const Attribute&)>& visit) {
  for (const std::string& path : run.writer_dbs()) {
    auto reader = WriterReader::open(path);
    auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    if (!snapshot.ok() && problems != nullptr) problems->push_back(snapshot.status());
    if (!snapshot.ok()) continue;
    for (const Attribute& attribute : snapshot->attributes)
      if (attribute.type == EventType::kArtifact) visit(*snapshot, attribute);
  }
}

// Finds the version for a naming event, in the store of the run. Returns false if the process died before the version
// had its name. A version of the same content that appeared later belongs to another run.
bool find_named(const RunFolder& run, LineageEdge* edge) {
  const auto store = Store::open(parent_path(parent_path(parent_path(run.path))));
  if (!store.ok()) return false;
  const auto info = ArtifactRegistry(*store).read(edge->project, edge->name);
  if (!info.ok()) return false;
  for (const ArtifactVersion& version : info->versions)
    if (version.content == edge->content && version.created_us <= edge->time_us) {
      edge->number = version.number;
      return true;
    }
  return false;
}

}  // namespace

std::string VersionId::node() const { return fmt::format("version {}/{}@{}", project, name, content.hex()); }

const VersionNumbers::Known& VersionNumbers::known(const VersionId& version) {
  auto [at, is_new] = known_.try_emplace({version.project, version.name});
  Known& out = at->second;
  if (!is_new) return out;
  const auto info = ArtifactRegistry(store_).read(version.project, version.name);
  out.has_unread = info.ok() ? !info->unread_versions.empty() : info.status().code() != Code::kNotFound;
  if (info.ok())
    for (const ArtifactVersion& each : info->versions) out.numbers.emplace(each.content, each.number);
  return out;
}

std::optional<int64_t> VersionNumbers::of(const VersionId& version) {
  const auto& numbers = known(version).numbers;
  const auto found = numbers.find(version.content);
  return found == numbers.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

bool VersionNumbers::may_be_unread(const VersionId& version) {
  const Known& all = known(version);
  return all.has_unread && !all.numbers.contains(version.content);
}

bool VersionNumbers::is_content_of(const VersionId& version, int64_t number) {
  const auto [at, is_new] = contents_.try_emplace({version.project, version.name, number});
  if (is_new)
    if (auto content = ArtifactRegistry(store_).content_of(version.project, version.name, number); content.ok())
      at->second = *content;
  return at->second == version.content;
}

std::string VersionNumbers::name_of(const VersionId& version, int64_t said) {
  const std::string artifact = version.project + "/" + version.name;
  if (is_content_of(version, said)) return fmt::format("{}:v{}", artifact, said);
  const auto number = of(version);
  constexpr size_t kDigits = 12;
  return number ? fmt::format("{}:v{}", artifact, *number)
                : fmt::format("{}@{}", artifact, version.content.hex().substr(0, kDigits));
}

std::string VersionNumbers::name_of(const std::string& name) {
  const size_t at = name.rfind('@');
  const size_t slash = at == std::string::npos ? at : name.rfind('/', at);  // a project may hold both
  if (slash == std::string::npos) return name;
  const auto content = Digest::from_hex(std::string_view(name).substr(at + 1));
  const size_t colon = name.find(":v", slash);
  if (!content || colon == std::string::npos) return name;
  int64_t said = 0;
  std::from_chars(name.data() + colon + 2, name.data() + at, said);
  return name_of({name.substr(0, slash), name.substr(slash + 1, colon - slash - 1), *content}, said);
}

std::string LineageEdge::version_name() const { return fmt::format("{}/{}:v{}", project, name, number); }

Value artifact_event(const LineageEdge& edge) {
  Value::Map value = what_is_used(edge);
  value.emplace_back("number", edge.number);
  value.emplace_back("digest", edge.content.hex());
  value.emplace_back("manifest", edge.manifest.hex());
  value.emplace_back("aliases", Value::List(edge.aliases.begin(), edge.aliases.end()));
  return Value::Map{{"key", fmt::format("{} {}{}", use_name(edge.use), edge.version_name(), part_of(edge))},
                    {"value", Value(std::move(value))}};
}

Value naming_event(const LineageEdge& edge) {
  Value::Map value = what_is_used(edge);
  value.emplace_back("named_us", edge.time_us);
  value.emplace_back("digest", edge.content.hex());
  value.emplace_back("manifest", edge.manifest.hex());
  return Value::Map{
      {"key", fmt::format("naming {} {}/{}{}", use_name(edge.use), edge.project, edge.name, part_of(edge))},
      {"value", Value(std::move(value))}};
}

Value refused_event(const RefusedArtifact& artifact) {
  uint64_t redacted = 0;
  Value::Map value = what_is_used(artifact);
  std::string reason = redact_text(artifact.reason, &redacted);
  if (reason.size() > kRefusalBytesMax) {
    size_t end = kRefusalBytesMax;
    while (end > 0 && (static_cast<unsigned char>(reason[end]) & 0xc0) == 0x80) --end;  // no torn character
    reason.resize(end);
  }
  value.emplace_back("refused", std::move(reason));
  if (artifact.number > 0) value.emplace_back("logged_as", artifact.number);
  if (!artifact.aliases.empty())
    value.emplace_back("aliases", Value::List(artifact.aliases.begin(), artifact.aliases.end()));
  return Value::Map{
      {"key", fmt::format("refused {} {}/{}{}{}", use_name(artifact.use), artifact.project, artifact.name,
                          part_of(artifact), artifact.number > 0 ? fmt::format(" #{}", artifact.number) : "")},
      {"value", Value(std::move(value))}};
}

namespace {

std::vector<std::string> aliases_in(const Value& value) {
  std::vector<std::string> out;
  const Value* aliases = value.find("aliases");
  if (aliases == nullptr || aliases->as_list() == nullptr) return out;
  for (const Value& alias : *aliases->as_list())
    if (alias.as_text() != nullptr) out.push_back(*alias.as_text());
  return out;
}

}  // namespace

Result<LineageEdge> edge_of_event(const Value& value) {
  LineageEdge out;
  const auto content = Digest::from_hex(value.text_or("digest", ""));
  const auto manifest = Digest::from_hex(value.text_or("manifest", ""));
  const int64_t none = is_naming(value) ? 0 : -1;  // it has no number yet
  out.number = value.int_or("number", none);
  if (!read_what_is_used(value, &out) || !content || !manifest || out.number < 0)
    return Status(Code::kCorrupt, "an artifact event that names no version");
  out.content = *content;
  out.manifest = *manifest;
  out.aliases = aliases_in(value);
  return out;
}

std::vector<LineageEdge> edges_of_run(const RunFolder& run, std::vector<Status>* problems) {
  std::vector<LineageEdge> out, named;
  visit_artifact_events(run, problems, [&](const WriterSnapshot& writer, const Attribute& attribute) {
    if (attribute.value.find("refused") != nullptr) return;
    auto edge = edge_of_event(attribute.value);
    if (!edge.ok() && problems != nullptr)
      problems->emplace_back(
          edge.status().code(),
          fmt::format("{}: {}", join_path(run.path, writer.identity.writer.hex() + ".db"), edge.status().message()));
    if (!edge.ok()) return;
    edge->project = project_here(writer.identity, edge->project);
    edge->run = run.identity;
    const bool naming = is_naming(attribute.value);
    edge->time_us = naming ? attribute.value.int_or("named_us", 0) : attribute.time_us;
    (naming ? named : out).push_back(std::move(*edge));
  });
  for (LineageEdge& edge : named) {
    const bool said = std::any_of(out.begin(), out.end(), [&edge](const LineageEdge& other) {
      return other.use == edge.use && other.project == edge.project && other.name == edge.name &&
             other.content == edge.content && other.use_as == edge.use_as;
    });
    if (!said && find_named(run, &edge)) out.push_back(std::move(edge));
  }
  // The files of a run's writers are in no particular order.
  std::stable_sort(out.begin(), out.end(),
                   [](const LineageEdge& a, const LineageEdge& b) { return a.time_us < b.time_us; });
  // A number is valid in the store where it was recorded: a run that continued in another store may have one version
  // twice.
  std::set<std::tuple<ArtifactUse, VersionId, std::string>> known;
  std::erase_if(out, [&known](const LineageEdge& e) { return !known.emplace(e.use, e.version(), e.use_as).second; });
  return out;
}

std::vector<RefusedArtifact> refused_by_run(const RunFolder& run) {
  std::vector<RefusedArtifact> out;
  visit_artifact_events(run, nullptr, [&](const WriterSnapshot& writer, const Attribute& attribute) {
    RefusedArtifact refused;
    if (attribute.value.find("refused") == nullptr || !read_what_is_used(attribute.value, &refused)) return;
    refused.project = project_here(writer.identity, refused.project);
    refused.reason = attribute.value.text_or("refused", "");
    refused.number = attribute.value.int_or("logged_as", 0);
    refused.aliases = aliases_in(attribute.value);
    refused.run = run.identity;
    refused.time_us = attribute.time_us;
    out.push_back(std::move(refused));
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const RefusedArtifact& a, const RefusedArtifact& b) { return a.time_us < b.time_us; });
  return out;
}

Lineage read_lineage(const Store& store, std::string_view project, size_t edges_max) {
  Lineage out;
  for (const RunFolder& run : store.list_runs(project, &out.problems))
    for (LineageEdge& edge : edges_of_run(run, &out.problems)) {
      out.cut = out.edges.size() >= edges_max;
      if (out.cut) return out;
      out.edges.push_back(std::move(edge));
    }
  return out;
}

std::vector<LineageEdge> edges_of_version(const Lineage& lineage, const VersionId& version, ArtifactUse use) {
  std::vector<LineageEdge> out;
  for (const LineageEdge& edge : lineage.edges)
    if (edge.use == use && edge.version() == version) out.push_back(edge);
  return out;
}

Value lineage_graph(const Lineage& lineage, VersionNumbers* numbers, std::string_view start, int depth) {
  const std::set<std::string> wanted = start.empty() ? std::set<std::string>() : near(lineage, start, depth);
  std::set<std::string> known;
  Value::List nodes, edges;
  for (const LineageEdge& edge : lineage.edges) {
    const std::string run = run_node(edge), version = version_node(edge);
    if (!start.empty() && (wanted.count(run) == 0 || wanted.count(version) == 0)) continue;
    if (known.insert(run).second) nodes.push_back(run_value(edge));
    if (known.insert(version).second) nodes.push_back(version_value(edge, numbers->of(edge.version())));
    const bool is_output = edge.use == ArtifactUse::kOutput;
    edges.emplace_back(Value::Map{
        {"from", is_output ? run : version}, {"to", is_output ? version : run}, {"use", use_name(edge.use)}});
  }
  return Value::Map{{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"cut", lineage.cut}};
}

}  // namespace tracker::internal
