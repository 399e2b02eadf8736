// SPDX-License-Identifier: MIT
// Checks a store, a run or a journal for damage, and says what is intact and what to do. Nothing is written: no lock
// file, no WAL index, no recovery; a journal's lock is held for a moment while its rings are read. Safe beside live
// writers and recoverers. The catalog and levels are derived, so they are not checked. Threads: one. Cost: reads every
// byte and decodes every column; a row of statistics for each series in memory.
//
// Of a run that is recorded meanwhile the b-trees are not walked, because a reader of ours holds no transaction over
// 250 ms (P11); its frames, counts and statistics are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/store/store.h"

namespace tracker::internal {

enum class FindingLevel : uint8_t {
  kNote,    // nothing is damaged: leftovers, what waits for recovery
  kDamage,  // bytes or files are not what they were
  kNewer,   // of a newer version: not judged
};

// One thing that was found. `kind` is one of the words that docs/cli.md lists.
struct Finding {
  FindingLevel level = FindingLevel::kDamage;
  std::string kind;
  std::string path;    // the file or folder
  std::string what;    // one line
  std::string intact;  // what can still be read; empty where nothing is lost
  std::string advice;  // what to do
};

// Limit: findings of one `tracker verify`, damage before notes. Beyond it: counted only.
constexpr size_t kFindingsMax = 10'000;

struct VerifyReport {
  std::vector<Finding> findings;    // at most kFindingsMax; change it by add() alone
  uint64_t left_out = 0;            // findings beyond them
  std::array<uint64_t, 3> found{};  // of each level, those left out too
  size_t notes_listed = 0;          // of `findings`
  uint64_t runs = 0, writers = 0, live = 0, journals = 0;
  uint64_t unread = 0;                         // writers of whose frames not all were checked
  uint64_t frames = 0, points = 0, bytes = 0;  // that were read

  // Beyond kFindingsMax it takes the place of a note, which is the one left out then; a note is left out itself.
  void add(Finding finding);
  void add_findings(VerifyReport* from);
  // Findings that were not kept.
  void leave_out(FindingLevel level, uint64_t more);
  uint64_t count(FindingLevel level) const { return found[static_cast<size_t>(level)]; }
  bool has(FindingLevel level) const { return count(level) > 0; }
};

struct VerifyOptions {
  int64_t now_us = 0;                                           // the clock of heartbeats and file times
  std::function<void(uint64_t done, uint64_t total)> progress;  // bytes of writers' files
};

// A file that this process may not open is no damage: that it may open as many as verify has open at once is known
// before anything is judged. kIo: it may not.
constexpr int kVerifyFilesOpen = 24;
Status may_open_files();

// The whole store: its documents, runs and journals on this machine. kNotFound: no store at `path`. kIo:
// may_open_files().
Result<VerifyReport> verify_store(const std::string& path, const VerifyOptions& options);
// Single runs, wherever their folders lie; of journals those of `runs` in the store at `store_path` (empty: none).
VerifyReport verify_runs(const std::vector<std::string>& folders, const std::string& store_path,
                         const VerifyOptions& options);

}  // namespace tracker::internal
