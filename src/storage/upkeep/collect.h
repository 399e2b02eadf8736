// SPDX-License-Identifier: MIT
// Garbage: what dead processes left in a store and in the folders of journals. A file of a run is removed only if its
// content is elsewhere too. Safe with live runs, other collectors and recoverers, and may be killed at any point: the
// next one completes each step. Threads: one. Cost: a listing of every run's folder; recovery blocks on the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/recovery/recovery.h"
#include "storage/store/store.h"
#include "storage/upkeep/compact_ended.h"

namespace tracker::internal {

struct Garbage {
  std::string kind;  // "journal", "unborn journal", "temporary file", "frames file", "trash", "catalog"
  std::string path;
  uint64_t bytes = 0;
};

struct CollectOptions {
  bool dry_run = false;  // reports what would be removed; also nothing is recovered
  int64_t now_us = 0;
  std::function<void(uint64_t done, uint64_t total)> progress;  // runs visited
};

struct CollectReport {
  std::vector<Garbage> removed;  // or would be removed
  uint64_t bytes = 0;            // of them
  uint64_t catalog_rows = 0;     // of runs that are gone
  RecoveryReport recovery;
  std::vector<CompactedWriter> compacted;  // databases of ended runs, or what would be
  std::vector<Garbage> kept;               // damaged journals: a person must decide about them
  std::vector<std::string> problems;
};

CollectReport collect_garbage(const Store& store, const CollectOptions& options);

}  // namespace tracker::internal
