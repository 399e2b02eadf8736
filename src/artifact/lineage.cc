// SPDX-License-Identifier: MIT
#include "artifact/lineage.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "model/redact.h"
#include "storage/writer_reader.h"

namespace tracker::internal {
namespace {

const char* use_name(ArtifactUse use) { return use == ArtifactUse::kOutput ? "output" : "input"; }

std::string run_node(const LineageEdge& edge) { return "run " + edge.run.uid.hex(); }
std::string version_node(const LineageEdge& edge) { return "version " + edge.content.hex(); }

// The nodes at most `depth` edges from `start`, whichever way they point.
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

Value version_value(const LineageEdge& edge) {
  return Value::Map{{"id", version_node(edge)},    {"kind", "version"}, {"project", edge.project},
                    {"name", edge.name},           {"type", edge.type}, {"number", edge.number},
                    {"digest", edge.content.hex()}};
}

}  // namespace

std::string LineageEdge::version_name() const { return fmt::format("{}/{}:v{}", project, name, number); }

Value artifact_event(const LineageEdge& edge) {
  Value::List aliases(edge.aliases.begin(), edge.aliases.end());
  Value::Map value{{"use", use_name(edge.use)},
                   {"project", edge.project},
                   {"name", edge.name},
                   {"type", edge.type},
                   {"number", edge.number},
                   {"digest", edge.content.hex()},
                   {"manifest", edge.manifest.hex()},
                   {"aliases", std::move(aliases)}};
  uint64_t redacted = 0;
  const std::string use_as = redact_text(edge.use_as, &redacted);
  if (!use_as.empty()) value.emplace_back("use_as", use_as);
  const std::string part = use_as.empty() ? "" : " as " + use_as;
  return Value::Map{{"key", fmt::format("{} {}{}", use_name(edge.use), edge.version_name(), part)},
                    {"value", Value(std::move(value))}};
}

Result<LineageEdge> edge_of_event(const Value& value) {
  LineageEdge out;
  const std::string use = value.text_or("use", "");
  const auto content = Digest::from_hex(value.text_or("digest", ""));
  const auto manifest = Digest::from_hex(value.text_or("manifest", ""));
  out.project = value.text_or("project", "");
  out.name = value.text_or("name", "");
  out.number = value.int_or("number", -1);
  if ((use != "output" && use != "input") || !content || !manifest || out.name.empty() || out.number < 0)
    return Status(Code::kCorrupt, "an artifact event that names no version");
  out.use = use == "output" ? ArtifactUse::kOutput : ArtifactUse::kInput;
  out.content = *content;
  out.manifest = *manifest;
  out.type = value.text_or("type", "");
  out.use_as = value.text_or("use_as", "");
  const Value* aliases = value.find("aliases");
  if (aliases == nullptr || aliases->as_list() == nullptr) return out;
  for (const Value& alias : *aliases->as_list())
    if (alias.as_text() != nullptr) out.aliases.push_back(*alias.as_text());
  return out;
}

std::vector<LineageEdge> edges_of_run(const RunFolder& run, std::vector<std::string>* problems) {
  std::vector<LineageEdge> out;
  std::set<std::string> known;
  const auto note = [problems](const std::string& problem) {
    if (problems != nullptr) problems->push_back(problem);
  };
  for (const std::string& path : run.writer_dbs()) {
    auto reader = WriterReader::open(path);
    auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    if (!snapshot.ok()) {
      note(snapshot.status().to_string());
      continue;
    }
    for (const Attribute& attribute : snapshot->attributes) {
      if (attribute.type != EventType::kArtifact) continue;
      auto edge = edge_of_event(attribute.value);
      if (!edge.ok()) note(fmt::format("{}: {}", path, edge.status().message()));
      if (!edge.ok() || !known.insert(attribute.key).second) continue;
      edge->run = run.identity;
      edge->time_us = attribute.time_us;
      out.push_back(std::move(*edge));
    }
  }
  return out;
}

Lineage read_lineage(const Store& store, std::string_view project) {
  Lineage out;
  for (const RunFolder& run : store.list_runs(project, &out.problems))
    for (LineageEdge& edge : edges_of_run(run, &out.problems)) {
      out.cut = out.edges.size() >= kLineageEdgesMax;
      if (out.cut) return out;
      out.edges.push_back(std::move(edge));
    }
  return out;
}

std::vector<LineageEdge> edges_of_content(const Lineage& lineage, const Digest& content, ArtifactUse use) {
  std::vector<LineageEdge> out;
  for (const LineageEdge& edge : lineage.edges)
    if (edge.use == use && edge.content == content) out.push_back(edge);
  return out;
}

Value lineage_graph(const Lineage& lineage, std::string_view start, int depth) {
  const std::set<std::string> wanted = start.empty() ? std::set<std::string>() : near(lineage, start, depth);
  std::set<std::string> known;
  Value::List nodes, edges;
  for (const LineageEdge& edge : lineage.edges) {
    const std::string run = run_node(edge), version = version_node(edge);
    if (!start.empty() && (wanted.count(run) == 0 || wanted.count(version) == 0)) continue;
    if (known.insert(run).second) nodes.push_back(run_value(edge));
    if (known.insert(version).second) nodes.push_back(version_value(edge));
    const bool is_output = edge.use == ArtifactUse::kOutput;
    edges.emplace_back(Value::Map{
        {"from", is_output ? run : version}, {"to", is_output ? version : run}, {"use", use_name(edge.use)}});
  }
  return Value::Map{{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"cut", lineage.cut}};
}

}  // namespace tracker::internal
