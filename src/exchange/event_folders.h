// SPDX-License-Identifier: MIT
// Groups folders of event files into runs. A SummaryWriter writes the data of add_hparams() and add_scalars() into
// folders below its own; with ImportOptions.join all folders below one are joined. Threads: one at a time. Cost: a pass
// over the files of folders below others, which ends with the second tag.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exchange/import_store.h"

namespace tracker::internal {

struct ImportOptions;

constexpr const char* kTensorBoardKind = "tensorboard";  // ImportIdentity.kind
constexpr const char* kExperimentTag = "_hparams_/experiment";
constexpr const char* kSessionStartTag = "_hparams_/session_start_info";

struct EventFolder {
  std::vector<std::string> files;
  bool is_below = false;  // not the folder of the run itself
  // The names of its metrics in the run: all the same one (of add_scalars()), or their own after a prefix.
  std::string only_name, prefix;
};

// By the folder of each run, whose own files come first. A folder that an earlier import made a run of remains one.
std::map<std::string, std::vector<EventFolder>> event_runs(ImportStore* store, const ImportOptions& options,
                                                           const std::vector<std::string>& files);

}  // namespace tracker::internal
