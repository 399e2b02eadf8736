// SPDX-License-Identifier: MIT
// Which runs made and used which versions, in both directions and across projects. The source are events in the frames
// of a run's writers (docs/formats/records.md, type 8), and nothing else. Threads: pure functions. Cost: reads the
// attributes of every run, about 0.2 ms a writer; no points.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "artifact/digest.h"
#include "base/status.h"
#include "model/value.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Limit: uses that a lineage reads. Beyond it: the lineage says so.
constexpr size_t kLineageEdgesMax = 100'000;

enum class ArtifactUse { kOutput, kInput };

// Identifies a version in any store: a run that was copied or imported keeps project, name and content, but numbers are
// valid in one store only. The name is included because two artifacts without files have the same content.
struct VersionId {
  std::string project, name;
  Digest content;
  auto operator<=>(const VersionId&) const = default;
  std::string node() const;  // in a graph
};

// A run made (output) or used (input) a version.
struct LineageEdge {
  ArtifactUse use = ArtifactUse::kOutput;
  RunIdentity run;
  std::string project, name, type;
  int64_t number = 0;
  Digest content, manifest;
  std::vector<std::string> aliases;  // as they were then
  std::string use_as;
  int64_t time_us = 0;
  std::string version_name() const;  // "project/name:v3"; the number is that in the store where it was recorded
  VersionId version() const { return {project, name, content}; }
};

// An artifact that the run logged, or used by its files, and that was not stored.
struct RefusedArtifact {
  ArtifactUse use = ArtifactUse::kOutput;
  RunIdentity run;
  std::string project, name, type, use_as;
  std::string reason;  // one line, at most kRefusalBytesMax
  int64_t time_us = 0;
  int64_t number = 0;  // its ordinal among those of its name that the process logged, from 1; 0: not known
  std::vector<std::string> aliases;  // that were requested for it
};

// Limit: bytes of the reason why an artifact was refused. Beyond it: cut.
constexpr size_t kRefusalBytesMax = 4096;

// The payload of the event for the writer's frames. `run` and `time_us` are not part of it.
Value artifact_event(const LineageEdge& edge);
// Recorded before the version gets its name at `edge.time_us`, when its number is not known yet: if the process is
// killed in between, the edge is found from this event and the version. One for each name; the next one replaces it.
Value naming_event(const LineageEdge& edge);
// Recorded for an artifact that is refused; of those without a number only the last one of a name is kept. `run` and
// `time_us` are not part of it.
Value refused_event(const RefusedArtifact& artifact);
// Decodes a payload of artifact_event(); kCorrupt if this version understands none of it.
Result<LineageEdge> edge_of_event(const Value& value);

// What the run made and used, in the order first recorded. Cost: reads the run's databases, and the versions of an
// artifact whose naming event was not followed by its event.
std::vector<LineageEdge> edges_of_run(const RunFolder& run, std::vector<Status>* problems = nullptr);
// Each refusal, in the order first recorded; also for names that were stored later.
std::vector<RefusedArtifact> refused_by_run(const RunFolder& run);

struct Lineage {
  std::vector<LineageEdge> edges;
  std::vector<Status> problems;
  bool cut = false;  // there are more than `edges_max`
};
// For all runs in the store; `project` empty: of all projects.
Lineage read_lineage(const Store& store, std::string_view project = "", size_t edges_max = kLineageEdgesMax);

// The runs that made or used this version.
std::vector<LineageEdge> edges_of_version(const Lineage& lineage, const VersionId& version, ArtifactUse use);

// The numbers in this store of the versions in runs' events. Threads: one at a time. Cost: reads each artifact once, or
// only each version whose recorded number is right.
class VersionNumbers {
 public:
  explicit VersionNumbers(const Store& store) : store_(store) {}
  // None: it is not in this store. A deleted version keeps its number.
  std::optional<int64_t> of(const VersionId& version);
  // "project/name:v3", or "project/name@<12 digits of the content>" for one that is not in this store. `said`: the
  // number that the run recorded; if it is right here, only that version is read.
  std::string name_of(const VersionId& version, int64_t said);
  // It has no number here, but a version of that name cannot be read.
  bool may_be_unread(const VersionId& version);
  // The same for "project/name:v3@<digest>", as in a catalog; returned unchanged without a digest.
  std::string name_of(const std::string& name);

 private:
  const Store store_;
  struct Known {
    std::map<Digest, int64_t> numbers;
    bool has_unread = false;
  };
  const Known& known(const VersionId& version);
  bool is_content_of(const VersionId& version, int64_t number);

  std::map<std::pair<std::string, std::string>, Known> known_;                               // by project and name
  std::map<std::tuple<std::string, std::string, int64_t>, std::optional<Digest>> contents_;  // with the number
};

// {"nodes": [{"id", "kind": "run"|"version", ...}], "edges": [{"from", "to", "use"}], "cut"}: edges have the direction
// of the data. From `start` ("run <uid>" or VersionId::node()) at most `depth` edges away, or all if it is empty. A
// version that is not in the store has the number null.
Value lineage_graph(const Lineage& lineage, VersionNumbers* numbers, std::string_view start = "", int depth = 2);

}  // namespace tracker::internal
