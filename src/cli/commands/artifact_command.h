// SPDX-License-Identifier: MIT
// What the commands of `tracker artifact` share, and what show, gc and verify say of artifacts. Private to the room.
// Threads: one at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "artifact/lineage.h"
#include "artifact/reference.h"
#include "cli/commands/command.h"
#include "storage/upkeep/collect.h"
#include "storage/verify/verify.h"

namespace tracker::internal {

// Limit: nesting of runs and versions in a lineage as a tree. Beyond it: not shown.
constexpr int kLineageTreeDepth = 6;
// Limit: lines of a lineage as a tree. Beyond it: counted only.
constexpr size_t kLineageTreeLinesMax = 1000;

// A name alone is searched for in all projects where the default one has none of it. Errors: as find_artifact();
// kInvalid where several projects have one.
Result<FoundArtifact> find_listed_artifact(const Store& store, const std::string& name);
Value version_json(const ArtifactInfo& info, const ArtifactVersion& version);
// As finish(), with the worst code of them and of `worst`.
int finish_with(Console& console, const std::vector<Status>& problems, Code worst = Code::kOk);
int run_artifact_lineage(Console& console, const Store& store, const ArtifactOptions& options);

// Of `tracker show`: what the run used and made; empty where it did neither.
// `store`: none of a run in a folder of its own, whose versions are called as it says.
std::string artifacts_section(const Console& console, const std::optional<Store>& store,
                              const std::vector<LineageEdge>& edges, const std::vector<RefusedArtifact>& refused);
Value refused_json(const std::vector<RefusedArtifact>& refused);
// "inputs" or "outputs" of its JSON: the versions as they are called in this store; null where they are not in it.
Value edges_json(const std::optional<Store>& store, const std::vector<LineageEdge>& edges, ArtifactUse use);
// Adds what `tracker gc` removes, or would, of artifacts.
void collect_artifacts(Console& console, const Store& store, bool dry_run, CollectReport* report);
// Adds what `tracker verify` finds in a store's artifacts, and how many versions it checked. `progress`: what is done
// and all there is, bytes where each byte is read (`deep`), else files.
void verify_artifacts(const std::string& store_path, bool deep, VerifyReport* report, uint64_t* versions,
                      const std::function<void(uint64_t done, uint64_t total)>& progress = {});

}  // namespace tracker::internal
