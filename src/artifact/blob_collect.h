// SPDX-License-Identifier: MIT
// Removes blobs that no version of an artifact refers to, and versions whose time to live is over. Safe with writers
// and other collectors; may be killed at any point. Threads: one. Cost: a listing of all blobs, one pass over all
// manifests for each million blobs that are older than a day.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "artifact/blob_store.h"
#include "storage/upkeep/collect.h"

namespace tracker::internal {

constexpr size_t kCandidatesMax = 1'000'000;  // blobs checked in one pass: 32 MB

struct BlobCollectOptions {
  bool dry_run = false;  // reports what would be removed
  int64_t now_us = 0;
  size_t candidates_max = kCandidatesMax;
  std::function<void(uint64_t folders, uint64_t of)> listed = {};  // of blobs
  std::function<void(uint64_t manifests, uint64_t of)> read = {};  // starts from 0 in each pass
};

struct BlobCollectReport {
  std::vector<Garbage> removed;  // "blob", "temporary file", "version": removed, or would be
  uint64_t blobs_kept = 0, bytes_kept = 0;
  uint64_t passes = 0;  // over the manifests
  std::vector<std::string> problems;
  bool gave_up = false;  // a manifest or version cannot be read: no blob was removed
};

// If one version cannot be read, no blob is removed: it could be one of that version.
BlobCollectReport collect_blobs(const Store& store, const BlobCollectOptions& options);

}  // namespace tracker::internal
