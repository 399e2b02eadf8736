// SPDX-License-Identifier: MIT
// Which runs made and used which versions, in both directions and across projects. What a run did is said by events of
// its writers' frames (docs/formats/records.md, type 8); nothing else is asked. Threads: pure functions. Cost: reads
// the attributes of every run looked at, about 0.2 ms a writer; no points.
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

// A version wherever it lies: a run that was copied or imported brings project, name and content along, but numbers are
// those of a store. Other names with the same content are other artifacts: two without files are.
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
  std::string version_name() const;  // "project/name:v3"; the number is that of the store where it was recorded
  VersionId version() const { return {project, name, content}; }
};

// An artifact that the run logged or used by its files, and that was not stored.
struct RefusedArtifact {
  ArtifactUse use = ArtifactUse::kOutput;
  RunIdentity run;
  std::string project, name, type, use_as;
  std::string reason;  // one line, at most kRefusalBytesMax
  int64_t time_us = 0;
  int64_t number = 0;                // the how manyeth of its name that the process logged, from 1; 0: not known
  std::vector<std::string> aliases;  // that it was to have
};

// Limit: bytes of the reason why an artifact was refused. Beyond it: cut.
constexpr size_t kRefusalBytesMax = 4096;

// The event that says so, for the writer's frames: its payload. `run` and `time_us` are not part of it.
Value artifact_event(const LineageEdge& edge);
// Said before the version gets its name at `edge.time_us`, when its number is not known yet: of a process that is
// killed in between the edge is told from this and the version. One a name; the next one takes its place.
Value naming_event(const LineageEdge& edge);
// Said of one that is refused; of those without a number the last one of a name stays. `run` and `time_us` are not part
// of it.
Value refused_event(const RefusedArtifact& artifact);
// What a payload of artifact_event() says; kCorrupt where it says nothing that this version understands.
Result<LineageEdge> edge_of_event(const Value& value);

// What the run made and used, in the order first said. Cost: reads the run's databases, and the versions of an artifact
// whose naming was not followed by its event.
std::vector<LineageEdge> edges_of_run(const RunFolder& run, std::vector<Status>* problems = nullptr);
// What was refused, each time, in the order first said; also of names that were stored later.
std::vector<RefusedArtifact> refused_by_run(const RunFolder& run);

struct Lineage {
  std::vector<LineageEdge> edges;
  std::vector<Status> problems;
  bool cut = false;  // there are more than `edges_max`
};
// Of all runs in the store; `project` empty: of all projects.
Lineage read_lineage(const Store& store, std::string_view project = "", size_t edges_max = kLineageEdgesMax);

// The runs that made, or used, this version.
std::vector<LineageEdge> edges_of_version(const Lineage& lineage, const VersionId& version, ArtifactUse use);

// What the versions that runs speak of are called in a store. Threads: one at a time. Cost: reads each artifact, or
// of those whose numbers are right each version, once.
class VersionNumbers {
 public:
  explicit VersionNumbers(const Store& store) : store_(store) {}
  // None: it is not in this store. One that was deleted keeps its number.
  std::optional<int64_t> of(const VersionId& version);
  // "project/name:v3", or "project/name@<12 digits of the content>" of one that is not in this store. `said`: the
  // number that the run says; where it is right here only that version is read.
  std::string name_of(const VersionId& version, int64_t said);
  // It has no number here, and there is a version of that name that cannot be read.
  bool may_be_unread(const VersionId& version);
  // The same of "project/name:v3@<digest>", as a catalog has it; what has no digest is given back.
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

// {"nodes": [{"id", "kind": "run"|"version", ...}], "edges": [{"from", "to", "use"}], "cut"}: edges point the way that
// data goes. From `start` ("run <uid>" or VersionId::node()) at most `depth` edges away, or all where empty. A version
// that is not in the store has the number null.
Value lineage_graph(const Lineage& lineage, VersionNumbers* numbers, std::string_view start = "", int depth = 2);

}  // namespace tracker::internal
